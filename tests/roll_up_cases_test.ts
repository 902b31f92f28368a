import { GROUPINGS, THRESHOLD_TYPES } from "../src/contract/values.ts";
import assert from "node:assert/strict";
import { advanceCounters, createRule, removeRule, updateRule } from "../src/alerts/mod.ts";
import { readRuleValues } from "./harness/rule_values.ts";
import { bookLooseCalls, rollUp } from "../src/calls/mod.ts";
import { fixedClock } from "../src/kernel/clock.ts";
import {
  listCosts,
  readAgentUsage,
  readRunUsage,
  readSessionUsage,
  recordCalls,
  rollUpTotals,
} from "../src/ledger/mod.ts";
import { toUsd } from "../src/kernel/money.ts";
import { readOwners } from "../src/sessions/mod.ts";
import type { Statement, Store } from "../src/store/mod.ts";
import { adjustCall } from "./harness/adjust.ts";
import type { TestBooking } from "./harness/booking.ts";
import { CONNECTIONS, openContexts } from "./harness/booking_contexts.ts";
import { checkBooks, checkTotals } from "./harness/check_books.ts";
import { dialectKinds } from "./harness/databases.ts";
import { modelCall } from "./harness/model_calls.ts";
import { readRunCost } from "./harness/run_cost.ts";

/** Roll-ups case by case; `roll_up_test.ts` has them in any history. */

const START = Date.parse("2028-02-28T22:30:00.000Z");

const MINUTE = 60_000;

async function positionsOf(store: Store): Promise<{ totals: number; decisions: number }> {
  const { rows } = await store.read({ sql: "SELECT name, position FROM rollup_positions" });
  return Object.fromEntries(rows.map(([name, position]) => [name, Number(position)])) as never;
}

async function alertsOf(store: Store): Promise<unknown[][]> {
  return (await store.read({ sql: "SELECT run_id, value_nano_usd FROM alerts ORDER BY position" })).rows;
}

