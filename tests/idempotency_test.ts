import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { ConstraintError, type Store } from "../src/store/mod.ts";
import { answerTo } from "./harness/answers.ts";
import { startFakeProvider } from "./harness/fake_provider.ts";
import { makeKey, openHttpClient } from "./harness/http_client.ts";
import { snapshotOf } from "./harness/snapshots.ts";
import { openTestPurser, rejection } from "./harness/test_purser.ts";
import { readSse } from "./harness/sse_reader.ts";

/** Requests that are sent again under an Idempotency-Key. */

const RULE = { name: "Daily", threshold_type: "per_day_usd", threshold_usd: 1, severity: "info" } as const;
const MODEL = "openai.chat:gpt-4o-mini";
const keyed = (key: string, more: object = {}) => ({ "idempotency-key": key, ...more });

const countOf = async (store: Pick<Store, "read">, table: string) =>
  Number((await store.read({ sql: `SELECT count(*) FROM ${table}` })).rows[0]![0]);

const isReplayed = ({ headers }: { headers: Headers }) => headers.get("idempotency-replayed");

// Runs

Deno.test("a run under a key happens once: sent again it has the same answer, with another body it is refused", async () => {
  await using purser = await openTestPurser();
  await purser.api("PUT", "/agents/a", { model: "demo:echo" });
  const run = (key: string, input: string, more: object = {}) =>
    purser.api("POST", "/agents/a/runs", { input, ...more }, keyed(key));
  const first = await run("k1", "Hello");
  assert.deepEqual([first.status, isReplayed(first)], [200, null]);
  const again = await run("k1", "Hello");
  assert.deepEqual([again.status, isReplayed(again), again.body], [200, "true", first.body]);
  for (const other of [run("k1", "Bye"), run("k1", "Hello", { session_id: "s" })]) {
    const { status, body } = await other;
    assert.deepEqual([status, body.code], [422, "idempotency_mismatch"]);
  }
  assert.equal(await countOf(purser.core.store, "runs"), 1);
  assert.notEqual((await run("k2", "Hello")).body.run_id, first.body.run_id);
  await purser.api("PUT", "/agents/b", { model: "demo:echo" });
  const elsewhere = await purser.api("POST", "/agents/b/runs", { input: "Hello" }, keyed("k1"));
  assert.deepEqual([elsewhere.body.agent_id, isReplayed(elsewhere)], ["b", null]);
  await purser.api("DELETE", "/agents/a");
  assert.deepEqual((await run("k1", "Hello")).body, first.body, "also once the agent is gone");
});

Deno.test("a run that failed is not repeated: its problem is", async () => {
  await using purser = await openTestPurser();
  await purser.api("PUT", "/agents/poor", { model: "demo:echo", cost_budget_usd: 0 });
  await purser.api("PUT", "/agents/broken", { model: "demo:fail" });
  for (const [agent, code] of [["poor", "budget_exceeded"], ["broken", "provider_error"]]) {
    const run = () => purser.api("POST", `/agents/${agent}/runs`, { input: "Hi" }, keyed("k"));
    const first = await run();
    assert.equal(first.body.code, code);
    const again = await run();
    assert.deepEqual([again.status, isReplayed(again), again.body], [first.status, "true", first.body]);
  }
  assert.equal(await countOf(purser.core.store, "runs"), 2);
});

Deno.test("a request that was refused leaves its key free, for the same body or another", async () => {
  await using purser = await openTestPurser();
  const run = (input: string) => purser.api("POST", "/agents/a/runs", { input }, keyed("k"));
  assert.equal((await run("Hi")).status, 404);
  assert.equal(await countOf(purser.core.store, "idempotency_keys"), 0);
  await purser.api("PUT", "/agents/a", { model: "demo:echo" });
  const answer = await run("Hello");
  assert.deepEqual([answer.status, isReplayed(answer), answer.body.output], [200, null, "You said: Hello"]);
});

