import assert from "node:assert/strict";
import { auditPackages, readShippedPackages, runNpm } from "../build/npm_lock.ts";

/** The packages that Purser ships: their licenses, their list (SBOM), and the audit of them, by npm itself. */

/** The licenses that may be shipped under Purser's own, MIT, as SPDX expressions. */
const ALLOWED = [
  "MIT",
  "MIT-0",
  "ISC",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "0BSD",
  "(AFL-2.1 OR BSD-3-Clause)",
];

Deno.test("each package that Purser ships has a license that allows it", async () => {
  const packages = await readShippedPackages();
  assert.ok(packages.length > 40, String(packages.length));
  const refused = packages.filter(({ license, isNative }) =>
    license === undefined ? !isNative : !ALLOWED.includes(license)
  );
  assert.deepEqual(refused.map(({ name, license }) => `${name}: ${license ?? "none"}`), []);
  // Native builds for other platforms are not downloaded here. They belong to one package, which is.
  const unread = packages.filter(({ license }) => license === undefined).map(({ name }) => name);
  const libsql = packages.find(({ name }) => name === "libsql")!;
  assert.deepEqual(unread.filter((name) => !libsql.dependencies.includes(name)), []);
});

Deno.test("the list of packages has each with its version and the hash of the lock", async () => {
  const { success, out, err } = await runNpm(["sbom", "--package-lock-only", "--sbom-format=spdx"]);
  assert.ok(success, err);
  const listed = JSON.parse(out).packages as {
    name: string;
    versionInfo: string;
    checksums?: { algorithm: string; checksumValue: string }[];
  }[];
  const shipped = await readShippedPackages();
  assert.equal(listed.length, shipped.length + 1);
  for (const { name, version, integrity } of shipped) {
    const found = listed.find((each) => each.name === name);
    assert.equal(found?.versionInfo, version, name);
    const hash = Uint8Array.fromBase64(integrity.replace("sha512-", "")).toHex();
    assert.deepEqual(found?.checksums, [{ algorithm: "SHA512", checksumValue: hash }], name);
  }
});

Deno.test("the audit names an advisory of the registry, and says so where there is none to ask", async () => {
  const asked: Record<string, string[]>[] = [];
  let hasService = true;
  await using registry = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    if (!hasService || new URL(request.url).pathname !== "/-/npm/v1/security/advisories/bulk") {
      return new Response("no", { status: 405 });
    }
    const body = new Response(request.body!.pipeThrough(new DecompressionStream("gzip")));
    asked.push(await body.json());
    return Response.json({
      hono: [{
        ...{ id: 1, url: "https://github.com/advisories/GHSA-x", title: "Reads too much", severity: "high" },
        ...{ vulnerable_versions: "<99.0.0", cwe: [], cvss: { score: 8, vectorString: null } },
      }],
    });
  });
  const env = { npm_config_registry: `http://127.0.0.1:${registry.addr.port}/` };
  const { skipped, advisories } = await auditPackages(env);
  assert.equal(skipped, undefined);
  assert.deepEqual(advisories, [
    { name: "hono", severity: "high", title: "Reads too much", url: "https://github.com/advisories/GHSA-x" },
  ]);
  const versions = Object.fromEntries(
    (await readShippedPackages()).map(({ name, version }) => [name, [version]]),
  );
  assert.deepEqual(asked[0], versions);
  hasService = false;
  const without = await auditPackages(env);
  assert.match(without.skipped ?? "", /gave no advisories: .*405/);
});