for (const kind of dialectKinds()) {
  const { name, ignore } = kind;

  const test = (
    sentence: string,
    body: (contexts: TestBooking[], clock: ReturnType<typeof fixedClock>) => Promise<void>,
  ): void => {
    Deno.test({
      name: `${name}: ${sentence}`,
      ignore,
      async fn() {
        await using database = await kind.create();
        const clock = fixedClock(START);
        await body(await openContexts(kind, database, clock), clock);
      },
    });
  };

  test("several connections that roll up at once move the position once for each call", async (contexts) => {
    const calls = Array.from(
      { length: 100 },
      (_, i) =>
        modelCall({
          callId: `call_${i}`,
          at: START - i * MINUTE,
          runId: `run_${i % 3}`,
          sessionId: "ses",
          costNanoUsd: 1n,
        }),
    );
    await bookLooseCalls(contexts[0]!, calls);
    assert.deepEqual(await positionsOf(contexts[0]!.store), { totals: 0, decisions: 0 });
    const positions: number[] = [];
    await Promise.all(contexts.map(async ({ store }) => {
      for (let i = 0; i < 5; i++) {
        const results = await store.write([
          ...rollUpTotals(7),
          { sql: "SELECT position FROM rollup_positions WHERE name = 'totals'" },
        ]);
        positions.push(Number(results.at(-1)!.rows[0]![0]));
        await checkTotals(store);
      }
    }));
    // Fifteen times seven calls, up to the last of a hundred.
    assert.deepEqual(
      positions.sort((a, b) => a - b),
      Array.from({ length: 15 }, (_, i) => Math.min(7 * (i + 1), 100)),
    );
    await Promise.all(contexts.map((ctx) => rollUp(ctx)));
    assert.deepEqual(await positionsOf(contexts[1]!.store), { totals: 100, decisions: 100 });
    assert.equal((await readRunUsage(contexts[2]!.store, "run_0")).cost_usd, toUsd(34n));
    await checkTotals(contexts[2]!.store);
  });

  test("a long tail is rolled up by the process that books", async ([ctx]) => {
    for (let i = 0; i < 6; i++) {
      await bookLooseCalls(
        ctx!,
        Array.from({ length: 100 }, (_, n) => modelCall({ callId: `${i} ${n}`, at: START })),
      );
    }
    for (let i = 0; i < 3_000; i++) {
      const { totals, decisions } = await positionsOf(ctx!.store);
      if (totals > 0 && decisions > 0) break;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    assert.deepEqual(await positionsOf(ctx!.store), { totals: 600, decisions: 600 });
    assert.deepEqual(ctx!.errors, []);
    await checkTotals(ctx!.store);
  });

  test(
    "a rule of another process is evaluated for the calls of a process that has not read it",
    async (contexts, clock) => {
      const [knowing, unaware] = contexts as [TestBooking, TestBooking];
      const call = (callId: string, cost: bigint, ctx: TestBooking) =>
        bookLooseCalls(ctx, [
          modelCall({ callId, at: clock.now(), runId: "run_1", costNanoUsd: cost }),
        ]);
      await call("before", 400n, unaware);
      await createRule(knowing, {
        ...{ name: "r", threshold_type: "per_run_usd", severity: "info", cooldown_seconds: 0 },
        threshold_usd: 0.000001,
      });
      unaware.rules.mayExist = false; // as it is in another process
      await call("below", 500n, unaware);
      assert.deepEqual(await alertsOf(unaware.store), []);
      assert.equal(unaware.rules.mayExist, true);
      unaware.rules.mayExist = false;
      await call("at", 100n, unaware);
      // Evaluated by the time that the booking resolves, by any of the processes.
      assert.deepEqual(await alertsOf(unaware.store), [["run_1", 1_000n]]);
      unaware.rules.mayExist = false;
      await Promise.all([call("past 1", 1n, unaware), call("past 2", 1n, knowing)]);
      assert.deepEqual(
        await alertsOf(unaware.store),
        [1_000n, 1_001n, 1_002n].map((value) => ["run_1", value]),
      );
      await checkTotals(unaware.store);
    },
  );

  test(
    "a change of rules evaluates the calls before it by the old rules, and publishes what fires",
    async (contexts, clock) => {
      const [ctx, other] = contexts as [TestBooking, TestBooking];
      const rule = { name: "r", severity: "info", threshold_usd: 0.000000001, cooldown_seconds: 0 } as const;
      const { rule_id } = await createRule(ctx, { ...rule, threshold_type: "per_run_usd" });
      const woken: string[] = [];
      const changing = { ...ctx, wakeDispatcher: (ids: readonly string[]) => void woken.push(...ids) };
      let booked = 0;
      // As by a process that ended right after its commit, and had not read the rule.
      const book = () => {
        const runId = `run_${++booked}`;
        return other.store.write(
          recordCalls([modelCall({ callId: runId, at: clock.now(), runId, costNanoUsd: 1n })]),
        );
      };
      const changes = [
        () => createRule(changing, { ...rule, threshold_type: "per_session_usd" }),
        () => updateRule(changing, rule_id, { enabled: false }),
        () => updateRule(changing, rule_id, { enabled: true }), // which fires nothing by itself
        () => removeRule(changing, rule_id),
      ];
      for (const change of changes) {
        await book();
        await change();
      }
      await book();
      await rollUp(changing);
      const fired = ["run_1", "run_2", "run_4"];
      assert.deepEqual(await alertsOf(ctx.store), fired.map((runId) => [runId, 1n]));
      assert.equal(woken.length, 3);
      const announced = () =>
        ctx.published.filter(({ type }) => type === "alert.triggered").map(({ run_id }) => run_id);
      for (let i = 0; i < 6_000 && announced().length < 3; i++) {
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      assert.deepEqual(announced(), fired);
    },
  );

  test(
    "calls of many concurrent bookings are evaluated one by one, in the order of the ledger",
    async (contexts, clock) => {
      await createRule(contexts[0]!, {
        ...{ name: "r", threshold_type: "per_run_usd", severity: "info", cooldown_seconds: 0 },
        threshold_usd: 0.00000002,
      });
      await Promise.all(Array.from({ length: 60 }, (_, i) => {
        const ctx = contexts[i % CONNECTIONS]!;
        if (i % 4 === 0) ctx.rules.mayExist = false;
        const calls = Array.from({ length: 1 + i % 3 }, (_, n) =>
          modelCall({
            callId: `${i} ${n}`,
            at: clock.now(),
            runId: `run_${i % 5}`,
            costNanoUsd: BigInt(1 + n),
          }));
        return bookLooseCalls(ctx, calls);
      }));
      const spent = new Map<string, bigint>();
      const expected: [string, bigint][] = [];
      const { rows } = await contexts[0]!.store.read({
        sql: "SELECT run_id, cost_nano_usd FROM calls ORDER BY position",
      });
      for (const [runId, cost] of rows as [string, bigint][]) {
        const sum = (spent.get(runId) ?? 0n) + cost;
        spent.set(runId, sum);
        if (sum >= 20n) {
          expected.push([runId, sum]);
        }
      }
      assert.ok(expected.length > 20);
      assert.deepEqual(await alertsOf(contexts[0]!.store), expected);
      assert.equal((await positionsOf(contexts[0]!.store)).decisions, 120);
    },
  );

  test("an adjustment flows into totals and counters, signed, and fires no rule", async (contexts, clock) => {
    const ctx = contexts[0]!;
    const { store } = ctx;
    await createRule(ctx, {
      ...{ name: "r", threshold_type: "per_run_usd", severity: "info", cooldown_seconds: 0 },
      threshold_usd: 0.000001,
    });
    const call = (callId: string, costNanoUsd: bigint | null) =>
      bookLooseCalls(ctx, [
        modelCall({ callId, at: clock.now(), runId: "run", sessionId: "ses", costNanoUsd, keyId: "key" }),
      ]);
    await call("a", 900n);
    await call("unpriced", null);
    const listed = async () =>
      await Promise.all(
        GROUPINGS.map(async (groupBy) => (await listCosts(store, { groupBy, limit: 9, offset: 0 }))[0]!),
      );
    const expectTotals = async (nano: bigint, unpriced: number) => {
      for (const isRolledUp of [false, true]) {
        if (isRolledUp) await rollUp(ctx);
        for (const row of await listed()) {
          assert.deepEqual([row.model_calls, row.unpriced_calls, row.cost_usd], [2, unpriced, toUsd(nano)]);
        }
        const usage = (await readSessionUsage(store, ["ses"])).get("ses")!;
        assert.deepEqual([usage.model_calls, usage.cost_usd, usage.input_tokens], [2, toUsd(nano), 20]);
        assert.equal(await readRunCost(store, "run"), nano);
        await checkTotals(store);
      }
    };
    await expectTotals(900n, 1);
    // More than the threshold, by an entry that is no call; then below zero, and back.
    await store.write([adjustCall("adj_1", "unpriced", { costNanoUsd: 5_000n, unpriced: -1 })]);
    await expectTotals(5_900n, 0);
    await store.write([adjustCall("adj_2", "a", { costNanoUsd: -7_000_000_000n })]);
    await expectTotals(-6_999_994_100n, 0);
    await store.write([adjustCall("adj_3", "a", { costNanoUsd: 6_999_999_000n })]);
    await expectTotals(4_900n, 0);
    assert.deepEqual(await alertsOf(store), []);
    // The next call is measured with all of it.
    await bookLooseCalls(ctx, [modelCall({ callId: "b", at: clock.now(), runId: "run", costNanoUsd: 1n })]);
    assert.deepEqual(await alertsOf(store), [["run", 4_901n]]);
    await checkBooks(store);
  });

  test("reading some runs, sessions and rules never scans a whole rollup or the ledger", async ([ctx]) => {
    if (ctx!.store.engine === "postgres") return; // its planner scans small tables
    const asked: Statement[] = [];
    const read: Store["read"] = (statement) => {
      asked.push(statement);
      return ctx!.store.read(statement);
    };
    const store = { kind: ctx!.store.kind, read, readLong: read } as Store;
    await readRunUsage(store, "run");
    await readSessionUsage(store, ["ses_1", "ses_2"]);
    await readAgentUsage(store, "ann");
    await readRunCost(store, "run");
    await readOwners({ store }, { sessionIds: ["ses_1"], runIds: ["run_1"], callIds: ["a"] });
    const rules = THRESHOLD_TYPES.flatMap((thresholdType) =>
      ["", "ann"].map((scope) => ({ thresholdType, scope }))
    );
    await readRuleValues({ store, clock: ctx!.clock }, rules);
    for (const groupBy of ["session", "run"] as const) {
      await listCosts(store, { groupBy, limit: 10, offset: 0 });
    }
    assert.equal(asked.length, 8);
    for (const { sql, args } of asked) {
      const { rows } = await ctx!.store.read({ sql: `EXPLAIN QUERY PLAN ${sql}`, args });
      const lines = rows.map((row) => String(row.at(-1)));
      assert.ok(lines.some((line) => /^SEARCH/.test(line)), sql);
      // In the order of its index a rollup is read as far as a page needs it.
      const whole = lines.filter((line) =>
        /^SCAN (usage_|calls|c\b|u\b|x\b|spend_counters|k\b|events|runs|sessions)/.test(line) &&
        !/_latest$/.test(line)
      );
      assert.deepEqual(whole, [], sql);
      for (const line of lines) assert.doesNotMatch(line, /AUTOMATIC.*INDEX \((run|session)_id=/, sql);
    }
  });

  test("the agent of a run and session known by calls alone does not depend on roll-ups", async (contexts) => {
    const ctx = contexts[0]!;
    // Booked first by bob, made first by ann; and one by ann that bob has joined at the same time.
    const calls = [
      modelCall({ callId: "a", at: START, agentId: "bob", sessionId: "ses_1", runId: "run_1" }),
      modelCall({ callId: "b", at: START - 1, agentId: "ann", sessionId: "ses_1", runId: "run_1" }),
      modelCall({ callId: "c", at: START, agentId: "ann", sessionId: "ses_2", runId: "run_2" }),
      modelCall({ callId: "d", at: START, agentId: "bob", sessionId: "ses_2", runId: "run_2" }),
    ];
    for (const call of calls) {
      await bookLooseCalls(ctx, [call]);
      await ctx.store.write(rollUpTotals(1));
    }
    await bookLooseCalls(
      ctx,
      calls.map((call) => ({ ...call, callId: `${call.callId} again`, at: START + 1 })),
    );
    const ids = {
      sessionIds: ["ses_1", "ses_2", "ses_new"],
      runIds: ["run_2", "run_1", "run_new"],
      callIds: ["a", "b again", "new"],
    };
    for (let i = 0; i < 5; i++) {
      const owners = (await readOwners(ctx, ids)).map(({ kind, id, agentId }) => [kind, id, agentId]);
      assert.deepEqual(owners, [
        ["session", "ses_1", "ann"],
        ["session", "ses_2", "ann"],
        ["session", "ses_new", null],
        ["run", "run_2", "ann"],
        ["run", "run_1", "ann"],
        ["run", "run_new", null],
        ["call", "a", "bob"],
        ["call", "b again", "ann"],
        ["call", "new", null],
      ]);
      await ctx.store.write(rollUpTotals(1));
    }
  });

  test(
    "the latest run and session that a rule measures do not depend on roll-ups",
    async (contexts, clock) => {
      const ctx = contexts[0]!;
      const call = (callId: string, agoMs: number, agentId: string, id: number, costNanoUsd: bigint) =>
        modelCall({
          ...{
            callId,
            at: clock.now() - agoMs,
            agentId,
            runId: `run_${id}`,
            sessionId: `ses_${id}`,
            costNanoUsd,
          },
        });
      await bookLooseCalls(ctx, [
        call("a", 50, "ann", 1, 1n),
        call("b", 40, "bob", 2, 10n),
        call("c", 10, "ann", 1, 100n), // later, in a run that began before
        call("d", 30, "ann", 3, 1_000n),
        call("e", 20, "ann", 2, 10_000n), // in a run of bob's
      ]);
      const rules = (["per_run_usd", "per_session_usd"] as const).flatMap((thresholdType) =>
        ["", "ann", "bob", "cleo"].map((scope) => ({ thresholdType, scope }))
      );
      for (let i = 0; i < 7; i++) {
        const values = await readRuleValues(ctx, rules);
        assert.deepEqual(values.slice(0, 4), [1_000n, 1_000n, 10_010n, null], `${i} calls rolled up`);
        assert.deepEqual(values.slice(4), values.slice(0, 4));
        await ctx.store.write(i === 5 ? advanceCounters(ctx) : rollUpTotals(1));
      }
    },
  );
}
