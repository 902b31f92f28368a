import assert from "node:assert/strict";
import { renderHelp } from "../src/cli/mod.ts";
import { loadAllCommands } from "../src/cli/command_table.ts";
import { DAY_MS } from "../src/kernel/clock.ts";
import { bundledPrices } from "../src/pricing/catalog/bundled_prices.ts";
import { MODEL_ENDS } from "./fixtures/model_ends.ts";
import { readAllDocuments, ROOT } from "./harness/documents.ts";
import { openTestPurser } from "./harness/test_purser.ts";

const COMMANDS = await loadAllCommands();

/**
 * The models that documents, examples, help, messages and the demo name can be called: their makers offer them, and don't end
 * them soon after the data was published.
 */

/** The time for which the models in documents can be called, at least. */
const AHEAD_MS = 90 * DAY_MS;

/** Documents of the past, and files that have rules or cases about models that have ended. */
const EXCEPT =
  /^(?:CHANGELOG|THIRD_PARTY|docs\/decisions\/|tests\/|src\/pricing\/|src\/ui\/_bundle|build\/.*\.ts|.*_test\.tsx?$)/;

/** A name like those of the three makers' models. */
const NAME =
  /(?<![\w./`-]-|\w)(?:(?:gpt|claude|gemini|chatgpt)-[a-z0-9](?:[\w.@-]*\w)?|(?<=openai:)o\d[\w-]*)\b(?!-?\*)/g;

/** Names of this form that are no models of the three: clients, headers, prefixes, open weights, and names that a text says to be unknown. */
const NO_MODELS = new Set([
  "claude-code",
  "claude-code-session-id",
  "claude-code-20250219",
  "claude-dev",
  "claude-sonnet-5-9",
  "gemini-cli",
  "gpt-x",
  "gpt-oss",
  "gpt-oss-120b",
]);

const { date, ends } = MODEL_ENDS;
const latest = new Date(Date.parse(date) + AHEAD_MS).toISOString().slice(0, 10);
const endOf = new Map(
  Object.entries(ends).flatMap(([day, names]) => names.map((name) => [name, day] as const)),
);

const { litellm } = await bundledPrices();
const listed = new Set(Object.keys(litellm.models).map((key) => key.replace(/^(?:gemini|openai)\//, "")));

/** Returns what is wrong with the names of models in a text. */
function faultsOf(text: string): string[] {
  const names = new Set(
    [...text.matchAll(NAME)].map(([name]) => name).filter((name) => !NO_MODELS.has(name)),
  );
  return [...names].flatMap((name) => {
    const end = endOf.get(name);
    if (end !== undefined) return end <= latest ? [`${name} ends on ${end}`] : [];
    return listed.has(name) ? [] : [`${name} is not offered any more, or never was`];
  });
}

async function sourcesIn(path: string): Promise<string[]> {
  if (EXCEPT.test(path)) return [];
  if (/\.(?:tsx?|jsonc?)$/.test(path)) return [path];
  if (/\.\w+$/.test(path)) return [];
  const entries = await Array.fromAsync(Deno.readDir(new URL(path, ROOT)));
  const nested = entries.filter(({ name, isDirectory }) => isDirectory || name.includes("."));
  return (await Promise.all(nested.map(({ name }) => sourcesIn(`${path}/${name}`)))).flat();
}

Deno.test("no document names a model that has ended or ends soon", async () => {
  const faults: string[] = [];
  let found = 0;
  for (const { path, text } of await readAllDocuments()) {
    if (EXCEPT.test(path)) continue;
    found += [...text.matchAll(NAME)].length;
    faults.push(...faultsOf(text).map((fault) => `${path}: ${fault}`));
  }
  assert.deepEqual(faults, []);
  assert.ok(found > 30, String(found));
});

Deno.test("no example, message, default or model of the demo has ended or ends soon", async () => {
  const faults: string[] = [];
  for (const folder of ["src", "plugins", "examples", "cli.ts", "main.ts"]) {
    for (const path of await sourcesIn(folder)) {
      const text = await Deno.readTextFile(new URL(path, ROOT));
      faults.push(...faultsOf(text).map((fault) => `${path}: ${fault}`));
    }
  }
  assert.deepEqual(faults, []);
});

Deno.test("neither the help of a command nor the API's document names a model that has ended or ends soon", async () => {
  for (const { name } of COMMANDS) {
    assert.deepEqual(faultsOf(await renderHelp(name, { columns: 100, hasColour: false })), [], name);
  }
  await using purser = await openTestPurser();
  const { body } = await purser.api("GET", "/openapi.json");
  const text = JSON.stringify(body);
  assert.deepEqual(faultsOf(text), []);
  assert.ok([...text.matchAll(NAME)].length > 5);
});

Deno.test("a model that has ended, ends soon or was never offered is found, and others are not", () => {
  const faults = faultsOf(
    "openai:gpt-4, `claude-sonnet-4-5` (or gemini-2.5-flash), openai:o3, claude-3-opus",
  );
  assert.deepEqual(faults, [
    "gpt-4 ends on 2026-10-23",
    "claude-sonnet-4-5 ends on 2026-11-30",
    "gemini-2.5-flash ends on 2026-10-20",
    "o3 ends on 2026-12-11",
    "claude-3-opus is not offered any more, or never was",
  ]);
  assert.deepEqual(
    faultsOf("gpt-6-luna, claude-haiku-*, gemini-3.1-flash-lite, x-claude-code-session-id"),
    [],
  );
});

Deno.test("the days on which models end are as new as the bundled prices", () => {
  const behind = Date.parse(litellm.date) - Date.parse(date);
  assert.ok(
    behind <= 31 * DAY_MS,
    "take tests/fixtures/model_ends.ts from the map that the prices are made of",
  );
});
