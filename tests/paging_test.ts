import assert from "node:assert/strict";
import { anyCharacter } from "./harness/any_character.ts";
import { nameChannels } from "../src/config/mod.ts";
import fc from "#dev/fast_check.ts";
import { makeKey, openHttpClient } from "./harness/http_client.ts";
import { LIVE_SIZES } from "../src/contract/limits.ts";
import { type OpenApiDocument, resolve, type Schema } from "./harness/openapi_document.ts";
import { EVENT } from "./harness/bodies.ts";
import { openTestPurser, type TestPurser } from "./harness/test_purser.ts";

/** The pages of lists: the loops are over the OpenAPI document, so that a new list is in them by itself. */

/** Values of the path parameters, and of the required query parameters, of lists. */
const SAMPLES: Record<string, string> = { agent_id: "a", session_id: "s-a", model: "openai:gpt-5-mini" };

/** Returns a path of each list that takes a parameter, without its query. */
async function listsWith(purser: TestPurser, parameter: string): Promise<string[]> {
  const document: OpenApiDocument = (await purser.api("GET", "/openapi.json")).body;
  return Object.entries(document.paths).flatMap(([template, { get }]) => {
    const parameters = get?.parameters ?? [];
    // An export is no list: its pages are the parts of one document, and have groups of their own.
    if (template.startsWith("/exports/") || !parameters.some(({ name }) => name === parameter)) return [];
    const path = template.replace(/\{(\w+)\}/g, (_, name) => SAMPLES[name]!);
    const query = parameters.filter((one) => one.in === "query" && one.required)
      .map(({ name }) => `${name}=${encodeURIComponent(SAMPLES[name]!)}&`);
    return [`${path}?${query.join("")}`];
  });
}

/** Fills every list with at least three entries. */
async function fill(purser: TestPurser): Promise<void> {
  for (const name of ["a", "b", "c"]) {
    assert.equal((await purser.api("PUT", `/agents/${name}`, { model: "demo:echo" })).status, 201);
    const rule = { name, threshold_type: "per_day_usd", threshold_usd: 9, severity: "info" };
    assert.equal((await purser.api("POST", "/alerts/rules", rule)).status, 201);
    const budget = await purser.api("POST", "/budgets", {
      name,
      limit_usd: 9,
      per: "day",
      ...(name === "a" && { each: "agent" }),
    });
    assert.equal(budget.status, 201);
    if (name === "a") SAMPLES.budget_id = budget.body.budget_id;
    const raises = `/budgets/${SAMPLES.budget_id}/raises`;
    assert.equal((await purser.api("POST", raises, { extra_usd: 1, reason: name })).status, 201);
    await makeKey(purser, ["read"], { name });
    const run = await purser.api("POST", `/agents/a/runs`, { input: "Hi", session_id: `s-${name}` });
    assert.equal(run.status, 200);
  }
  // Ids of calls are any text.
  const calls = ["ü", "日本", "💸"].map((call_id) => ({
    ...EVENT,
    call_id,
    agent_id: "a",
    session_id: "s1",
    tags: { [`key_${call_id.length}`]: "x", team: "a", customer: "b" },
  }));
  assert.equal((await purser.api("POST", "/costs/events", calls)).status, 201);
}

/** Imports lines of a bill, by three imports, and compares it with the ledger. */
async function fillBills(purser: TestPurser): Promise<void> {
  for (const digit of ["1", "2", "3"]) {
    const file = { source: "csv", file: { sha256: digit.repeat(64) } };
    const { body: { import_id } } = await purser.api("POST", "/bills/imports", file);
    const line = {
      series: "usage",
      category: "usage",
      starts_at: "2026-11-25T00:00:00Z",
      ends_at: "2026-11-26T00:00:00Z",
    };
    const lines = { offset: 0, is_last: true, lines: [{ ...line, model: digit }] };
    assert.equal((await purser.api("POST", `/bills/imports/${import_id}/lines`, lines)).status, 200);
  }
  const { body } = await purser.api("POST", "/reconciliations", { source: "csv", month: "2026-11" });
  SAMPLES.reconciliation_id = body.reconciliation_id;
}

