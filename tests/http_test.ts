import assert from "node:assert/strict";
import { answerTo } from "./harness/answers.ts";
import { assertProblem } from "./harness/assert_problem.ts";
import { AGENT, EVENT } from "./harness/bodies.ts";
import { startFakeProvider } from "./harness/fake_provider.ts";
import { openTestPurser, type TestPurser } from "./harness/test_purser.ts";

Deno.test("an agent is defined, read, replaced, listed and removed", async () => {
  await using purser = await openTestPurser();
  const full = {
    name: "a",
    model: "demo:loop",
    system_prompt: "Count.",
    cost_budget_usd: 0.000000001,
    budget_mode: "strict",
    allow_unpriced: true,
    max_steps: 7,
    max_output_tokens: 100,
    tools: ["calculator"],
    tags: { team: "search" },
  };
  const created = await purser.api("PUT", "/agents/a", full);
  assert.equal(created.status, 201);
  const at = "2026-11-01T12:00:00.000Z";
  assert.deepEqual(created.body, { agent_id: "a", ...full, created_at: at, updated_at: at });
  purser.clock.advance(1);
  const replaced = await purser.api("PUT", "/agents/a", AGENT);
  assert.equal(replaced.status, 200);
  assert.deepEqual(replaced.body, {
    agent_id: "a",
    name: "a",
    model: "demo:echo",
    system_prompt: "",
    cost_budget_usd: null,
    budget_mode: "stop",
    allow_unpriced: false,
    max_steps: 20,
    max_output_tokens: null,
    tools: [],
    tags: {},
    created_at: at,
    updated_at: "2026-11-01T12:00:00.001Z",
  });
  assert.deepEqual((await purser.api("GET", "/agents")).body, [replaced.body]);
  const { token_usage, ...read } = (await purser.api("GET", "/agents/a")).body;
  assert.deepEqual(read, replaced.body);
  assert.deepEqual([token_usage.model_calls, token_usage.cost_usd, token_usage.model], [0, 0, null]);
  assert.equal((await purser.api("DELETE", "/agents/a")).status, 204);
  assert.equal((await purser.api("DELETE", "/agents/a")).status, 404);
});

Deno.test("removing an agent keeps its sessions and its costs", async () => {
  await using purser = await openTestPurser();
  await purser.api("PUT", "/agents/a", AGENT);
  await purser.api("POST", "/agents/a/runs", { input: "Hi", session_id: "s1" });
  await purser.api("DELETE", "/agents/a");
  assert.equal((await purser.api("GET", "/sessions/s1")).status, 200);
  assert.equal((await purser.api("GET", "/agents/a/sessions")).body.length, 1);
  assert.equal((await purser.api("GET", "/costs")).body[0].model_calls, 1);
  assert.equal((await purser.api("POST", "/agents/a/runs", { input: "Hi" })).status, 404);
});

Deno.test("an unknown resource is 404, for any form of id", async () => {
  await using purser = await openTestPurser();
  const ids = [
    "unknown",
    "a%2Fb",
    "%00",
    "%zz",
    "constructor",
    "__proto__",
    "%F0%9F%92%B8",
    "x".repeat(500),
    "'--",
  ];
  for (const id of ids) {
    const paths = [
      `/agents/${id}`,
      `/sessions/${id}`,
      `/sessions/${id}/events`,
      `/sessions/${id}/costs`,
      `/runs/${id}`,
    ];
    for (const path of paths) assert.equal((await purser.api("GET", path)).status, 404, path);
    assert.equal((await purser.api("POST", `/agents/${id}/runs`, { input: "Hi" })).status, 404, id);
    assert.equal((await purser.api("POST", `/runs/${id}/cancel`)).status, 404, id);
    assert.deepEqual((await purser.api("GET", `/agents/${id}/sessions`)).body, []);
  }
});

Deno.test("an unknown path is a 404 problem, an unsupported method a 405 that names the supported ones", async () => {
  await using purser = await openTestPurser();
  for (const path of ["/nowhere", "/agents/a/b/c", "//agents", "/agents/", "/costs/", "/runs/"]) {
    await assertProblem(purser, "GET", path, undefined, { status: 404, code: "not_found" });
  }
  const wrong = {
    "DELETE /agents": "GET",
    "POST /agents/a": "DELETE, GET, PUT",
    "GET /agents/a/runs": "POST",
    "PATCH /costs": "GET",
    "PUT /costs/events": "POST",
    "GET /runs/r/cancel": "POST",
    "POST /openapi.json": "GET",
  };
  for (const [request, allowed] of Object.entries(wrong)) {
    const [method, path] = request.split(" ") as [string, string];
    const { headers } = await assertProblem(purser, method, path, undefined, {
      status: 405,
      code: "method_not_allowed",
    });
    assert.equal(headers.get("allow"), allowed, request);
  }
});

