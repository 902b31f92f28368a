import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { bookLooseCalls } from "../src/calls/mod.ts";
import { BudgetExceededError } from "../src/kernel/errors.ts";
import { toUsd } from "../src/kernel/money.ts";
import { meter } from "../src/runner/mod.ts";
import { createBooking, type TestBooking } from "./harness/booking.ts";
import { checkAllFree, countReservations, kinds, kindsInTime, RUN } from "./harness/budget_settings.ts";
import { eagerClock } from "./harness/eager_clock.ts";
import { callOptions, fakeModel, turns } from "./harness/fake_model.ts";
import { modelCall } from "./harness/model_calls.ts";
import { readRunCost } from "./harness/run_cost.ts";
import { startStoreProcess } from "./harness/store_process.ts";
import { cases } from "./harness/thorough.ts";

for (
  const { name, ignore, create } of kindsInTime.filter(({ name }) => name === "sqld" || name === "postgres")
) {
  Deno.test({
    name: `${name}: two instances share a run's strict budget and never exceed it together`,
    ignore,
    fn: () =>
      fc.assert(
        fc.asyncProperty(
          fc.bigInt({ min: 0n, max: 20_000_000n }),
          fc.array(fc.integer({ min: 1, max: 800 }), { minLength: 40, maxLength: 40 }),
          async (limit, limits) => {
            await using database = await create();
            const models: ReturnType<typeof meter>[] = [];
            const contexts: TestBooking[] = [];
            for (let i = 0; i < 2; i++) {
              const ctx = await createBooking(await database.open());
              contexts.push(ctx);
              const fake = fakeModel(async ({ maxOutputTokens }, number) => {
                await turns(number % 3);
                return { inputTokens: 50, outputTokens: maxOutputTokens! };
              });
              models.push(meter(ctx, fake.model, {
                agentId: "agent",
                runId: RUN,
                provider: "local",
                costBudgetUsd: toUsd(limit),
                budgetMode: "strict",
              }));
            }
            const outcomes = await Promise.allSettled(limits.map(async (maxOutputTokens, i) =>
              await models[i % 2]!.doGenerate(callOptions("hello", { maxOutputTokens }))
            ));
            for (const outcome of outcomes) {
              assert.ok(outcome.status === "fulfilled" || outcome.reason instanceof BudgetExceededError);
            }
            assert.ok(await readRunCost(contexts[0]!.store, RUN) <= limit);
            await checkAllFree(contexts[1]!, limit);
          },
        ),
        { numRuns: cases(name === "sqld" ? 3 : 1) },
      ),
  });
}

for (const { name, ignore, create } of kindsInTime) {
  Deno.test({
    name:
      `${name}: calls that reserve in one commit can't overshoot a strict hour, which begins a millisecond apart for them`,
    ignore,
    async fn() {
      await using database = await create();
      const clock = eagerClock();
      const ctx = await createBooking(await database.open(), { clock });
      await ctx.store.write([{
        sql:
          `INSERT INTO budgets (budget_id, name, limit_nano_usd, per, scope, mode, action, warn_at, allow_unpriced,
          enabled, created_at, updated_at) VALUES ('bud_1', 'b', 100, 'hour', '', 'strict', 'refuse', '[]', 0, 1, 0, 0)`,
      }]);
      await ctx.budgets.refresh();
      let at = clock.now();
      clock.now = () => at++;
      const scopes = { runId: RUN, agentId: "agent", sessionId: null, keyId: null, budget: null };
      const bounds = { estimateNanoUsd: 45n, isUnpriced: false, worst: { costNanoUsd: 45n } };
      const admissions = await Promise.all(
        Array.from({ length: 8 }, () => ctx.gate.admit({ ...scopes, bound: () => bounds })),
      );
      assert.equal(admissions.filter(({ go }) => go).length, 2);
    },
  });
}

for (const { name, ignore, create } of kindsInTime) {
  Deno.test({
    name: `${name}: a budget warns at a share of its limit, rounded down to a nano-USD`,
    ignore,
    async fn() {
      await using database = await create();
      const ctx = await createBooking(await database.open());
      const limits = [58n, 59n, 9_223_372_036_854_775_807n];
      await ctx.store.write(limits.map((limit) => ({
        sql:
          `INSERT INTO budgets (budget_id, name, limit_nano_usd, per, scope, mode, action, warn_at, allow_unpriced,
          enabled, created_at, updated_at)
          VALUES (?, 'b', ?, 'day', '', 'stop', 'refuse', '[0.25, 0.5]', 0, 1, 0, 0)`,
        args: [`bud_${limit}`, limit],
      })));
      await ctx.budgets.refresh();
      await bookLooseCalls(ctx, [modelCall({ callId: "1", at: ctx.clock.now(), costNanoUsd: 14n })]);
      await bookLooseCalls(ctx, [modelCall({ callId: "2", at: ctx.clock.now(), costNanoUsd: 15n })]);
      const { rows } = await ctx.store.read({
        sql: "SELECT threshold_nano_usd, value_nano_usd, budget_limit_nano_usd FROM alerts ORDER BY 1, 2, 3",
      });
      assert.deepEqual(rows, [[14n, 14n, 58n], [14n, 14n, 59n], [29n, 29n, 58n], [29n, 29n, 59n]]);
    },
  });
}

for (const { name, create } of kinds.filter((kind) => kind.name === "file")) {
  Deno.test(`${name}: a strict call has the budget of a killed process at once, and waits for one that lives`, async () => {
    await using database = await create();
    const ctx = await createBooking(await database.open());
    const { rows } = await ctx.store.read({
      sql: "SELECT file FROM pragma_database_list WHERE name = 'main'",
    });
    const other = startStoreProcess({
      do: "hold_instance",
      path: rows[0]![0] as string,
      instanceId: "inst_other",
    });
    assert.equal(await other.next(), "held");
    // The reservation of its call in progress, which takes all of the budget for a minute.
    await ctx.store.write([{
      sql:
        `INSERT INTO reservations (scope, at, reservation_id, worst_nano_usd, estimate_nano_usd, expires_at)
        VALUES ('run ' || ?, ?, 'inst_other/req_1', 50000000, 50000000, unixepoch('subsec') * 1000 + 60000)`,
      args: [RUN, ctx.clock.now()],
    }]);
    const fake = fakeModel(() => Promise.resolve({ inputTokens: 50, outputTokens: 10 }));
    const model = meter(ctx, fake.model, {
      ...{ agentId: "agent", runId: RUN, provider: "local", costBudgetUsd: 0.05 },
      budgetMode: "strict",
    });
    let isMade = false;
    const call = model.doGenerate(callOptions("hello", { maxOutputTokens: 10 })).then(() => isMade = true);
    for (let looks = 0; looks < 20; looks++) await ctx.store.read({ sql: "SELECT 1" });
    assert.equal(isMade, false);
    await other.kill();
    await call;
    assert.equal(await countReservations(ctx.store), 0);
  });
}