/** Follows the `Link` header from page to page. */
async function followPages(purser: TestPurser, path: string): Promise<unknown[][]> {
  const pages: unknown[][] = [];
  for (let next: string | undefined = path; next !== undefined;) {
    const { status, body, headers } = await purser.api("GET", next);
    assert.equal(status, 200, JSON.stringify(body));
    pages.push(Array.isArray(body) ? body : body.calls ?? body.rows);
    next = /^<(.*)>; rel="next"$/.exec(headers.get("link") ?? "")?.[1];
    assert.ok(pages.length < 50, `${path} does not end`);
  }
  return pages;
}

Deno.test("every list gives by pages of one entry what it gives at once", async () => {
  await using purser = await openTestPurser({
    config: {
      channels: nameChannels(["one", "two"].map((name) => ({ kind: "log", name }))),
    },
  });
  await fill(purser);
  await fillBills(purser);
  const lists = await listsWith(purser, "cursor");
  for (
    const path of [
      "/agents?",
      "/alerts/rules?",
      "/budgets?",
      "/channels?",
      "/keys?",
      "/sessions?",
      "/repricings?",
      "/anomalies?",
      "/bills/imports?",
      "/bills/lines?",
    ]
  ) {
    assert.ok(lists.includes(path), `${path} has no pages`);
  }
  let entries = 0;
  for (const path of lists) {
    const whole = (await followPages(purser, path)).flat();
    const pages = await followPages(purser, `${path}limit=1`);
    assert.deepEqual(pages.flat(), whole, path);
    assert.ok(pages.every(({ length }) => length <= 1), path);
    entries += whole.length;
  }
  assert.ok(entries >= 20, `only ${entries} entries: the lists are nearly empty`);
});

/** Defines agents with prompts of these sizes; the last one's is not Latin, so that its bytes are more than its characters. */
async function defineAgents(purser: TestPurser, sizes: readonly number[]): Promise<string[]> {
  const names: string[] = [];
  for (const [index, size] of sizes.entries()) {
    const name = `a${String(index).padStart(3, "0")}`;
    const letter = index === sizes.length - 1 ? "é" : "x";
    const body = { model: "demo:echo", system_prompt: letter.repeat(size) };
    assert.equal((await purser.api("PUT", `/agents/${name}`, body)).status, 201);
    names.push(name);
  }
  return names;
}

Deno.test("a list without an end is read and encoded in turns, as JSON and as CSV", async () => {
  await using purser = await openTestPurser();
  const names = await defineAgents(purser, Array(25).fill(100_000));
  let slices = 0;
  const { turns } = purser.core;
  purser.core.turns = { spend: (units) => (slices++, turns.spend(units)) };
  const { body } = await purser.api("GET", "/agents");
  assert.deepEqual(body.map(({ agent_id }: { agent_id: string }) => agent_id), names);
  assert.ok(body.every(({ system_prompt }: { system_prompt: string }) => system_prompt.length === 100_000));
  assert.ok(slices >= 40, `${slices} slices for 2.5 MB`);
  const csv = (await purser.api("GET", "/agents", undefined, { accept: "text/csv" })).body.split("\r\n");
  const pages: string[] = [];
  for (const name of names) {
    const { body } = await purser.api("GET", `/agents?limit=1&cursor=${cursorAfter(name)}`, undefined, {
      accept: "text/csv",
    });
    pages.push(body.split("\r\n")[1]);
  }
  assert.equal(csv.length, 27);
  assert.deepEqual(csv.slice(2, -1), pages.slice(0, -1), "the rows are those of pages");
});

const cursorAfter = (id: string) => btoa(JSON.stringify(id)).replace(/=+$/, "");

Deno.test("a page ends before its limit where its entries are large, and the next one follows it", async () => {
  await using purser = await openTestPurser();
  const sizes = [10, 10, 1_500_000, 10, 400_000, 400_000, 400_000, 10, 2_000_000, 10, 600_000, 600_000];
  const names = await defineAgents(purser, sizes);
  for (const limit of [1_000, 12, 5]) {
    const pages = await followPages(purser, `/agents?limit=${limit}`);
    assert.deepEqual(pages.flat().map((agent) => (agent as { agent_id: string }).agent_id), names);
    assert.ok(pages.length >= 5, `${pages.length} pages`);
    for (const page of pages) {
      const { length } = JSON.stringify(page);
      assert.ok(page.length === 1 || length <= 1024 * 1024 + 2, `a page of ${length} characters`);
    }
  }
});

