import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import fc from "#dev/fast_check.ts";
import { createBus } from "../src/bus/mod.ts";
import { UTC } from "../src/contract/calendars/zones.ts";
import type { LiveDelta, LiveState } from "../src/contract/live.ts";
import { fixedClock } from "../src/kernel/clock.ts";
import { silentLog } from "../src/kernel/log.ts";
import { createTurns } from "../src/kernel/turns.ts";
import { ALL_SEEING, recordCalls } from "../src/ledger/mod.ts";
import { createLiveReader, deltaOf } from "../src/service/live/mod.ts";
import { createQuery, type Statement, type Store } from "../src/store/mod.ts";
import { EVENT } from "./harness/bodies.ts";
import { dialectKinds } from "./harness/databases.ts";
import { makeKey, openHttpClient } from "./harness/http_client.ts";
import { modelCall } from "./harness/model_calls.ts";
import { readSse } from "./harness/sse_reader.ts";
import { openTestPurser } from "./harness/test_purser.ts";

const ids = fc.uniqueArray(fc.constantFrom("a", "b", "c", "d", "e"), { maxLength: 4 });
const entries = ids.chain((names) =>
  fc.tuple(...names.map((name) => fc.record({ id: fc.constant(name), cost_usd: fc.nat(2) })))
);
/** States of lists with few ids and few amounts, so that they share some. */
const anyState = fc.record({
  agents: entries,
  models: entries,
  runs: entries,
  budgets: entries,
  rules: entries,
  running: fc.nat(2),
  day: fc.constantFrom("2026-11-01", "2026-11-02"),
}).map(({ agents, models, runs, budgets, rules, ...figures }) => ({
  at: "2026-11-01T12:00:00.000Z",
  minutes_from: "2026-11-01T11:01:00.000Z",
  spend: { cost_usd: agents.length },
  agents: agents.map(({ id, cost_usd }) => ({ agent_id: id, cost_usd })),
  models: models.map(({ id, cost_usd }) => ({ provider: "p", model: id, cost_usd })),
  runs: runs.map(({ id, cost_usd }) => ({ run_id: id, cost_usd })),
  budgets: budgets.map(({ id, cost_usd }) => ({ budget_id: id, spent_usd: cost_usd })),
  rules: rules.map(({ id, cost_usd }) => ({ rule_id: id, value_usd: cost_usd })),
  alerts: [],
  refusals: [],
  anomalies: [],
  ...figures,
})) as unknown as fc.Arbitrary<LiveState>;

const ID = {
  agents: ({ agent_id }: LiveState["agents"][number]) => agent_id,
  models: ({ provider, model }: LiveState["models"][number]) => `${provider}:${model}`,
  runs: ({ run_id }: LiveState["runs"][number]) => run_id,
  budgets: ({ budget_id }: LiveState["budgets"][number]) => budget_id,
  rules: ({ rule_id }: LiveState["rules"][number]) => rule_id,
};

/** A client's state after a change, its lists as maps. */
function apply(state: LiveState, { gone = {}, ...delta }: LiveDelta) {
  const listOf = <Entry>(name: keyof typeof ID) => {
    const idOf = ID[name] as (entry: Entry) => string;
    const all = [...state[name] as Entry[], ...(delta[name] ?? []) as Entry[]];
    const merged = new Map(all.map((entry) => [idOf(entry), entry]));
    for (const id of gone[name] ?? []) merged.delete(id);
    return merged;
  };
  const lists = Object.fromEntries(Object.keys(ID).map((name) => [name, listOf(name as "agents")]));
  return { ...state, ...delta, ...lists };
}

Deno.test("deltaOf() leads a client from any state to any other, and is nothing between equal ones", () => {
  fc.assert(fc.property(anyState, anyState, (before, after) => {
    const delta = deltaOf(before, after);
    const expected = apply(after, { at: after.at });
    assert.deepEqual(delta ? apply(before, delta) : apply(before, { at: before.at }), expected);
    assert.equal(deltaOf(after, structuredClone(after)), undefined);
  }));
});

const NOW = "2026-11-01T12:00:30.000Z";

/** One process on a database, and the number of times that it has read the overview. */
function openProcess(store: Store) {
  const clock = fixedClock(NOW);
  let readings = 0;
  const counting = new Proxy(store, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      if (name !== "read") return value.bind(target);
      return (statement: Statement) => {
        if (/spend_counters s/.test(statement.sql)) readings++;
        return store.read(statement);
      };
    },
  });
  const ctx = {
    store: counting,
    query: createQuery(counting),
    clock,
    turns: createTurns(() => setImmediate()),
  };
  return {
    clock,
    reader: createLiveReader({ ...ctx, ...UTC, bus: createBus(silentLog) }),
    readings: () => readings,
  };
}

