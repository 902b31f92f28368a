import { GROUPINGS } from "../src/contract/values.ts";
import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { advanceCounters, createRule } from "../src/alerts/mod.ts";
import { bookCall, bookLooseCalls, rollUp } from "../src/calls/mod.ts";
import { fixedClock } from "../src/kernel/clock.ts";
import { listCosts, type ModelCall, rollUpTotals, sweepWindows } from "../src/ledger/mod.ts";
import { ConstraintError, type Store } from "../src/store/mod.ts";
import { adjustCall } from "./harness/adjust.ts";
import { beginRun, type TestBooking } from "./harness/booking.ts";
import { CONNECTIONS, openContexts } from "./harness/booking_contexts.ts";
import { checkBooks, checkTotals } from "./harness/check_books.ts";
import { type DatabaseKind, dialectKinds } from "./harness/databases.ts";
import { modelCall } from "./harness/model_calls.ts";

/** The number of random histories: PURSER_HISTORIES of each kind of database, or what the gate has time for. */
const historiesOf = (kind: DatabaseKind["name"]): number =>
  Number(Deno.env.get("PURSER_HISTORIES") ?? { file: 7, memory: 12, sqld: 3, postgres: 2 }[kind]);

const START = Date.parse("2028-02-28T22:30:00.000Z");
const MINUTE = 60_000;

const anyCall = fc.record({
  agent: fc.constantFrom("ann", "bob"),
  session: fc.constantFrom(null, "ses_1", "ses_2"),
  run: fc.constantFrom(null, "run_1", "run_2", "run_3"),
  key: fc.constantFrom(null, "key_1"),
  model: fc.constantFrom("small", "large"),
  cost: fc.constantFrom(null, 0n, 1n, 7n, 999_999_999n, 1_000_000_001n, 2n ** 63n - 1n),
  isEstimated: fc.boolean(),
  // Few times, so that calls share them; future and past ones among them.
  lateMs: fc.constantFrom(0, 0, 0, 1, MINUTE, 59 * MINUTE, 25 * 60 * MINUTE, 50 * 60 * MINUTE, -MINUTE),
});

const anyStep = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      does: fc.constant("book" as const),
      calls: fc.array(anyCall, { minLength: 1, maxLength: 5 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ does: fc.constant("step" as const), call: anyCall }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant("repeat" as const), nth: fc.nat(20) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      does: fc.constant("adjust" as const),
      nth: fc.nat(20),
      cost: fc.constantFrom(-1n, -(10n ** 10n), 3n),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ does: fc.constant("roll up" as const), calls: fc.constantFrom(1, 2, 3, 5_000) }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constant("decide" as const) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant("roll up all" as const) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant("sweep" as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      does: fc.constant("rule" as const),
      type: fc.constantFrom("per_run_usd" as const, "per_day_usd" as const),
    }),
  },
  { weight: 3, arbitrary: fc.record({ does: fc.constant("read" as const) }) },
);

/** The actions of connections, one after the other; actions of one round run concurrently. */
const anyHistory = fc.array(
  fc.record({
    advanceMs: fc.constantFrom(0, 0, 1, MINUTE, 61 * MINUTE, 26 * 60 * MINUTE),
    steps: fc.array(fc.record({ by: fc.nat(CONNECTIONS - 1), step: anyStep }), {
      minLength: 1,
      maxLength: 6,
    }),
  }),
  { minLength: 1, maxLength: 8 },
);

const call = (cost: bigint) => ({
  ...{
    agent: "ann",
    session: null,
    run: null,
    key: null,
    model: "small",
    isEstimated: false,
    lateMs: 0,
    cost,
  } as const,
});
const rounds = (...steps: Round["steps"][number]["step"][]): Round[] =>
  steps.map((step) => ({ advanceMs: 0, steps: [{ by: 0, step }] }));

/** The calls of a day of a rule cost more together than 64 bits can hold. */
const BEYOND_64_BITS = rounds(
  { does: "book", calls: [call(1n), call(1n)] },
  { does: "roll up all" },
  { does: "book", calls: [call(2n ** 63n - 1n), call(2n ** 63n - 1n)] },
  { does: "rule", type: "per_day_usd" },
  ...[{ does: "roll up", calls: 1 }, { does: "roll up", calls: 1 }, { does: "roll up all" }] as const,
);

type Round = typeof anyHistory extends fc.Arbitrary<(infer T)[]> ? T : never;

