import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import {
  type Claim,
  claimKey,
  type IdempotencyContext,
  type KeyedRequest,
  releaseClaim,
  settleClaim,
  sweepIdempotencyKeys,
} from "../src/idempotency/mod.ts";
import { createRule } from "../src/alerts/mod.ts";
import { DAY_MS, fixedClock } from "../src/kernel/clock.ts";
import { PurserError } from "../src/kernel/errors.ts";
import { createIds } from "../src/kernel/ids.ts";
import { importSession } from "../src/snapshots/mod.ts";
import { ConstraintError, type Store } from "../src/store/mod.ts";
import { answerTo } from "./harness/answers.ts";
import { databaseKinds } from "./harness/databases.ts";
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

// Claims, over every kind of database

const request = (more: Partial<KeyedRequest> = {}): KeyedRequest => ({
  owner: "",
  operation: "POST /alerts/rules",
  key: "k",
  fingerprint: "body",
  ...more,
});

const heldBy = (claimed: Awaited<ReturnType<typeof claimKey>>): Claim => {
  assert.ok("claim" in claimed, JSON.stringify(claimed));
  return claimed.claim;
};

const answer = (text: string) => ({ sql: "?1", args: [JSON.stringify(text)] });

for (const { name, ignore, create } of databaseKinds()) {
  const test = (
    sentence: string,
    body: (ctx: IdempotencyContext, other: IdempotencyContext) => Promise<void>,
  ) =>
    Deno.test({
      name: `${name}: ${sentence}`,
      ignore,
      async fn() {
        await using database = await create();
        const clock = fixedClock(Date.now());
        const ids = createIds(clock);
        const store = await database.open();
        const context = (store: Store) => ({ store, clock, ids, instanceId: ids.next("inst") });
        await body(context(store), context(name === "memory" ? store : await database.open()));
      },
    });

  test("of requests at once under one key one claims it, over several instances", async (one, two) => {
    for (let round = 0; round < 3; round++) {
      const outcomes = await Promise.allSettled(
        Array.from({ length: 8 }, (_, n) => claimKey(n % 2 === 0 ? one : two, request({ key: `k${round}` }))),
      );
      const refused = outcomes.filter((outcome) => outcome.status === "rejected");
      assert.equal(refused.length, 7);
      for (const { reason } of refused) {
        assert.deepEqual([reason.code, reason.details], ["conflict", { retry_after_seconds: 1 }]);
      }
    }
  });

  test("an answer is committed with its effect, and is there for every instance", async (one, two) => {
    const claim = heldBy(await claimKey(one, request()));
    await one.store.write(settleClaim(claim, answer("done")));
    assert.deepEqual(await claimKey(two, request()), { result: '"done"' });
    assert.equal(
      (await rejection(claimKey(two, request({ fingerprint: "other" })))).code,
      "idempotency_mismatch",
    );
    assert.ok("claim" in await claimKey(two, request({ owner: "key_1" })));
    assert.ok("claim" in await claimKey(two, request({ operation: "POST /other" })));
  });

  test("an effect whose claim was lost to another request is refused whole", async (one, two) => {
    const frozen = heldBy(await claimKey(one, request()));
    await releaseClaim(one, frozen, new PurserError("unavailable", "The database has not answered"));
    assert.equal(
      (await rejection(claimKey(two, request({ fingerprint: "other" })))).code,
      "idempotency_mismatch",
    );
    const later = heldBy(await claimKey(two, request()));
    const effect = (claim: Claim, n: number) => [
      { sql: "INSERT INTO tallies VALUES ('test', ?, '', 1)", args: [String(n)] },
      ...settleClaim(claim, answer(`effect ${n}`)),
    ];
    await assert.rejects(one.store.write(effect(frozen, 1)), ConstraintError);
    await two.store.write(effect(later, 2));
    await assert.rejects(two.store.write(effect(later, 3)), ConstraintError, "and none takes effect twice");
    assert.deepEqual(await claimKey(one, request()), { result: '"effect 2"' });
    const { rows } = await one.store.read({ sql: "SELECT name FROM tallies WHERE what = 'test'" });
    assert.deepEqual(rows, [["2"]]);
  });

  test(
    "a claim whose instance is gone is replaced at once, one that has changed nothing for a minute too",
    async (one, two) => {
      const first = heldBy(await claimKey(one, request({ runId: "run_1" })));
      assert.equal((await rejection(claimKey(two, request({ runId: "run_2" })))).code, "conflict");
      const knowing: IdempotencyContext = {
        ...two,
        store: new Proxy(two.store, {
          get: (store, field) =>
            field === "instances"
              ? {
                ...store.instances,
                hold: () => Promise.resolve(),
                isGone: (id: string) => Promise.resolve(id === one.instanceId),
              }
              : typeof Reflect.get(store, field) === "function"
              ? Reflect.get(store, field).bind(store)
              : Reflect.get(store, field),
        }),
      };
      const second = heldBy(await claimKey(knowing, request({ runId: "run_2" })));
      assert.notEqual(second.holder, first.holder);
      assert.equal(second.runId, "run_1", "under one key no two runs can start");
      assert.equal((await rejection(claimKey(two, request()))).code, "conflict", "its instance lives");
      await two.store.write([{ sql: "UPDATE idempotency_keys SET lease_until = lease_until - 60000" }]);
      assert.equal(heldBy(await claimKey(two, request())).runId, "run_1");
    },
  );

  test("a key is kept for a day, and swept then", async (one, two) => {
    const claim = heldBy(await claimKey(one, request()));
    await one.store.write(settleClaim(claim, answer("done")));
    await claimKey(one, request({ key: "young" }));
    const age = (key: string, ms: number) =>
      one.store.write([{
        sql: "UPDATE idempotency_keys SET created_at = created_at - ?2 WHERE idempotency_key = ?1",
        args: [key, ms],
      }]);
    await age("k", DAY_MS - 60_000);
    await sweepIdempotencyKeys(one);
    assert.deepEqual(await claimKey(two, request()), { result: '"done"' });
    await age("k", 60_000);
    assert.ok(
      "claim" in await claimKey(two, request({ fingerprint: "new" })),
      "expired, though not swept yet",
    );
    await age("k", DAY_MS);
    await sweepIdempotencyKeys(one);
    const { rows } = await one.store.read({ sql: "SELECT idempotency_key FROM idempotency_keys" });
    assert.deepEqual(rows, [["young"]]);
  });
}

