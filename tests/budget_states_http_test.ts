import assert from "node:assert/strict";
import { createKey } from "../src/keys/mod.ts";
import { recordCalls } from "../src/ledger/mod.ts";
import { EVENT } from "./harness/bodies.ts";
import { modelCall } from "./harness/model_calls.ts";
import { openTestPurser } from "./harness/test_purser.ts";
import { add, BUDGETS, DAY, read, spend } from "./harness/budget_requests.ts";

/** The state of a budget over REST: what its windows, scopes and counters show. The clock stands at noon. */

Deno.test("the state follows the spending of the present window and the lowest warning, or 90% of the limit", async () => {
  await using purser = await openTestPurser();
  const { budget_id } = await add(purser, { ...DAY, limit_usd: 10, warn_at: [0.8, 0.9] });
  const none = await add(purser, { ...DAY, limit_usd: 10, warn_at: [] });
  const late = await add(purser, { ...DAY, limit_usd: 10, warn_at: [1] });
  const stateOf = async (id = budget_id) => {
    const { spent_usd, left_usd, state } = await read(purser, id);
    return [spent_usd, left_usd, state];
  };
  await spend(purser, 100, { at: "2026-10-31T23:59:59.999Z" });
  await spend(purser, 7.999999999, { at: "2026-11-01T00:00:00.000Z" });
  assert.deepEqual(await stateOf(), [7.999999999, 2.000000001, "ok"]);
  await spend(purser, 0.000000001);
  assert.deepEqual(await stateOf(), [8, 2, "near"]);
  await spend(purser, 0.999999999);
  assert.deepEqual(await stateOf(none.budget_id), [8.999999999, 1.000000001, "ok"]);
  assert.deepEqual(await stateOf(late.budget_id), [8.999999999, 1.000000001, "ok"]);
  await spend(purser, 0.000000001);
  assert.deepEqual(await stateOf(none.budget_id), [9, 1, "near"]);
  assert.deepEqual(await stateOf(late.budget_id), [9, 1, "near"]);
  await spend(purser, 0.999999999);
  assert.deepEqual(await stateOf(), [9.999999999, 0.000000001, "near"]);
  await spend(purser, 5);
  assert.deepEqual(await stateOf(), [14.999999999, 0, "reached"]);
  assert.deepEqual(await stateOf(none.budget_id), [14.999999999, 0, "reached"]);
  await purser.api("PATCH", `${BUDGETS}/${budget_id}`, { limit_usd: 0 });
  assert.equal((await read(purser, budget_id)).state, "reached");
  purser.clock.advance(12 * 3_600_000);
  assert.deepEqual(await stateOf(none.budget_id), [0, 10, "ok"]);
});

Deno.test("each window counts what is in it: hour, day, week, month, and a lifetime from a midnight", async () => {
  await using purser = await openTestPurser(); // a Sunday, the first of November
  for (const at of ["2026-11-01T11:59:00Z", "2026-11-01T11:00:00Z", "2026-11-01T00:00:00Z"]) {
    await spend(purser, 1, { at });
  }
  for (const at of ["2026-10-31T12:00:00Z", "2026-10-25T12:00:00Z", "2026-01-01T12:00:00Z"]) {
    await spend(purser, 1, { at });
  }
  const stateOf = async (budget: object) => {
    const { spent_usd, window_start, resets_at } = await add(purser, { name: "W", limit_usd: 9, ...budget });
    return [spent_usd, window_start, resets_at];
  };
  const midnight = (day: string) => `2026-${day}T00:00:00.000Z`;
  assert.deepEqual(await stateOf({ per: "hour" }), [1, "2026-11-01T11:00:00.001Z", null]);
  assert.deepEqual(await stateOf({ per: "day" }), [3, midnight("11-01"), midnight("11-02")]);
  assert.deepEqual(await stateOf({ per: "week" }), [4, midnight("10-26"), midnight("11-02")]);
  assert.deepEqual(await stateOf({ per: "month" }), [3, midnight("11-01"), midnight("12-01")]);
  assert.deepEqual(await stateOf({ per: "lifetime" }), [6, null, null]);
  const counts_from = midnight("10-25");
  assert.deepEqual(await stateOf({ per: "lifetime", counts_from }), [5, counts_from, null]);
});

