import assert from "node:assert/strict";
import { join } from "node:path";
import type { NpmPackage } from "../build/npm/build_npm_package.ts";
import { makePackageJson } from "../build/npm/package_json.ts";
import { ROOT } from "../build/run_deno.ts";
import { whyExclusive } from "../src/store/sqlite/database_file.ts";
import { SqliteStore } from "../src/store/sqlite/sqlite_store.ts";
import { findCli } from "./harness/installed_cli.ts";
import { said, skipNode } from "./harness/node.ts";
import { createNpmProject } from "./harness/npm_project.ts";

/** The npm package as users have it: built, packed, and installed into an empty project of Node. */

const CONSUMER = join(ROOT, "tests/npm_consumer");
const MOST_PACKED_BYTES = 3_450_000;
const MOST_FILES = 1_662;

let built: NpmPackage;
let project: string;
let node: string;
let packedBytes: number;

function test(name: string, fn: () => Promise<void>): void {
  Deno.test({ name: `npm package: ${name}`, ignore: skipNode, fn });
}

Deno.test.beforeAll(async () => {
  if (skipNode) return;
  ({ folder: project, built, packedBytes, node } = await createNpmProject());
  for await (const { name } of Deno.readDir(CONSUMER)) {
    await Deno.copyFile(join(CONSUMER, name), join(project, name));
  }
});
Deno.test.afterAll(async () => {
  if (!skipNode) await Deno.remove(project, { recursive: true });
});

test("it contains code, types and documents, no tests, and is small", () => {
  const strange = built.files.filter((file) =>
    !/^(package\.json|[A-Z_]+\.md|LICENSE|cli\/[\w.-]+\.js|(src|plugins)\/[\w/]+(\.js|\.d\.ts|\.schema\.json)|.*\/data\/\w+\.json)$/
      .test(file) ||
    /_test\.|^src\/cli\/|fake/.test(file)
  );
  assert.deepEqual(strange, []);
  for (
    const file of [
      "src/mod.js",
      "src/mod.d.ts",
      "src/delivery/channels/testing/conformance.js",
      "cli/purser.js",
      "LICENSE",
      "THIRD_PARTY_NOTICES.md",
    ]
  ) {
    assert.ok(built.files.includes(file), file);
  }
  assert.ok(built.files.length <= MOST_FILES, `${built.files.length} files`);
  assert.ok(packedBytes <= MOST_PACKED_BYTES, `${packedBytes} bytes`);
  return Promise.resolve();
});

test("its package.json has the names, versions and exports of deno.json", async () => {
  const config = JSON.parse(await Deno.readTextFile(join(ROOT, "deno.json")));
  const manifest = JSON.parse(await Deno.readTextFile(join(project, "build/package.json")));
  assert.deepEqual([manifest.name, manifest.version, manifest.license, manifest.private], [
    "purser",
    config.version,
    config.license,
    true,
  ]);
  assert.deepEqual(Object.keys(manifest.exports), [...Object.keys(config.exports), "./package.json"]);
  assert.deepEqual([manifest.engines.node, manifest.bin], [">=22.20 <23 || >=24.7", {
    purser: "cli/purser.js",
  }]);
  for (const [name, version] of Object.entries(manifest.dependencies)) {
    assert.equal(config.imports[name], `npm:${name}@${version}`);
    assert.match(String(version), /^\d+\.\d+\.\d+$/);
  }
  for (const name of ["ajv", "fast-check", "standardwebhooks", "typescript", "tsc", "@types/node"]) {
    assert.ok(!(name in manifest.dependencies), `${name} is for development`);
  }
});

Deno.test("npm package: with a repository its package.json can be published, with the provenance that npm signs", () => {
  const config = { name: "purser", version: "9.9.9", license: "MIT", exports: {}, imports: {} };
  const url = "git+https://github.com/OWNER/NAME.git";
  const manifest: Record<string, unknown> = makePackageJson(config, [], "cli/purser.js", url);
  assert.deepEqual(manifest.repository, { type: "git", url });
  assert.deepEqual(manifest.publishConfig, { access: "public", provenance: true });
  assert.ok(!("private" in manifest));
});