Deno.test("agents, rules and channels are listed whole without a limit, and a key of one agent gets its own", async () => {
  await using purser = await openTestPurser();
  for (let i = 0; i < 510; i++) {
    const name = `a${String(i).padStart(3, "0")}`;
    assert.equal((await purser.api("PUT", `/agents/${name}`, { model: "demo:echo" })).status, 201);
    const rule = { name, threshold_type: "per_day_usd", threshold_usd: 9, severity: "info", agent_id: name };
    assert.equal((await purser.api("POST", "/alerts/rules", rule)).status, 201);
  }
  for (const path of ["/agents", "/alerts/rules"]) {
    const { body, headers } = await purser.api("GET", path);
    assert.deepEqual([body.length, headers.get("link")], [510, null], path);
  }
  const { key } = await makeKey(purser, ["read"], { agent_id: "a007" });
  const client = openHttpClient(purser);
  for (const path of ["/agents", "/agents?limit=1", "/alerts/rules", "/alerts/rules?limit=5"]) {
    const { body } = await client.send("GET", path, { key });
    assert.deepEqual(body.map(({ name }: { name: string }) => name), ["a007"], path);
  }
});

/** Arrays in responses that have no pages, by the path and the field, each with the reason why it has an end. */
const WITHOUT_PAGES: Readonly<Record<string, string>> = {
  "/agents/{agent_id} tools": "an agent has at most 128",
  "/agents/{session_id}/snapshot events": "the document is streamed, and made for reading all of it",
  "/alerts/history": "the history keeps 500 alerts",
  "/alerts/history/{alert_id} deliveries": "one for each channel that was to be notified",
  "/alerts/history/{alert_id} past": "20 at most",
  "/bills/periods": "one for each month of a source, 500 at most",
  "/budgets/check": "one for each budget that counts the call, all of which decide on it",
  "/budgets/{budget_id} holds": "the newest 100",
  "/budgets/{budget_id} warn_at": "5 at most",
  "/costs/caching notes": "one for each thing that the estimate can't know",
  "/costs/caching rows": "one for each model, agent or provider, as for a total of the costs",
  "/costs/calls/{call_id} adjustments": "those of one call",
  "/costs/calls/{call_id} replaced": "those in whose place one call stands",
  "/costs/calls/{call_id} witnesses": "those of one call",
  "/digest facts": "at most 21",
  "/digest people": "5 at most",
  "/digest sessions": "5 at most",
  "/digest teams": "5 at most",
  "/doctor": "one for each part of the service, and each channel and provider of its configuration",
  "/keys/{key_id} scopes": "there are five scopes",
  ...Object.fromEntries(
    Object.entries(LIVE_SIZES).filter(([name]) => name !== "minutes")
      .map(([name, most]) => [`/live ${name}`, `${most} at most`]),
  ),
  "/me budgets": "one for each budget that counts a call of the key, as of /budgets/check",
  "/me refusals": "10 at most",
  "/me sessions": "10 at most",
  "/prices sources": "one for each source of prices",
  "/reconciliations/{reconciliation_id} bypass": "one for each key",
  "/reconciliations/{reconciliation_id} causes": "one for each cause",
  "/reconciliations/{reconciliation_id} others": "one for each currency",
  "/reconciliations/{reconciliation_id} variances": "500 at most",
  "/repricings/{repricing_id} models": "500 at most",
  "/sessions/{session_id} models": "100 at most",
  "/sessions/{session_id}/tree agents": "1,000 at most, and those above them",
  "/statements corrections": "one for each subject of each earlier month that was issued",
  "/statements lines": "the document is made for reading all of it, also as CSV and to print",
  "/statements shared_costs": "one for each fee, tax and credit of a month",
  "/statements subjects": "the document is made for reading all of it, also as CSV and to print",
  "/upstreams": "one for each key and account that pays",
};