for (const kind of dialectKinds()) {
  const { name, ignore } = kind;

  Deno.test({
    name:
      `${name}: a reader never sees a total that is not the sum of the ledger, for any concurrent actions`,
    ignore,
    fn: () =>
      fc.assert(
        fc.asyncProperty(anyHistory, async (history) => {
          await using database = await kind.create();
          const clock = fixedClock(START);
          const contexts = await openContexts(kind, database, clock);
          await goThrough(contexts, clock, history);
        }),
        { numRuns: historiesOf(name), endOnFailure: true, examples: [[BEYOND_64_BITS]] },
      ),
  });
}

async function goThrough(
  contexts: readonly TestBooking[],
  clock: ReturnType<typeof fixedClock>,
  history: readonly Round[],
): Promise<void> {
  let number = 0;
  const sent: ModelCall[] = [];
  const place = await beginRun(contexts[0]!, { sessionId: "ses_1", runId: "run_1", agentId: "ann" });
  const toCall = (
    { agent, session, run, key, model, cost, lateMs, isEstimated }: typeof anyCall extends
      fc.Arbitrary<infer T> ? T
      : never,
  ): ModelCall => {
    const call = modelCall({
      ...{
        callId: `call_${++number}`,
        at: clock.now() - lateMs,
        agentId: agent,
        sessionId: session,
        runId: run,
      },
      ...{ model, costNanoUsd: cost, keyId: key, isEstimated },
    });
    sent.push(call);
    return call;
  };
  const take = async (ctx: TestBooking, step: Round["steps"][number]["step"]): Promise<void> => {
    switch (step.does) {
      case "book":
        return await bookLooseCalls(ctx, step.calls.map(toCall));
      case "step": {
        const call = { ...toCall(step.call), ...place };
        const event = { type: "model.called" as const, at: call.at };
        const state = await bookCall(ctx, { run: place, call, progress: { events: [event], messages: [] } });
        return assert.equal(state.holdsSession, true);
      }
      case "repeat": {
        const known = sent[step.nth];
        if (!known) return;
        // Either of the two may be the first, if they run concurrently.
        return await bookLooseCalls(ctx, [known]).catch((error) =>
          assert.ok(error instanceof ConstraintError)
        );
      }
      case "adjust": {
        const known = sent[step.nth];
        if (!known) return;
        await ctx.store.write([adjustCall(`adj_${++number}`, known.callId, { costNanoUsd: step.cost })]);
        return;
      }
      case "roll up":
        return void await ctx.store.write(rollUpTotals(step.calls));
      case "decide":
        return void await ctx.store.write(advanceCounters(ctx));
      case "roll up all":
        return await rollUp(ctx);
      case "sweep":
        return await sweepWindows(ctx);
      case "rule":
        return void await createRule(ctx, {
          ...{ name: "r", threshold_type: step.type, severity: "info", threshold_usd: 1 },
        });
      case "read":
        return await checkTotals(ctx.store);
    }
  };
  for (const [round, { advanceMs, steps }] of history.entries()) {
    clock.advance(advanceMs);
    const before = sent.length;
    await Promise.all(steps.map(async ({ by, step }) => {
      // The bookings of this round may be repeated in the next.
      if (step.does === "repeat" && step.nth >= before) return;
      await take(contexts[by]!, step);
    }));
    await checkTotals(contexts[round % CONNECTIONS]!.store);
  }
  const { store } = contexts.at(-1)!;
  const ledger = await checkBooks(store);
  assert.deepEqual(ledger, new Set(sent.map(({ callId }) => callId)));
  const groups = () =>
    Promise.all(GROUPINGS.map((groupBy) => listCosts(store, { groupBy, limit: 100, offset: 0 })));
  const withTail = await groups();
  await rollUp(contexts[0]!);
  assert.deepEqual(await groups(), withTail);
  const end = sent.length === 0
    ? 0
    : Number((await store.read({ sql: "SELECT max(position) FROM calls" })).rows[0]![0]);
  assert.deepEqual(await positionsOf(store), { totals: end, decisions: end });
  await checkTotals(store);
}

async function positionsOf(store: Store): Promise<{ totals: number; decisions: number }> {
  const { rows } = await store.read({ sql: "SELECT name, position FROM rollup_positions" });
  return Object.fromEntries(rows.map(([name, position]) => [name, Number(position)])) as never;
}