Deno.test("each scope counts its own calls, whether they are in the counters or after them", async () => {
  await using purser = await openTestPurser();
  const at = "2026-11-01T11:30:00Z";
  await spend(purser, 1, { agent_id: "ann", session_id: "s1", at });
  await spend(purser, 2, { agent_id: "bob", session_id: "s2", at });
  const check = async (ann: number, bob: number) => {
    for (const per of ["hour", "day", "week", "month", "lifetime"]) {
      const spentBy = async (named: object) =>
        (await add(purser, { name: "S", limit_usd: 9, per, ...named })).spent_usd;
      const spent = [
        await spentBy({}),
        await spentBy({ agent_id: "ann" }),
        await spentBy({ session_id: "s2" }),
      ];
      assert.deepEqual(spent, [ann + bob, ann, bob], per);
      assert.equal(await spentBy({ agent_id: "cleo" }), 0, per);
    }
  };
  await spend(purser, 3, { agent_id: "ann", session_id: "s1", at });
  await spend(purser, 3, { agent_id: "bob", session_id: "s2", at });
  await check(4, 5);
  const rule = { name: "R", threshold_type: "per_day_usd", threshold_usd: 99, severity: "info" };
  assert.equal((await purser.api("POST", "/alerts/rules", rule)).status, 201); // advances the counters
  await check(4, 5);
  await spend(purser, 1, { agent_id: "ann", session_id: "s1", at });
  await check(5, 5);
});

Deno.test("a budget with many counters shows the one with the most spending", async () => {
  await using purser = await openTestPurser();
  const stateOf = async (budget: object) => {
    const { spent_usd, counter } = await add(purser, { name: "E", limit_usd: 9, ...budget });
    return [spent_usd, counter];
  };
  const all = [{ per: "run" }, { per: "session" }, { per: "day", each: "agent" }, {
    per: "day",
    each: "key",
  }];
  for (const budget of all) assert.deepEqual(await stateOf(budget), [0, null]);
  const yesterday = { at: "2026-10-31T12:00:00Z" };
  await spend(purser, 1, { agent_id: "ann", session_id: "s1", run_id: "r1" });
  await spend(purser, 3, { agent_id: "ann", session_id: "s1", run_id: "r2" });
  await spend(purser, 2, { agent_id: "bob", session_id: "s2", run_id: "r3" });
  await spend(purser, 9, { agent_id: "bob", session_id: "s2", run_id: "r3", ...yesterday });

  assert.deepEqual(await stateOf({ per: "run" }), [11, { kind: "run", id: "r3", session_id: "s2" }]);
  assert.deepEqual(await stateOf({ per: "run", agent_id: "ann" }), [3, {
    kind: "run",
    id: "r2",
    session_id: "s1",
  }]);
  assert.deepEqual(await stateOf({ per: "session" }), [11, { kind: "session", id: "s2" }]);
  assert.deepEqual(await stateOf({ per: "session", session_id: "s1" }), [4, undefined]);
  assert.deepEqual(await stateOf({ per: "day", each: "session" }), [4, { kind: "session", id: "s1" }]);
  assert.deepEqual(await stateOf({ per: "day", agent_id: "bob", each: "session" }), [2, {
    kind: "session",
    id: "s2",
  }]);
  assert.deepEqual(await stateOf({ per: "day", each: "agent" }), [4, { kind: "agent", id: "ann" }]);
  const ann = { kind: "agent", id: "ann" };
  const bob = { kind: "agent", id: "bob" };
  const largest = { hour: [0, null], week: [11, bob], month: [4, ann], lifetime: [11, bob] };
  for (const [per, expected] of Object.entries(largest)) {
    assert.deepEqual(await stateOf({ per, each: "agent" }), expected, per);
  }
  await add(purser, { name: "Ann", limit_usd: 20, per: "day", agent_id: "ann" });
  const aside = await stateOf({ per: "day", each: "agent" });
  assert.deepEqual(aside, [2, bob], "a budget of its own takes the place of each");
});