Deno.test("reports are booked once, priced here or at their own cost, and conflicts book nothing", async () => {
  await using purser = await openTestPurser();
  const reported = { ...EVENT, call_id: "c2", cost_usd: 0.00000000050001 };
  const first = await purser.api("POST", "/costs/events", [EVENT, reported, EVENT]);
  assert.equal(first.status, 201);
  assert.deepEqual(first.body, { booked: 2, duplicates: 1, unpriced: 0 });
  const again = await purser.api("POST", "/costs/events", [EVENT]);
  assert.deepEqual(again.body, { booked: 0, duplicates: 1, unpriced: 0 });
  const conflict = await assertProblem(purser, "POST", "/costs/events", [
    { ...EVENT, call_id: "c3" },
    { ...EVENT, input_tokens: 2 },
  ], { status: 409, code: "conflict" });
  assert.equal(conflict.body.details.call_id, "c1");
  const { body: [row] } = await purser.api("GET", "/costs");
  assert.equal(row.model_calls, 2);
  assert.equal(row.cost_usd, 0.000150601);
  assert.deepEqual((await purser.api("POST", "/costs/events", [])).body, {
    booked: 0,
    duplicates: 0,
    unpriced: 0,
  });
});

Deno.test("the costs of a session known only from reports can be read, and its calls reported back", async () => {
  await using purser = await openTestPurser();
  const ids = { session_id: "ses_elsewhere", run_id: "run_elsewhere" };
  const priced = { ...EVENT, ...ids, estimated: true, price_source: "mine", duration_ms: 1.6 };
  const unpriced = { ...EVENT, ...ids, call_id: "c2", model: "unknown-model" };
  assert.equal((await purser.api("POST", "/costs/events", [priced, unpriced])).status, 201);
  const { status, body } = await purser.api("GET", "/sessions/ses_elsewhere/costs");
  assert.equal(status, 200);
  const [call] = body.calls;
  assert.equal(call.estimated, true);
  assert.match(call.price_source, /^genai-prices@/);
  assert.equal(body.token_usage.model_calls, 2);
  assert.equal(body.token_usage.cost_usd, call.cost_usd);
  assert.deepEqual((await purser.api("POST", "/costs/events", body.calls)).body, {
    booked: 0,
    duplicates: 2,
    unpriced: 0,
  });
  await assertProblem(purser, "POST", "/costs/events", [{ ...priced, estimated: false }], {
    status: 409,
    code: "conflict",
  });
  assert.equal((await purser.api("GET", "/sessions/ses_nowhere/costs")).status, 404);
});

/** Follows `Link` to its end. */
async function readPages(purser: TestPurser, path: string): Promise<{ bodies: unknown[]; pages: number }> {
  const bodies: unknown[] = [];
  for (let next: string | undefined = path; next;) {
    const { status, body, headers } = await purser.api("GET", next);
    assert.equal(status, 200);
    bodies.push(body);
    next = /^<([^>]+)>; rel="next"$/.exec(headers.get("link") ?? "")?.[1];
  }
  return { bodies, pages: bodies.length };
}

Deno.test("following Link to its end gives every row exactly once", async () => {
  await using purser = await openTestPurser();
  await purser.api("PUT", "/agents/a", { ...AGENT, tools: ["calculator"] });
  for (let i = 0; i < 7; i++) {
    // Several at one time: the cursor has to distinguish them.
    if (i % 3 === 0) purser.clock.advance(1);
    await purser.api("POST", "/agents/a/runs", { input: "What is 2 + 2?", session_id: `s${i}` });
    await purser.api("POST", "/agents/a/runs", { input: "What is 3 + 3?", session_id: "long" });
  }
  for (
    const path of [
      "/sessions?limit=3",
      "/agents/a/sessions?limit=3",
      "/sessions?limit=4",
      "/sessions?limit=1",
    ]
  ) {
    const { bodies } = await readPages(purser, path);
    const ids = bodies.flat().map((row) => (row as { session_id: string }).session_id);
    assert.deepEqual(ids.toSorted(), ["long", "s0", "s1", "s2", "s3", "s4", "s5", "s6"], path);
    const times = bodies.flat().map((row) => (row as { updated_at: string }).updated_at);
    assert.deepEqual(times, times.toSorted().reverse(), path);
  }
  const runs = (await readPages(purser, "/costs?group_by=run&limit=3")).bodies.flat();
  assert.equal(new Set(runs.map((row) => (row as { run_id: string }).run_id)).size, 14);
  assert.equal(runs.length, 14);
  const { bodies: costs } = await readPages(purser, "/sessions/long/costs?limit=4");
  const calls = costs.flatMap((page) => (page as { calls: { call_id: string }[] }).calls);
  assert.equal(calls.length, 14);
  assert.equal(new Set(calls.map(({ call_id }) => call_id)).size, 14);
  const all = (await purser.api("GET", "/sessions/long/events")).body;
  const parts = [];
  for (let after = 0;;) {
    const { body } = await purser.api("GET", `/sessions/long/events?after=${after}&limit=5`);
    if (body.length === 0) break;
    parts.push(...body);
    after = body.at(-1).seq;
  }
  assert.deepEqual(parts, all);
  assert.equal(all.length, 57);
});