// What holds a claim and is too late

Deno.test("a rule and a restore that are too late change nothing", async () => {
  await using purser = await openTestPurser();
  const { core } = purser;
  const lostClaim = async (key: string) => {
    const lost = heldBy(await claimKey(core, request({ key })));
    purser.clock.advance(60_000);
    heldBy(await claimKey(core, request({ key })));
    return lost;
  };
  const [first, second] = [await lostClaim("k1"), await lostClaim("k2")];
  await assert.rejects(
    createRule(core, RULE, (rule) => settleClaim(first, { sql: "?1", args: [JSON.stringify(rule)] })),
    ConstraintError,
  );
  assert.equal(await countOf(core.store, "alert_rules"), 0);
  const bytes = new Blob([JSON.stringify(snapshotOf({ session_id: "s" }))]).stream();
  await assert.rejects(
    importSession(core, bytes, { once: (restore) => restore((result) => settleClaim(second, result)) }),
    ConstraintError,
  );
  for (const table of ["sessions", "messages", "events"]) {
    assert.equal(await countOf(core.store, table), 0, table);
  }
});

/** Waits until a condition holds, at most half a minute. */
async function until(holds: () => boolean): Promise<void> {
  for (let turn = 0; !holds(); turn++) {
    if (turn > 3_000) assert.fail("it did not come about");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
