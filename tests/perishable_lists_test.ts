import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";

/**
 * Lists that age with providers, their packages and their pages. Each says beside it as of which day it is right, and by which
 * source; most have a fixture with recorded examples that says the same. The table names the fixture that has to follow.
 */
const LISTS: { file: string; list: string; fixture?: string }[] = [
  {
    file: "src/calls/charge_evidence.ts",
    list: "errors by the evidence of a charge",
    fixture: "src/calls/charge_evidence_test.ts",
  },
  {
    file: "src/gateway/agent_of_body.ts",
    list: "headers and fields of sub-agents",
    fixture: "tests/gateway/subagents_test.ts",
  },
  {
    file: "src/gateway/allowed_models.ts",
    list: "fields of LiteLLM's operators",
    fixture: "tests/gateway/allowed_models_test.ts",
  },
  { file: "src/gateway/attribution.ts", list: "headers of sessions" },
  { file: "src/gateway/headers.ts", list: "headers of clients" },
  { file: "src/gateway/query.ts", list: "query parameters of clients" },
  { file: "src/gateway/targets.ts", list: "probes of clients", fixture: "tests/gateway/probes_test.ts" },
  { file: "src/gateway/wires/beta_headers.ts", list: "betas that change no price" },
  { file: "src/bills/exports/focus/sellers.ts", list: "names of sellers on invoices" },
  { file: "src/bills/reconcile/open_month.ts", list: "names of clouds in FOCUS files" },
  { file: "src/ledger/upstreams.ts", list: "headers with ids" },
  { file: "src/gateway/wires/known_fields.ts", list: "known fields of requests" },
  { file: "src/ingest/logs/provider_ids.ts", list: "ids that agents have of providers" },
  ...[
    { file: "src/cli/commands/import/read_plan_account.ts", list: "files with the account of a plan" },
    { file: "src/plans/sources/codex.ts", list: "rate limits of Codex" },
    { file: "src/plans/sources/status_line.ts", list: "rate limits of Claude Code" },
    { file: "src/plans/sources/unified_headers.ts", list: "headers of Claude's plans" },
  ].map((of) => ({ ...of, fixture: "src/plans/sources/sources_test.ts" })),
  { file: "src/pricing/catalog/deepseek_peak.ts", list: "holidays and peak hours of DeepSeek" },
  { file: "src/pricing/catalog/names/provider_names.ts", list: "names of providers" },
  { file: "src/pricing/catalog/names/renamed_models.ts", list: "renamed models" },
  { file: "src/pricing/catalog/tool_prices.ts", list: "prices of tools" },
  { file: "src/pricing/catalog/wrong_units.ts", list: "the ratio of prices of one model" },
  { file: "src/pricing/stated/bills.ts", list: "stated bills and free models" },
  {
    file: "src/pricing/usage/cache_fields.ts",
    list: "names of cached tokens",
    fixture: "tests/fixtures/usage_dialects.ts",
  },
  {
    file: "src/pricing/usage/known_fields.ts",
    list: "known fields of usage",
    fixture: "src/pricing/usage/known_fields_test.ts",
  },
  { file: "src/runner/call_ids.ts", list: "ids of tool calls" },
  { file: "tests/fixtures/providers/mod.ts", list: "forms of answers and events" },
];

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const read = (path: string) => Deno.readTextFileSync(ROOT + path);

/** The day, or the month, as of which something is right. */
const AS_OF = /\b[Aa]s\s+(?:\*\s+)?of\s+(?:\*\s+)?20\d\d-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?\b/;
/** A page, a version, a notice, the map of LiteLLM, or the rows with a source each. */
const SOURCE = /https?:\/\/|\d+\.\d+|\bnotice\b|LiteLLM|\b(?:source of each|its source|each row names)\b/;

const commentsOf = (text: string) =>
  [...text.matchAll(/\/\*[^]*?\*\/|(?:^ *\/\/.*\n)+/gm)].map(([comment]) => comment);

for (const { file, list, fixture } of LISTS) {
  Deno.test(`${list} say as of which day they are right, and by which source`, () => {
    const dated = commentsOf(read(file)).filter((comment) => AS_OF.test(comment));
    assert.ok(dated.length > 0, `${file} has "as of YYYY-MM-DD" in the comment of its list`);
    assert.ok(
      dated.some((comment) => SOURCE.test(comment)),
      `${file} names a page or a package with its version`,
    );
    if (fixture) assert.match(read(fixture), /20\d\d-\d\d/, `${fixture} says when its examples were taken`);
  });
}

Deno.test("every comment of the product that is right as of a day belongs to one of these lists", () => {
  const files = [...filesIn("src"), ...filesIn("plugins")];
  const dated = files.filter((file) => commentsOf(read(file)).some((comment) => AS_OF.test(comment)));
  const known = LISTS.map(({ file }) => file);
  assert.deepEqual(dated.filter((file) => !known.includes(file)), []);
});

Deno.test("the forms of answers are those that the clients of the tests read, at the versions that are installed", () => {
  const text = read("tests/fixtures/providers/mod.ts");
  const installed = new Set(Object.keys(JSON.parse(read("tests/deno.lock")).specifiers));
  const named = [...text.matchAll(/[@\w/-]+@\d+\.\d+\.\d+/g)].map(([name]) => `npm:${name}`);
  assert.equal(named.length, 4);
  assert.deepEqual(named.filter((name) => !installed.has(name)), []);
});

function* filesIn(folder: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(ROOT + folder)) {
    const path = `${folder}/${name}`;
    if (isDirectory) yield* filesIn(path);
    else if (/(?<!_test|_bundle)\.tsx?$/.test(name)) yield path;
  }
}