Deno.test("a run or session of a named agent is found behind any number of others'", async () => {
  await using purser = await openTestPurser();
  assert.equal((await purser.api("PUT", "/agents/quiet", { model: "demo:echo" })).status, 201);
  const input = { input: "Hi", session_id: "old" };
  const { body: { run_id } } = await purser.api("POST", "/agents/quiet/runs", input);
  purser.clock.advance(60_000);
  const at = "2026-11-01T12:00:30.000Z";
  for (let part = 0; part < 2; part++) {
    const calls = Array.from({ length: 600 }, (_, index) => ({
      ...{ ...EVENT, call_id: `loud-${part}-${index}`, at, cost_usd: 1 },
      ...{ session_id: `s-${part}-${index}`, run_id: `r-${part}-${index}` },
    }));
    assert.equal((await purser.api("POST", "/costs/events", calls)).status, 201);
  }
  const counterOf = async (budget: object) =>
    (await add(purser, { name: "Q", limit_usd: 1, ...budget })).counter;
  const run = { kind: "run", id: run_id, session_id: "old" };
  assert.deepEqual(await counterOf({ per: "run", agent_id: "quiet" }), run);
  const session = { kind: "session", id: "old" };
  assert.deepEqual(await counterOf({ per: "session", agent_id: "quiet" }), session);
  assert.deepEqual(await counterOf({ per: "day", agent_id: "quiet", each: "session" }), session);
});

Deno.test("a budget and its counters say how many calls have no price", async () => {
  await using purser = await openTestPurser();
  const unpriced = { provider: "unheard", model: "such", session_id: "s", run_id: "r" };
  await spend(purser, undefined, unpriced);
  await spend(purser, undefined, { ...unpriced, at: "2026-10-31T12:00:00Z" });
  await spend(purser, 1, { session_id: "s", run_id: "r" });
  const counts = { hour: undefined, day: 1, week: 2, month: 1, lifetime: 2, run: 2, session: 2 };
  for (const [per, count] of Object.entries(counts)) {
    const budget = { name: "U", limit_usd: 9, per };
    for (const allow_unpriced of [true, false]) {
      assert.equal((await add(purser, { ...budget, allow_unpriced })).unpriced_calls, count, per);
    }
  }
  const ofSession = { name: "U", limit_usd: 9, allow_unpriced: true, session_id: "s" };
  assert.equal((await add(purser, { ...ofSession, per: "day" })).unpriced_calls, 1);
  const ofAgent = { name: "U", limit_usd: 9, allow_unpriced: true, agent_id: "elsewhere" };
  assert.equal((await add(purser, { ...ofAgent, per: "week" })).unpriced_calls, 2);
  assert.equal((await add(purser, { ...ofAgent, agent_id: "other", per: "week" })).unpriced_calls, undefined);
  await spend(purser, undefined, { ...unpriced, session_id: "t", tags: { user: "eve" } });
  for (const each of ["session", "tag:user"]) {
    const { budget_id } = await add(purser, { name: "U", limit_usd: 9, per: "day", each });
    const { body } = await purser.api("GET", `${BUDGETS}/${budget_id}/counters`);
    assert.deepEqual(
      body.map((counter: Record<string, unknown>) => [counter.id, counter.spent_usd, counter.unpriced_calls]),
      [[each === "session" ? "t" : "eve", 0, 1]], // a budget of its own counts session s
    );
  }
});

Deno.test("a budget of a key, or whose counter is one, has the key's name", async () => {
  await using purser = await openTestPurser();
  const admin = { name: "ops", scopes: ["admin"] as const, agentId: null, expiresAt: null };
  const { key_id } = await createKey(purser.core, admin);
  const nameOf = async (more: object) => {
    const budget = { name: "K", limit_usd: 9, per: "day", ...more };
    const { status, body } = await purser.api("POST", "/budgets", budget);
    assert.equal(status, 201, JSON.stringify(body));
    return [body.counter, body.key_name];
  };
  assert.deepEqual(await nameOf({ each: "key" }), [null, undefined]);
  const call = modelCall({ callId: "k", at: purser.clock.now(), keyId: key_id, costNanoUsd: 1_000_000_000n });
  await purser.core.store.write(recordCalls([call]));
  assert.deepEqual(await nameOf({ each: "key" }), [{ kind: "key", id: key_id }, "ops"]);
  assert.deepEqual(await nameOf({ key_id }), [undefined, "ops"]);
  assert.deepEqual(await nameOf({}), [undefined, undefined]);
});