test("a program on Node runs agents, is stopped, meters, alerts and moves a session, while the CLI uses it", async () => {
  const directory = join(project, "state");
  await Deno.mkdir(directory);
  const child = new Deno.Command(node, {
    args: ["program.ts", directory],
    cwd: project,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const ended = child.status;
  const stderr = new Response(child.stderr).text();
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).values();
  let text = "";
  const nextLine = async (): Promise<string> => {
    while (!text.includes("\n")) {
      const { done, value } = await lines.next();
      if (done) assert.fail(`it ended early: ${await stderr}`);
      text += value;
    }
    const line = text.slice(0, text.indexOf("\n"));
    text = text.slice(line.length + 1);
    return line;
  };
  try {
    const did = JSON.parse(await nextLine());
    assert.equal(did.run.output, "Called count_words 2 times.");
    assert.equal(did.run.token_usage.model_calls, 3);
    assert.ok(did.stop.cost_usd_so_far >= 0.0005 && did.stop.budget_usd === 0.0005, JSON.stringify(did.stop));
    assert.equal(did.text, "Ships sail, books balance.");
    assert.equal(did.imported.messages_restored, 6);
    assert.equal(did.damaged, "Cannot read the snapshot: it is damaged or truncated gzip");
    const { mode } = await Deno.stat(`${directory}/purser.db`);
    assert.equal(mode! & 0o777, 0o600);

    // Node has the file exclusively, so the command goes through the program.
    const [program, ...first] = await findCli();
    const cli = (...args: string[]) => said(program, [...first, ...args]);
    const database = ["--db", `${directory}/purser.db`];
    const costs = JSON.parse(await cli("cost", "--json", ...database));
    assert.deepEqual(
      costs.find((row: { agent_id: string }) => row.agent_id === "newsletter").cost_usd,
      0.000152,
    );
    assert.match(
      await cli("run", "echo", "hi", ...database).catch(String),
      /There is no agent echo|not found|echo/,
    );
    await cli("agents", "set", "echo", "--model", "demo:echo", ...database);
    assert.match(await cli("run", "echo", "Hello Node", ...database), /You said: Hello Node/);

    await child.stdin.close();
    const { pages } = JSON.parse(await nextLine());
    assert.equal(pages.length, 1);
    assert.match(pages[0].title, /^Costly run: \$0\.0000\d+ spent in one run/);
    assert.equal((await ended).code, 0, await stderr);
    assert.match(await cli("sessions", "list", ...database), /ses_npm/); // the file is free again
  } finally {
    await child.stdin.close().catch(() => {});
    await lines.return?.();
    try {
      child.kill();
    } catch {
      // it has ended
    }
    await Promise.all([ended, stderr]);
  }
});

test("a custom channel passes the conformance suite under Node's test runner", async () => {
  const report = await said(node, ["--test", "--test-reporter=tap", "pager_test.ts"], project);
  assert.match(report, /^# pass 2\d$/m);
  assert.match(report, /^# fail 0$/m);
});

/** Lines that must not compile: with an unresolved type they would. */
const WRONG =
  `import { openPurser, type Agent, type ChannelKit, type MeterContext, type Snapshot } from "purser";
const purser = await openPurser({ db: 7 });
purser.meter("a model", { agentId: "a" });
purser.app.request(7);
export const agent: Agent = 7;
export const snapshot: Snapshot = { schema_version: "one" };
export const context: MeterContext = { agentId: 7 };
export const schema = ({ z }: ChannelKit): number => z.object({});
`;

test("strict TypeScript compiles a program against its types, and rejects wrong lines", async () => {
  const options = {
    compilerOptions: {
      strict: true,
      noEmit: true,
      module: "nodenext",
      target: "es2024",
      lib: ["esnext", "dom", "dom.iterable"],
      types: ["node"],
      allowImportingTsExtensions: true,
      skipLibCheck: true, // the own types of some dependencies have faults
    },
    files: ["program.ts", "pager.ts", "pager_test.ts", "wrong.ts"],
  };
  await Deno.writeTextFile(join(project, "tsconfig.json"), JSON.stringify(options));
  await Deno.writeTextFile(join(project, "wrong.ts"), WRONG);
  const compiler = join(project, "node_modules/typescript/bin/tsc");
  const report = await said(node, [compiler, "--pretty", "false"], project).catch(String);
  const refused = [...report.matchAll(/(\S+)\((\d+),\d+\): error /g)].map(([, file, line]) =>
    `${file}:${line}`
  );
  assert.deepEqual([...new Set(refused)], [2, 3, 4, 5, 6, 7, 8].map((line) => `wrong.ts:${line}`), report);
});

test("the example of its README runs", async () => {
  const readme = await Deno.readTextFile(join(project, "build/README.md"));
  const code = /```ts\n([^]*?)```/.exec(readme)![1]!;
  const folder = join(project, "readme");
  await Deno.mkdir(folder);
  await Deno.writeTextFile(join(folder, "example.mjs"), code);
  const output = await said(node, ["example.mjs"], folder);
  assert.match(output, /^You said: Hello 0\.\d+\nStopped at \$0\.000\d+ of \$0\.0005$/);
});

test("a Node without TypeScript support reports it when a module of channels or tools is configured", async () => {
  const code = `
    import { openPurser } from "purser";
    const failure = await openPurser({ db: ":memory:", plugins: [${
    JSON.stringify(join(project, "pager.ts"))
  }],
      alerts: { rules: [], dispatcher: { channels: [
        { kind: "pager", name: "pager", minSeverity: "info", timeoutMs: 1000, settings: {} }] } } }).catch((error) => error);
    console.log(failure.code, failure.message);`;
  await Deno.writeTextFile(join(project, "old.mjs"), code);
  const output = await said(node, ["--no-experimental-strip-types", "old.mjs"], project);
  assert.match(output, /this Node does not read TypeScript; start it without --no-experimental-strip-types/);
});

test("opening a database prints nothing, and other warnings are printed", async () => {
  const code = `
    import { openPurser } from "purser";
    const opening = openPurser({ db: "quiet.db" });
    process.emitWarning("of the program");
    await (await opening).close();`;
  await Deno.writeTextFile(join(project, "quiet.mjs"), code);
  const command = new Deno.Command(node, { args: ["quiet.mjs"], cwd: project, stdin: "null" });
  const { success, stdout, stderr } = await command.output();
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  assert.ok(success, err);
  assert.equal(out, "");
  assert.deepEqual(err!.match(/^\(node:.*$/gm)?.map((line) => line.replace(/^\S+ /, "")), [
    "Warning: of the program",
  ]);
});

test("Node and Deno write one file at once, and each detects whether the other is alive", async () => {
  const version = await said(node, ["-p", "process.versions.sqlite"]);
  if (whyExclusive({ version, fileSystem: undefined })) return; // this Node uses a file exclusively
  const path = join(project, "shared.db");
  const store = await SqliteStore.open({ path, durability: "normal" });
  await store.write([{ sql: "CREATE TABLE t (a)" }]);
  await store.instances.hold("deno");
  const module = join(project, "node_modules/purser/src/store/sqlite/sqlite_store.js");
  const code = `
    import { SqliteStore } from ${JSON.stringify(module)};
    const store = await SqliteStore.open({ path: ${JSON.stringify(path)}, durability: "normal" });
    await store.instances.hold("node");
    for (let i = 0; i < 200; i++) await store.write([{ sql: "INSERT INTO t VALUES ('node')" }]);
    console.log(store.isShared, await store.instances.isGone("deno"));
    setInterval(() => {}, 1000);`;
  await Deno.writeTextFile(join(project, "shared.mjs"), code);
  const other = new Deno.Command(node, { args: ["shared.mjs"], cwd: project, stdin: "null", stdout: "piped" })
    .spawn();
  const reader = other.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let line: string | undefined;
  const answer = reader.read().then(({ value }) => line = value);
  let written = 0;
  for (; line === undefined; written++) await store.write([{ sql: "INSERT INTO t VALUES ('deno')" }]);
  assert.equal(await answer, "true false\n");
  assert.equal(await store.instances.isGone("node"), false);
  other.kill("SIGKILL");
  await other.status;
  await reader.cancel();
  assert.equal(await store.instances.isGone("node"), true);
  const { rows } = await store.read({ sql: "SELECT a, count(*) FROM t GROUP BY a ORDER BY a" });
  assert.deepEqual(rows, [["deno", BigInt(written)], ["node", 200n]]);
  await store.close();
});