Deno.test("a run that is sent again while it is in progress is 409, and has one answer then, streamed too", async () => {
  await using fake = await startFakeProvider();
  await using purser = await openTestPurser({ fake });
  await purser.api("PUT", "/agents/a", { model: MODEL });
  const going = Promise.withResolvers<void>();
  fake.enqueue({
    after: going.promise,
    ...answerTo({ api: "openai-chat", model: "gpt-4o-mini" }, { text: "Done" }),
  });
  const run = (more: object = {}) =>
    purser.fetch("POST", "/agents/a/runs", { body: { input: "Hi" }, headers: keyed("k", more) });
  const streamed = { accept: "text/event-stream" };
  const stream = readSse(await run(streamed));
  const { data: { run_id } } = (await stream.next())!;
  for (const more of [{}, streamed]) {
    const early = await run(more);
    const body = await early.json();
    assert.deepEqual([early.status, early.headers.get("retry-after"), isReplayed(early)], [409, "1", null]);
    assert.deepEqual([body.code, body.run_id, body.details], ["conflict", run_id, {
      retry_after_seconds: 1,
    }]);
  }
  going.resolve();
  const result = (await stream.rest()).at(-1)!;
  assert.deepEqual([result.event, result.data.output], ["result", "Done"]);
  const again = await run(streamed);
  assert.equal(isReplayed(again), "true");
  assert.deepEqual(await readSse(again).rest(), [result], "the result alone");
  assert.deepEqual(await (await run()).json(), result.data);
  assert.equal(fake.calls, 1);
});

Deno.test("a run whose process died is not made again: the answer says so, and names it", async () => {
  await using fake = await startFakeProvider(() => ({ hang: true }));
  await using purser = await openTestPurser({ fake });
  await purser.api("PUT", "/agents/a", { model: MODEL });
  const run = () => purser.api("POST", "/agents/a/runs", { input: "Hi" }, keyed("k"));
  const hanging = run();
  await until(() => fake.calls === 1);
  const { liveRuns } = purser.core;
  const [runId, live] = [...liveRuns][0]!;
  liveRuns.delete(runId); // as the process that recovers sees the runs of a dead one
  const { status, headers, body } = await run();
  assert.deepEqual([status, headers.get("retry-after"), isReplayed({ headers })], [409, null, "true"]);
  assert.deepEqual([body.code, body.run_id], ["conflict", runId]);
  assert.match(
    body.detail,
    /was interrupted, since the process that ran it ended; use a new Idempotency-Key/,
  );
  assert.deepEqual((await run()).body, body);
  live.cancel("the test is over");
  await hanging;
  assert.equal(fake.calls, 1);
});

Deno.test("no run starts under the id of another, and nothing is left of the attempt", async () => {
  await using purser = await openTestPurser();
  await purser.run({}, "Hi", { runId: "run_1", sessionId: "s1" });
  const again = await rejection(purser.run({}, "Hi", { runId: "run_1", sessionId: "s2" }));
  assert.ok(again instanceof ConstraintError);
  assert.equal(await countOf(purser.core.store, "runs"), 1);
  assert.equal(await countOf(purser.core.store, "sessions"), 1);
});

// Rules

Deno.test("a rule under a key is added once; its answer stays the first one's, whatever becomes of the rule", async () => {
  await using purser = await openTestPurser();
  const add = async (body: object = RULE, key = "k") => {
    const { status, headers, ...answer } = await purser.fetch("POST", "/alerts/rules", {
      body,
      headers: keyed(key),
    })
      .then(async (response) => ({
        status: response.status,
        headers: response.headers,
        text: await response.text(),
      }));
    return { status, location: headers.get("location"), etag: headers.get("etag"), ...answer };
  };
  const first = await add();
  assert.equal(first.status, 201);
  purser.clock.advance(5_000);
  await purser.api("PATCH", first.location!, { name: "Changed" });
  assert.deepEqual(await add(), first);
  assert.deepEqual(
    await add({ ...Object.fromEntries(Object.entries(RULE).reverse()) }),
    first,
    "the order is no matter",
  );
  await purser.api("DELETE", first.location!);
  assert.deepEqual(await add(), first);
  assert.equal((await add({ ...RULE, threshold_usd: 2 })).status, 422);
  assert.equal(await countOf(purser.core.store, "alert_rules"), 0);
  assert.equal((await add({ ...RULE, severity: "grave" }, "k2")).status, 400);
  assert.equal((await add(RULE, "k2")).status, 201, "an invalid request claims nothing");
});

// Restores