for (const kind of dialectKinds().filter(({ name }) => name !== "memory")) {
  Deno.test({
    name:
      `${kind.name}: the overview has what another process has booked within two seconds, also of all readers at once`,
    ignore: kind.ignore,
    async fn() {
      await using database = await kind.create();
      const [own, other] = [await database.open(), await database.open()];
      const { clock, reader, readings } = openProcess(own);
      const leaving = new AbortController();
      const callers = Array.from({ length: 50 }, () => reader.follow(ALL_SEEING, leaving.signal));
      const next = async () =>
        (await Promise.all(callers.map((caller) => caller.next()))).map(({ value }) => value!);
      const [first, ...rest] = await next();
      assert.equal(first!.state.spend.model_calls, 0);
      for (const each of rest) assert.equal(each, first);
      assert.equal(readings(), 1);
      await other.write(recordCalls([
        modelCall({
          callId: "a",
          at: Date.parse(NOW) - 60_000,
          costNanoUsd: 10_000_000_000n,
          agentId: "ann",
        }),
      ]));
      const pending = next();
      await setImmediate();
      clock.advance(1_000);
      const [second] = await pending;
      assert.equal(second!.state.spend.cost_usd, 10);
      assert.equal(readings(), 2);
      const [ann] = second!.state.agents;
      assert.deepEqual([ann!.agent_id, ann!.minutes.at(-2), ann!.minutes.length], ["ann", 10, 60]);
      // Nine minutes and the elapsed part of the present one, which is 31 s.
      assert.equal(ann!.usd_per_minute, 1.050788091);
      leaving.abort();
      await Promise.all(callers.map((caller) => caller.return(undefined)));
    },
  });
}

async function openStream() {
  const purser = await openTestPurser();
  await purser.api("PUT", "/agents/mine", { model: "demo:echo" });
  const { key, keyId } = await makeKey(purser, ["read"], { agent_id: "mine" });
  const client = openHttpClient(purser);
  const book = (agent_id: string, call_id: string) =>
    purser.api(
      "POST",
      "/costs/events",
      [{ ...EVENT, call_id, agent_id, at: purser.clock.now(), cost_usd: 1 }].map(
        (call) => ({ ...call, at: new Date(call.at).toISOString() }),
      ),
    );
  return { purser, key, keyId, client, book, [Symbol.asyncDispose]: () => purser.core.close() };
}

Deno.test("a key of one agent sees that agent's part of the overview alone, whole and streamed", async () => {
  await using t = await openStream();
  await t.book("mine", "1");
  await t.book("theirs", "2");
  await t.purser.api("POST", "/budgets", { name: "All", limit_usd: 1, per: "day" });
  await t.purser.api("POST", "/budgets", { name: "Own", limit_usd: 1, per: "day", agent_id: "mine" });
  const rule = { threshold_type: "per_day_usd", threshold_usd: 4, severity: "info" };
  await t.purser.api("POST", "/alerts/rules", { ...rule, name: "All" });
  await t.purser.api("POST", "/alerts/rules", { ...rule, name: "Own", agent_id: "mine" });
  await t.purser.api("POST", "/alerts/rules", { ...rule, name: "Off", agent_id: "mine", enabled: false });
  const { body } = await t.client.send("GET", "/live?once=true", { key: t.key });
  const assertOwn = (state: LiveState) => {
    assert.equal(state.spend.cost_usd, 1);
    assert.deepEqual(state.agents.map(({ agent_id }) => agent_id), ["mine"]);
    // The budget over all agents binds it too; its amounts are those of others.
    assert.deepEqual(
      state.budgets.map(({ name, state, spent_usd }) => [name, state, spent_usd]),
      [["All", "reached", undefined], ["Own", "reached", 1]],
    );
    assert.deepEqual(state.rules.map(({ name, value_usd }) => [name, value_usd]), [["Own", 1]]);
    assert.ok(!JSON.stringify(state).includes("theirs"));
  };
  assertOwn(body);
  const stream = readSse(await t.client.fetch("GET", "/live", { key: t.key }));
  assertOwn((await stream.next())!.data);
  await stream.leave();
});

Deno.test("the overview's stream ends when its key is revoked, without another message", async () => {
  await using t = await openStream();
  const stream = readSse(await t.client.fetch("GET", "/live", { key: t.key }));
  assert.equal((await stream.next())!.event, "state");
  await t.purser.api("DELETE", `/keys/${t.keyId}`);
  const rest = stream.rest();
  await t.book("mine", "1");
  await setImmediate();
  t.purser.clock.advance(3_000);
  assert.deepEqual(await rest, []);
});

Deno.test("the overview's stream ends when the service stops; HEAD shows that there is one, and starts none", async () => {
  await using purser = await openTestPurser();
  const head = await purser.fetch("HEAD", "/live");
  assert.deepEqual([head.status, head.headers.get("content-type")], [200, "text/event-stream"]);
  const stream = readSse(await purser.fetch("GET", "/live"));
  assert.equal((await stream.next())!.event, "state");
  purser.core.stop();
  assert.equal(await stream.next(), undefined);
});