Deno.test("costs can be filtered by time and by agent", async () => {
  await using purser = await openTestPurser();
  const at = (hour: number) => `2026-10-31T${String(hour).padStart(2, "0")}:30:00.000Z`;
  const events = [21, 22, 23].map((hour) => ({ ...EVENT, call_id: `c${hour}`, at: at(hour) }));
  await purser.api("POST", "/costs/events", [...events, { ...EVENT, call_id: "other", agent_id: "other" }]);
  const ask = async (query: string) => (await purser.api("GET", `/costs?${query}`)).body;
  assert.equal((await ask("agent_id=elsewhere"))[0].model_calls, 3);
  assert.equal((await ask("from=2026-11-01"))[0].agent_id, "other");
  assert.equal((await ask(`from=${at(22)}&to=${at(23)}`))[0].model_calls, 1);
  assert.equal((await ask("from=2026-11-01T01:30:00%2B02:00&agent_id=elsewhere"))[0].model_calls, 1);
  assert.deepEqual((await ask("group_by=day")).map((row: { day: string }) => row.day), [
    "2026-11-01",
    "2026-10-31",
  ]);
});

Deno.test("an internal error is a 500 with the request id of the log, and no internal message", async () => {
  await using purser = await openTestPurser();
  purser.core.store.write = () => Promise.reject(new TypeError("the secret of the disk"));
  const { body } = await assertProblem(purser, "GET", "/readyz", undefined, {
    status: 500,
    code: "internal",
  });
  assert.doesNotMatch(JSON.stringify(body), /secret/);
  const line = purser.logs.find(({ fields }) => fields.request_id === body.details.request_id)!;
  assert.equal(line.fields.reason, "the secret of the disk");
  assert.match(body.detail, new RegExp(body.details.request_id));
});

Deno.test("a closed database is a 503", async () => {
  const purser = await openTestPurser();
  await purser.core.close();
  await assertProblem(purser, "GET", "/readyz", undefined, { status: 503, code: "unavailable" });
  await assertProblem(purser, "GET", "/agents", undefined, { status: 503, code: "unavailable" });
  assert.equal((await purser.api("GET", "/healthz")).status, 200);
});

Deno.test("HEAD is answered like GET; / leads browsers to the dashboard, and programs to the docs", async () => {
  await using purser = await openTestPurser();
  assert.equal((await purser.fetch("HEAD", "/agents")).status, 200);
  // Firefox 145, Chrome 143 and Safari 26; then curl, fetch of Node, Python's requests, and a client of the API.
  const accepts: [accept: string | undefined, status: number, location: string][] = [
    ["text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", 303, "/ui/"],
    ["text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8", 303, "/ui/"],
    ["*/*", 302, "/docs"],
    ["application/json", 302, "/docs"],
    [undefined, 302, "/docs"],
  ];
  for (const [accept, status, location] of accepts) {
    for (const method of ["GET", "HEAD"]) {
      const answer = await purser.fetch(method, "/", { headers: accept === undefined ? {} : { accept } });
      assert.deepEqual([answer.status, answer.headers.get("location")], [status, location], accept);
    }
  }
});

Deno.test("a provider's failure and a reached budget are the same errors in the API as in the library", async () => {
  await using fake = await startFakeProvider((request) => answerTo(request, { text: "Hi" }));
  await using purser = await openTestPurser({ fake });
  fake.enqueue({ status: 401, message: "Wrong key" });
  await purser.api("PUT", "/agents/a", { model: "claude-haiku-4-5" });
  const { body } = await assertProblem(purser, "POST", "/agents/a/runs", { input: "Hi" }, {
    status: 502,
    code: "provider_error",
    detail: /status 401: Wrong key$/,
  });
  assert.match(body.run_id, /^run_/);
  assert.match(body.session_id, /^ses_/);
});
