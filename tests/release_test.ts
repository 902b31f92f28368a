import assert from "node:assert/strict";
import { VERSION } from "../src/kernel/version.ts";
import { migrations } from "../src/store/migrations/migrations.ts";
import { checksumOf } from "../src/store/schema/migrate.ts";
import { openTestPurser } from "./harness/test_purser.ts";

/** A release has a dated section in the changelog, one version everywhere, and migrations that never change again. */

/** The checksum of each migration of a release, for good: databases keep it. */
const RELEASED: Record<number, string> = {
  22: "993ccc8eaa23dadb395366fbaaeb7623dc7333899f854ab7879ecf649b37ed34",
};

const read = (path: string) => Deno.readTextFile(new URL(`../${path}`, import.meta.url));

/** The headings of the changelog, newest first. */
async function readReleases(): Promise<{ version: string; date: string }[]> {
  const [first, ...headings] = [...(await read("CHANGELOG.md")).matchAll(/^## (.*)$/gm)].map(([, text]) =>
    text!
  );
  assert.equal(first, "Unreleased");
  return headings.map((heading) => {
    const [, version, date] = /^(\d+\.\d+\.\d+) \((\d{4}-\d\d-\d\d)\)$/.exec(heading) ?? [];
    assert.ok(version && date, `"${heading}" is a version and its date, as in "0.1.0 (2026-11-26)"`);
    return { version, date };
  });
}

Deno.test("the changelog's newest release is this version, everywhere that it is stated", async () => {
  const [newest] = await readReleases();
  await using purser = await openTestPurser();
  const stated = {
    "deno.json, of which the npm package is made": JSON.parse(await read("deno.json")).version,
    "purser --version": VERSION,
    "GET /healthz": (await purser.api("GET", "/healthz")).body.version,
    "GET /openapi.json": (await purser.api("GET", "/openapi.json")).body.info.version,
  };
  for (const [where, version] of Object.entries(stated)) assert.equal(version, newest!.version, where);
});

Deno.test("releases are in the changelog with a date, the newest first", async () => {
  const dates = (await readReleases()).map(({ date }) => date);
  assert.deepEqual(dates, dates.toSorted().reverse());
});

Deno.test("each release has a recorded database, which tests/migration_test.ts upgrades", async () => {
  const upgraded = await read("tests/migration_test.ts");
  for (const { version } of await readReleases()) {
    const name = `release_${version.replaceAll(".", "_")}.json`;
    assert.equal(JSON.parse(await read(`tests/fixtures/databases/${name}`)).schema >= 22, true);
    assert.ok(upgraded.includes(`"${version}": `) && upgraded.includes(name), `${version} has its row`);
  }
});

Deno.test("a migration of a release in the changelog is frozen", async () => {
  const versions = (await readReleases()).map(({ version }) => version);
  const released = migrations.filter(({ since }) => versions.includes(since));
  const checksums = await Promise.all(
    released.map(async (step) => [step.version, await checksumOf(step)] as const),
  );
  assert.deepEqual(
    Object.fromEntries(checksums),
    RELEASED,
    "A released migration is never edited: add the next version. The migrations of a new release are added to this test.",
  );
});