Deno.test("every array that a response has is given by pages, or named here with the reason why it has an end", async () => {
  await using purser = await openTestPurser();
  const document: OpenApiDocument = (await purser.api("GET", "/openapi.json")).body;
  const isArray = (schema: Schema) => resolve(document, schema).type === "array";
  const withoutPages = Object.entries(document.paths).flatMap(([path, { get }]) => {
    if (!get || get.parameters?.some(({ name }) => name === "cursor" || name === "after")) return [];
    const { content = {} } = resolve(document, get.responses["200"] ?? {});
    const schema = resolve(document, content["application/json"]?.schema ?? {});
    if (isArray(schema)) return [path];
    const fields = Object.entries((schema.properties ?? {}) as Record<string, Schema>);
    return fields.filter(([, field]) => isArray(field)).map(([name]) => `${path} ${name}`);
  });
  assert.deepEqual(withoutPages.sort(), Object.keys(WITHOUT_PAGES).sort());
  const { parameters = [] } = document.paths["/alerts/history"]!.get!;
  assert.equal(parameters.find(({ name }) => name === "limit")?.schema.maximum, 500);
});

const base64 = (value: unknown) =>
  btoa(String.fromCharCode(...new TextEncoder().encode(JSON.stringify(value))));

const AnyCursor = fc.oneof(
  fc.string({ unit: anyCharacter }),
  fc.json().map((text) => btoa(String.fromCharCode(...new TextEncoder().encode(text)))),
  fc.uint8Array().map((bytes) => btoa(String.fromCharCode(...bytes))),
  fc.oneof(fc.double(), fc.maxSafeInteger(), fc.constant(2 ** 53)).map(base64),
  fc.tuple(
    fc.oneof(fc.double(), fc.maxSafeInteger(), fc.string()),
    fc.oneof(fc.string({ unit: anyCharacter, maxLength: 300 }), fc.integer()),
  ).map(base64),
);

Deno.test("any malformed cursor is a 400 that says where cursors come from, on every list", async () => {
  await using purser = await openTestPurser();
  await fill(purser);
  await fillBills(purser);
  const lists = await listsWith(purser, "cursor");
  const ask = async (path: string, cursor: string) => {
    const { status, body } = await purser.api("GET", `${path}cursor=${encodeURIComponent(cursor)}`);
    if (status === 200) return status;
    assert.deepEqual([status, body.code, body.details.issues], [400, "invalid", [
      { path: "cursor", message: "is not a cursor of this list" },
    ]], `${path} ${cursor}`);
    assert.match(body.detail, /take it from the Link header/);
    return status;
  };
  const known = ["WzEuNSwieCJd", "WzFlMzA4LCJ4Il0", "", "%", "bnVsbA", "W10", "e30", base64([1, "\0"])];
  for (const path of lists) {
    for (const cursor of known) assert.equal(await ask(path, cursor), 400, `${path} ${cursor}`);
  }
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...lists),
      AnyCursor,
      async (path, cursor) => void await ask(path, cursor),
    ),
    { numRuns: 400 },
  );
  assert.deepEqual(purser.logs.filter(({ level }) => level === "error"), []);
});

Deno.test("a position may have all the digits of 2^53 - 1, and not one more", async () => {
  await using purser = await openTestPurser();
  await fill(purser);
  const largest = String(Number.MAX_SAFE_INTEGER);
  for (const path of await listsWith(purser, "after")) {
    if (path.startsWith("/events")) continue; // a stream, below
    const { status, body } = await purser.api("GET", `${path}after=${largest}`);
    assert.deepEqual([status, body], [200, []], path);
    for (const wrong of ["9007199254740992", "9007199254740993", "10000000000000000", "1e3", "-1", " 1"]) {
      const refused = await purser.api("GET", `${path}after=${encodeURIComponent(wrong)}`);
      assert.equal(refused.status, 400, `${path} ${wrong}`);
    }
  }
  for (const [query, headers] of [[`?after=${largest}`, {}], ["", { "last-event-id": largest }]] as const) {
    const response = await purser.fetch("HEAD", `/events${query}`, { headers });
    assert.equal(response.status, 200);
  }
  for (
    const [query, headers] of [["?after=9007199254740992", {}], ["", {
      "last-event-id": "9007199254740992",
    }]] as const
  ) {
    assert.equal((await purser.fetch("GET", `/events${query}`, { headers })).status, 400);
  }
});
