import assert from "node:assert/strict";
import { RE2JS } from "#dev/re2js.ts";
import { STATUS } from "../src/kernel/errors.ts";
import { SNAPSHOT_JSON_SCHEMA, SNAPSHOT_SCHEMA_PATH } from "../src/contract/snapshot/json_schema.ts";
import { EVENT } from "./harness/bodies.ts";
import { startFakeProvider } from "./harness/fake_provider.ts";
import { OPERATIONS } from "./harness/operations.ts";
import { type Answer, operationsOf, readDocument, resolve } from "./harness/openapi_document.ts";
import { snapshotOf } from "./harness/snapshots.ts";
import { openTestPurser } from "./harness/test_purser.ts";

/** Promises of the OpenAPI document. Every test of the API checks responses against it. */

Deno.test("the OpenAPI document has every route of the app, and no other", async () => {
  await using purser = await openTestPurser();
  const declared = operationsOf(await readDocument(purser)).map(({ at }) => at);
  // The dashboard is a client of the API, not a part of it; OTLP has its own description.
  const routes = purser.app.routes.filter(({ method, path }) =>
    method !== "ALL" && !/^\/(ui|v1)(\/|$)/.test(path)
  )
    .map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, "{$1}")}`);
  assert.deepEqual([...new Set(routes)].sort(), declared.sort());
});

Deno.test("an operation keeps its name, which generated clients use", async () => {
  await using purser = await openTestPurser();
  const operations = operationsOf(await readDocument(purser));
  assert.deepEqual(
    Object.fromEntries(operations.map(({ operationId, at }) => [operationId, at])),
    OPERATIONS,
  );
});

const SIGHTINGS = {
  origin: { source: "log", name: "claude-code", agent_id: "claude-code" },
  sightings: [{ ref: "1", at: "2026-11-21T09:30:00.000Z", input_tokens: 1, output_tokens: 1 }],
};

/** One valid request for each operation, in an order in which they succeed. */
const REQUESTS: [method: string, path: string, body?: unknown, headers?: HeadersInit][] = [
  ["PUT", "/agents/a", { model: "demo:echo" }],
  ["PUT", "/imports/files", {
    machine: "laptop",
    importer: "claude-code",
    files: [{
      path: "/a.jsonl",
      size: 5,
      modified_at: 7,
      read_to: 5,
      head: "5:x",
      is_ended: true,
      state: null,
      unmetered: 0,
      malformed: 0,
      fault: null,
    }],
  }],
  ["GET", "/bills/imports?source=csv&limit=1"],
  ["GET", "/bills/lines?source=csv&month=2026-11&state=replaced"],
  ["GET", "/imports/files?machine=laptop&importer=claude-code"],
  ["GET", "/sources?limit=1"],
  ["POST", "/plans", {
    agent_id: "codex",
    source: "log",
    machine: "laptop",
    windows: [
      { window: "five_hour", used_pct: 5, measured_at: "2026-11-21T09:30:00.000Z", plan: "plus" },
      { window: "credits", measured_at: "2026-11-21T09:30:00.000Z", credits: { has_credits: true } },
    ],
  }],
  ["GET", "/plans?limit=2"],
  ["GET", "/agents"],
  ["GET", "/agents/a"],
  ["POST", "/agents/a/runs", { input: "Hi", session_id: "s1" }],
  ["POST", "/agents/a/runs", { input: "Hi", session_id: "s1" }, { accept: "text/event-stream" }],
  ["GET", "/runs?status=completed&agent_id=a&limit=1"],
  ["GET", "/live?once=true"],
  ["GET", "/sessions?limit=1"],
  ["GET", "/sessions?search=a%20customer:acme&status=completed"],
  ["GET", "/agents/a/sessions"],
  ["GET", "/sessions/s1"],
  ["GET", "/sessions/s1/events?after=1&limit=3"],
  ["GET", "/sessions/s1/events/imported"],
  ["GET", "/sessions/s1/costs"],
  ["GET", "/sessions/s1/tree"],
  ["GET", "/agents/s1/snapshot?tag=a=b&tag=c=d&with_events=true"],
  ["POST", "/agents/snapshot/restore?dry_run=true", snapshotOf({ session_id: "s2" })],
  ["GET", SNAPSHOT_SCHEMA_PATH],
  ["GET", "/costs/total?from=2026-01-01&compare_from=2025-12-01"],
  ["GET", "/costs/forecast?agent_id=a"],
  ["GET", "/costs/summary?session_id=s1&agent_id=a"],
  ["GET", "/costs/tag-keys?from=2026-11-01&agent_id=a"],
  ["GET", "/costs?group_by=agent&split_by=model", undefined, { accept: "text/csv" }],
  ["GET", "/costs?group_by=hour&from=2026-11-01&to=2026-11-02T00:00:00%2B01:00&agent_id=a&limit=5"],
  ["POST", "/costs/events", [EVENT]],
  ["GET", "/digest"],
  ["POST", "/channels/log/digest"],
  ["POST", "/sightings", SIGHTINGS],
  ["GET", "/prices?model=gpt-5-mini&provider=openai&at=2026-11-01&service_tier=flex"],
  ["GET", `/costs/calls/${EVENT.call_id}`],
  ["GET", "/costs/what-if?model=openai:gpt-5-mini&group_by=day&from=2026-11-01"],
  ["GET", "/costs/caching?group_by=agent&from=2026-11-01"],
  ["GET", "/budgets/refusals?agent_id=a&limit=1"],
  ["GET", "/audit?kind=budget&limit=2"],
  ["POST", "/apply", { label: "team", dry_run: true, budgets: [{ name: "Team", limit_usd: 1, per: "day" }] }],
  ["POST", "/repricings", { unpriced: true }],
  ["GET", "/repricings?limit=5"],
  ["GET", "/reconciliations?limit=5"],
  ["GET", "/bills/periods?source=csv"],
  ["GET", "/exports/calls?after=1&limit=2"],
  ["GET", "/exports/focus?version=1.2&from=2026-11-01&to=2026-12-01&per_call=true"],
  ["POST", "/costs/events", [{ ...EVENT, call_id: "tagged", tags: { team: "a" } }]],
  ["GET", "/statements?month=2026-10&by=team&markup=5&shared=even"],
  ["POST", "/statements", { month: "2026-10", by: "team" }],
  ["GET", "/anomalies?from=2026-11-01"],
  ["GET", "/alerts/rules"],
  ["GET", "/alerts/history?limit=1"],
  ["GET", "/channels"],
  ["POST", "/channels/log/test"],
  ["GET", "/healthz"],
  ["GET", "/metrics"],
  ["GET", "/readyz"],
  ["GET", "/doctor"],
  ["GET", "/openapi.json"],
  ["GET", "/docs"],
  ["GET", "/docs/page.css"],
  ["GET", "/docs/page.js"],
  ["GET", "/"],
];

const BILL_LINE = {
  series: "cost",
  category: "usage",
  starts_at: "2026-11-25T00:00:00Z",
  ends_at: "2026-11-26T00:00:00Z",
  amount: "1.25",
  currency: "USD",
};

/** The amount that a strict budget holds for a call of a process that has died. */
const HOLD =
  `INSERT INTO reservations (scope, at, reservation_id, worst_nano_usd, estimate_nano_usd, strictness, expires_at,
  is_held, agent_id) VALUES ('', ?, 'inst_1/req_1', 5, 0, 2, 0, 1, 'a')`;

Deno.test("every operation responds as documented", async () => {
  const asked = Promise.withResolvers<void>();
  await using fake = await startFakeProvider(() => {
    asked.resolve();
    return { hang: true };
  });
  await using purser = await openTestPurser({ fake });
  await purser.api("PUT", "/agents/slow", { model: "claude-haiku-4-5" });
  for (const [method, path, body, headers] of REQUESTS) {
    const { status } = await purser.api(method, path, body, headers);
    assert.ok(status < 400, `${method} ${path}: ${status}`);
  }
  const { body: [{ run_id }] } = await purser.api("GET", "/costs?group_by=run");
  assert.equal((await purser.api("GET", `/runs/${run_id}`)).status, 200);
  const rule = { name: "A", threshold_type: "per_day_usd", threshold_usd: 1, severity: "info" };
  const { headers } = await purser.api("POST", "/alerts/rules", rule);
  const place = headers.get("location")!;
  await purser.api("GET", place);
  await purser.api("PATCH", place, { enabled: false });
  const { body: tested } = await purser.api("POST", `${place}/test`);
  await purser.api("GET", `/alerts/history/${tested.alert_id}`);
  await purser.api("POST", `/alerts/history/${tested.alert_id}/resend`);
  await purser.api("PATCH", place, { enabled: true, threshold_usd: 0.000001 });
  await purser.api("POST", "/costs/events", [{
    ...EVENT,
    call_id: "fires",
    at: new Date(purser.clock.now()),
  }]);
  const { body: [{ alert_id }] } = await purser.api("GET", "/alerts/history?limit=1");
  await purser.api("POST", `/alerts/history/${alert_id}/ack`, { note: "x" });
  await purser.api("DELETE", place);
  const budget = (await purser.api("POST", "/budgets", { name: "A", limit_usd: 1, per: "day" })).headers;
  const at = budget.get("location")!;
  for (const path of [at, "/budgets", "/budgets/check", `${at}/raises`, `${at}/counters`]) {
    await purser.api("GET", path);
  }
  await purser.api("PATCH", at, { limit_usd: 5 });
  await purser.api("POST", `${at}/raises`, { extra_usd: 1 });
  const reserved = await purser.api("POST", "/budgets/reservations", { agent_id: "a", estimate_usd: 0.01 });
  await purser.api("DELETE", reserved.headers.get("location")!);
  await purser.api("PATCH", at, { mode: "strict" });
  await purser.core.store.write([{ sql: HOLD, args: [purser.clock.now()] }]);
  await purser.api("GET", at);
  await purser.api("POST", `${at}/releases`, { reason: "Not billed" });
  await purser.api("GET", `${at}/releases`);
  await purser.api("PATCH", at, { limit_usd: 0, action: "ask" });
  const ask = () => purser.api("POST", "/budgets/reservations", { agent_id: "a", worst_case_usd: 9 });
  for (const answer of ["approve", "deny"]) {
    const { ticket_id } = (await ask()).body.details;
    await purser.api("GET", `/approvals/${ticket_id}`);
    await purser.api("POST", `/approvals/${ticket_id}/${answer}`, {
      reason: "x",
      ...answer === "approve" && { extra_usd: 1 },
    });
    purser.clock.advance(5_000);
  }
  await purser.api("GET", "/approvals");
  await purser.api("DELETE", at);
  // A cost that the prices don't give, so that there is something to book.
  await purser.api("POST", "/costs/events", [{
    ...EVENT,
    call_id: "wrong",
    provider: "demo",
    model: "echo",
    cost_usd: 7,
  }]);
  const span = { from: "2020-01-01", to: "2030-01-01", include_reported: true };
  const repricing = (await purser.api("POST", "/repricings", { ...span, apply: true })).body;
  await purser.api("GET", `/repricings/${repricing.repricing_id}`);
  await purser.api("POST", `/repricings/${repricing.repricing_id}/apply`);
  await purser.api("POST", `/repricings/${repricing.repricing_id}/undo`);
  const csv = { source: "csv", file: { sha256: "1".repeat(64) } };
  const bill = `/bills/imports/${(await purser.api("POST", "/bills/imports", csv)).body.import_id}/lines`;
  const month = { source: "csv", month: "2026-10" };
  const day = { starts_at: "2026-10-25T00:00:00Z", ends_at: "2026-10-26T00:00:00Z" };
  await purser.api("POST", bill, {
    offset: 0,
    lines: [{ series: "usage", category: "usage", ...day }],
    is_last: true,
  });
  const { reconciliation_id } = (await purser.api("POST", "/reconciliations", month)).body;
  await purser.api("GET", `/reconciliations/${reconciliation_id}`);
  await purser.api("GET", `/reconciliations/${reconciliation_id}/variances?cause=price`);
  await purser.api("POST", `/reconciliations/${reconciliation_id}/undo`);
  await purser.api("POST", "/bills/periods/close", month);
  await purser.api("POST", "/bills/periods/reopen", { ...month, reason: "a new invoice" });
  const file = { source: "csv", file: { sha256: "0".repeat(64) } };
  const { import_id } = (await purser.api("POST", "/bills/imports", file)).body;
  await purser.api("POST", `/bills/imports/${import_id}/lines`, {
    offset: 0,
    lines: [BILL_LINE],
    is_last: true,
  });
  const price = { provider: "a", model: "b", input_usd_per_million: 1, output_usd_per_million: 1 };
  const { price_id } = (await purser.api("PUT", "/prices/rows", price)).body;
  await purser.api("GET", "/prices/rows");
  await purser.api("GET", `/prices/rows/${price_id}`);
  await purser.api("DELETE", `/prices/rows/${price_id}`);
  await purser.api("POST", "/costs/events", [{ ...EVENT, call_id: "paid", account: "acme" }]);
  const { body: [{ upstream_id }] } = await purser.api("GET", "/upstreams");
  assert.equal((await purser.api("PATCH", `/upstreams/${upstream_id}`, { key_id: "key_1" })).status, 200);
  await purser.api("DELETE", "/agents/a");
  const key = await purser.api("POST", "/keys", {
    name: "A",
    scopes: ["read", "call"],
    expires_at: "2027-01-01T00:00:00Z",
  });
  await purser.api("GET", "/keys?status=active&limit=5");
  await purser.api("GET", key.headers.get("location")!);
  await purser.api("GET", "/key-names");
  await purser.api("PATCH", key.headers.get("location")!, { stop_before_credits: true });
  await purser.api("POST", `${key.headers.get("location")!}/rotate`, {});
  await purser.api("DELETE", key.headers.get("location")!);
  await (await purser.fetch("GET", "/events")).body!.cancel();
  const answer = purser.api("POST", "/agents/slow/runs", { input: "Hi" });
  await asked.promise;
  await purser.api("POST", `/runs/${[...purser.core.liveRuns.keys()][0]}/cancel`);
  await answer;
  // It answers requests with a key alone: tests/own_view_test.ts.
  const others = Object.keys(OPERATIONS).filter((name) => name !== "getOwnView");
  assert.deepEqual([...purser.succeeded].sort(), others.sort());
});

Deno.test("an operation that writes declares the errors of a body, even if it takes none", async () => {
  await using purser = await openTestPurser();
  for (const { at, responses } of operationsOf(await readDocument(purser))) {
    if (at.startsWith("GET ")) continue;
    for (const status of [413, 415]) assert.ok(status in responses, `${at}: ${status} is not declared`);
  }
});

Deno.test("a problem's code is one of the closed list, and each status has a schema of its own code", async () => {
  await using purser = await openTestPurser();
  const document = await readDocument(purser);
  const codeOf = (schema: object) =>
    (schema as { properties: { code: { enum: string[] } } }).properties.code.enum;
  assert.deepEqual(codeOf(document.components.schemas.Problem!), Object.keys(STATUS));
  let count = 0;
  for (const { at, responses } of operationsOf(document)) {
    for (const [status, response] of Object.entries(responses)) {
      const { content } = resolve<Answer>(document, response);
      const problem = content?.["application/problem+json"];
      assert.equal(
        Number(status) >= 400 && !content?.["application/json"],
        problem !== undefined,
        `${at} ${status}`,
      );
      if (problem === undefined) continue;
      const [code, ...others] = codeOf(resolve(document, problem.schema));
      assert.deepEqual(
        [STATUS[code as keyof typeof STATUS], others],
        [Number(status), []],
        `${at} ${status}`,
      );
      count++;
    }
  }
  assert.ok(count > 100);
});

/** Every pattern of a document, however deep. */
function patternsOf(document: unknown): string[] {
  const patterns: string[] = [];
  JSON.stringify(document, (key, value) => {
    if (key === "pattern" && typeof value === "string") patterns.push(value);
    return value;
  });
  return [...new Set(patterns)];
}

Deno.test("every published pattern is valid, with the same meaning, in the regular expressions of all languages", async () => {
  await using purser = await openTestPurser();
  const patterns = patternsOf([await readDocument(purser), SNAPSHOT_JSON_SCHEMA]);
  assert.ok(patterns.length >= 5);
  const texts = [
    "",
    "a",
    "a:b",
    "-a",
    "a\nb",
    "\u0085",
    "x".repeat(200),
    "é日",
    "2026-11-21T09:30:00.000Z",
    "42",
  ];
  for (const pattern of patterns) {
    // Python and JavaScript without a flag lack \\p, RE2 (Go, Rust) lacks lookaround.
    assert.doesNotMatch(pattern, /\\p|\(\?[=!<]|\\u|\/[a-z]*$/i, pattern);
    const re2 = RE2JS.compile(pattern);
    for (const text of texts) {
      const expected = new RegExp(pattern, "u").test(text);
      assert.equal(new RegExp(pattern).test(text), expected, `${pattern} on ${text}`);
      assert.equal(re2.matcher(text).find(), expected, `RE2: ${pattern} on ${text}`);
    }
  }
});

Deno.test("the document has a snapshot's own fields, and refers to the published schema for the rest", async () => {
  await using purser = await openTestPurser();
  const { Snapshot: outline, ...others } = (await readDocument(purser)).components.schemas;
  const published = SNAPSHOT_JSON_SCHEMA as Record<"properties" | "required", object>;
  assert.equal(outline!.externalDocs!.url, SNAPSHOT_SCHEMA_PATH);
  assert.deepEqual(Object.keys(outline!.properties as object), Object.keys(published.properties));
  assert.deepEqual(outline!.required, published.required);
  assert.deepEqual(Object.keys(others).filter((name) => name.startsWith("Snapshot")), []);
  assert.ok(JSON.stringify(outline).length < 2_500);
});
