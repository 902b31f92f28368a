import assert from "node:assert/strict";
import { EVENT } from "./harness/bodies.ts";
import { openTestPurser } from "./harness/test_purser.ts";

const SEARCHED = {
  ...EVENT,
  call_id: "searched",
  session_id: "ses_parts",
  provider: "demo",
  model: "echo",
  input_tokens: 1_000,
  output_tokens: 100,
  web_searches: 3,
};

Deno.test("a part without a known rate leaves a call partly priced: counted, shown, never silently cheap", async () => {
  await using purser = await openTestPurser();
  assert.equal((await purser.api("POST", "/costs/events", [SEARCHED])).status, 201);
  const { body } = await purser.api("GET", "/sessions/ses_parts/costs");
  const [call] = body.calls;
  assert.deepEqual(
    [call.cost_usd, call.price_source, call.web_searches, call.unpriced_parts],
    [0.0014, "demo", 3, ["web_searches"]],
  );
  assert.deepEqual([body.token_usage.partly_priced_calls, body.token_usage.unpriced_calls], [1, 0]);
  assert.equal(body.steps[0].partly_priced_calls, 1);
  for (const grouping of ["agent", "model", "day", "hour", "session"]) {
    const { body: [row] } = await purser.api("GET", `/costs?group_by=${grouping}`);
    assert.deepEqual([row.partly_priced_calls, row.unpriced_calls, row.cost_usd], [1, 0, 0.0014], grouping);
  }
  assert.equal(purser.logs.filter(({ message }) => message.startsWith("A part of a call")).length, 1);
});

Deno.test("a cost event can be reported back with all its parts, and is a duplicate", async () => {
  await using purser = await openTestPurser();
  const served = { service_tier: "flex", speed: "fast", inference_geo: "us", input_audio_tokens: 10 };
  await purser.api("POST", "/costs/events", [{ ...SEARCHED, ...served }]);
  const { body: { calls: [call] } } = await purser.api("GET", "/sessions/ses_parts/costs");
  assert.deepEqual({ ...call, ...served }, call);
  const again = await purser.api("POST", "/costs/events", [call]);
  assert.deepEqual(again.body, { booked: 0, duplicates: 1, unpriced: 0 });
  for (const change of [{ web_searches: 4 }, { service_tier: "priority" }, { input_audio_tokens: 11 }]) {
    assert.equal((await purser.api("POST", "/costs/events", [{ ...call, ...change }])).status, 409);
  }
});

Deno.test("parts that exceed their total are refused, naming the call", async () => {
  await using purser = await openTestPurser();
  const { status, body } = await purser.api("POST", "/costs/events", [{
    ...SEARCHED,
    input_audio_tokens: 1_001,
  }]);
  assert.equal(status, 400);
  assert.match(body.detail, /\[0\].*exceed their total/);
});

Deno.test("calls at one rate card share its record, over processes too", async () => {
  await using purser = await openTestPurser();
  const { store } = purser.core;
  await purser.run({}, "hello");
  await purser.api("POST", "/costs/events", [
    { ...SEARCHED, call_id: "a", web_searches: 0 },
    { ...SEARCHED, call_id: "b" },
    { ...SEARCHED, call_id: "reported", cost_usd: 1 },
    { ...SEARCHED, call_id: "c", model: "reverse" },
  ]);
  const { rows } = await store.read({
    sql:
      `SELECT c.source, count(*), count(p.price_id), count(DISTINCT p.price_id), json_extract(min(p.rates), '$.source')
      FROM calls c LEFT JOIN prices p USING (price_id) GROUP BY 1 ORDER BY 1`,
  });
  assert.deepEqual(rows, [["report", 4n, 3n, 1n, "demo"], ["run", 1n, 1n, 1n, "demo"]]);
  assert.deepEqual((await store.read({ sql: "SELECT count(*) FROM prices" })).rows, [[1n]]);
});