Deno.test("a restore under a key happens once: sent again it undoes nothing that came after it", async () => {
  await using purser = await openTestPurser();
  const document = JSON.stringify(snapshotOf({ agent_id: "a", session_id: "s" }));
  const restore = (body: string | Uint8Array, headers: object, query = "") =>
    purser.api("POST", `/agents/snapshot/restore${query}`, body, {
      "content-type": "application/json",
      ...headers,
    } as HeadersInit);
  assert.equal((await restore(document, keyed("k"), "?dry_run=true")).status, 200);
  assert.equal((await restore(document.slice(0, -1), keyed("k"))).status, 400);
  assert.equal(await countOf(purser.core.store, "idempotency_keys"), 0);
  const first = await restore(document, keyed("k"));
  assert.deepEqual([first.status, first.body.new_session, isReplayed(first)], [200, true, null]);
  await purser.api("PUT", "/agents/a", { model: "demo:echo" });
  await purser.api("POST", "/agents/a/runs", { input: "Later", session_id: "s" });
  const messages = await purser.messages("s");
  const again = await restore(document, keyed("k"));
  assert.deepEqual([again.status, isReplayed(again), JSON.stringify(again.body)], [
    200,
    "true",
    JSON.stringify(first.body),
  ]);
  assert.deepEqual(await purser.messages("s"), messages);
  assert.equal((await restore(document + " ", keyed("k"))).status, 422, "the bytes count");
  const zipped = await restore(gzipSync(document), keyed("k2", { "content-encoding": "gzip" }));
  assert.deepEqual([zipped.body.new_session, zipped.body.messages_before], [false, messages.length]);
  const zippedAgain = await restore(gzipSync(document), keyed("k2", { "content-encoding": "gzip" }));
  assert.deepEqual(zippedAgain.body, zipped.body);
  await restore(JSON.stringify(snapshotOf({ agent_id: "b", session_id: "s2" })), keyed("k3"));
  const foreign = await restore(JSON.stringify(snapshotOf({ agent_id: "a", session_id: "s2" })), keyed("k4"));
  assert.equal(foreign.status, 409);
  assert.equal(await countOf(purser.core.store, "idempotency_keys"), 3);
});

// Keys

Deno.test("a key is of its owner: the same one of two API keys, or of none, stands for different requests", async () => {
  await using purser = await openTestPurser();
  await purser.api("PUT", "/agents/a", { model: "demo:echo" });
  const client = openHttpClient(purser);
  const ids = [(await purser.api("POST", "/agents/a/runs", { input: "Hi" }, keyed("k"))).body.run_id];
  for (let n = 0; n < 2; n++) {
    const { key } = await makeKey(purser, ["run"], { agent_id: "a" });
    const run = () =>
      client.send("POST", "/agents/a/runs", { key, body: { input: "Hi" }, headers: keyed("k") });
    ids.push((await run()).body.run_id);
    assert.equal((await run()).body.run_id, ids.at(-1));
  }
  assert.equal(new Set(ids).size, 3);
});

Deno.test("a key is 1 to 255 printable ASCII characters; anything else is refused, on every route", async () => {
  await using purser = await openTestPurser();
  await purser.api("PUT", "/agents/a", { model: "demo:echo" });
  const send = (path: string, body: unknown, key: string) => purser.api("POST", path, body, keyed(key));
  const routes: [string, unknown][] = [
    ["/agents/a/runs", { input: "Hi" }],
    ["/alerts/rules", RULE],
    ["/agents/snapshot/restore", JSON.stringify(snapshotOf({ session_id: "s" }))],
  ];
  for (const [path, body] of routes) {
    for (const key of ["", "x".repeat(256), "caf\u00e9", "a\tb"]) {
      const answer = await send(path, body, key);
      assert.deepEqual([answer.status, answer.body.code], [400, "invalid"], `${path} ${key}`);
    }
    assert.ok((await send(path, body, '"8e03978e-40d5-43dd-bc93-6894a57f9324"')).status < 300);
    assert.ok((await send(path, body, "x".repeat(255))).status < 300);
  }
});

Deno.test("requests without a key claim nothing", async () => {
  await using purser = await openTestPurser();
  await purser.api("PUT", "/agents/a", { model: "demo:echo" });
  let reads = 0;
  const { read } = purser.core.store;
  purser.core.store.read = (statement) => {
    reads += Number(statement.sql.includes("idempotency"));
    return read.call(purser.core.store, statement);
  };
  await purser.api("POST", "/agents/a/runs", { input: "Hi" });
  await purser.api("POST", "/alerts/rules", RULE);
  await purser.api("POST", "/agents/snapshot/restore", JSON.stringify(snapshotOf({ session_id: "s" })));
  assert.deepEqual([reads, await countOf({ read: read.bind(purser.core.store) }, "idempotency_keys")], [
    0,
    0,
  ]);
});

/** Waits until a condition holds, at most half a minute. */
async function until(holds: () => boolean): Promise<void> {
  for (let turn = 0; !holds(); turn++) {
    if (turn > 3_000) assert.fail("it did not come about");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
