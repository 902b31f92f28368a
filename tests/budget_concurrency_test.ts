import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { BudgetExceededError } from "../src/kernel/errors.ts";
import { toUsd } from "../src/kernel/money.ts";
import { checkAllFree, costOf, RUN, settings } from "./harness/budget_settings.ts";
import { turns } from "./harness/fake_model.ts";
import { openMetered } from "./harness/metered_budget.ts";
import { readRunCost } from "./harness/run_cost.ts";

/** Budgets of a run under 64 calls at once, for any order of their ends. */

for (const { name, ignore, create, numRuns } of settings) {
  Deno.test({
    name: `${name}: 64 concurrent strict calls never cost more than the budget, whatever their outcome`,
    ignore,
    fn: () =>
      fc.assert(
        fc.asyncProperty(
          fc.bigInt({ min: 0n, max: 30_000_000n }),
          fc.array(
            fc.record({
              fate: fc.constantFrom("answer", "answer", "answer", "fail", "cancel", "cancel early"),
              maxOutputTokens: fc.integer({ min: 1, max: 1_000 }),
              share: fc.double({ min: 0, max: 1, noNaN: true }),
              delay: fc.nat({ max: 4 }),
            }),
            { minLength: 64, maxLength: 64 },
          ),
          async (limit, plans) => {
            await using database = await create();
            let settled = 0n;
            let inFlight = 0n;
            const metered = await openMetered(database, {
              limit,
              mode: "strict",
              async answer(options) {
                const plan = plans[Number((options.prompt[0]!.content[0] as { text: string }).text)]!;
                const bound = new TextEncoder().encode(JSON.stringify([options.prompt, []])).length;
                assert.ok(options.maxOutputTokens! >= 1 && options.maxOutputTokens! <= plan.maxOutputTokens);
                const most = costOf({ inputTokens: bound, outputTokens: options.maxOutputTokens! });
                inFlight += most;
                assert.ok(settled + inFlight <= limit, "calls in flight could overshoot");
                try {
                  await turns(plan.delay, options.abortSignal);
                  if (plan.fate === "fail") throw new Error("overloaded");
                  const answer = {
                    inputTokens: Math.floor(bound * plan.share),
                    outputTokens: Math.ceil(options.maxOutputTokens! * plan.share),
                  };
                  settled += costOf(answer);
                  return answer;
                } finally {
                  inFlight -= most;
                }
              },
            });
            const outcomes = await Promise.allSettled(plans.map(async (plan, index) => {
              const controller = new AbortController();
              const call = metered.call({
                text: String(index),
                maxOutputTokens: plan.maxOutputTokens,
                abortSignal: controller.signal,
              });
              if (plan.fate === "cancel early") controller.abort();
              if (plan.fate === "cancel") turns(plan.delay).then(() => controller.abort());
              return await call;
            }));
            for (const outcome of outcomes) {
              if (outcome.status === "fulfilled") continue;
              const { reason } = outcome;
              assert.ok(
                reason instanceof BudgetExceededError || reason.name === "AbortError" ||
                  reason.message === "overloaded",
                String(reason),
              );
            }
            const cost = await readRunCost(metered.ctx.store, RUN);
            // Calls that were cancelled in flight are booked as estimates: the provider reported no usage for them.
            if (plans.every(({ fate }) => !fate.startsWith("cancel"))) assert.equal(cost, settled);
            assert.ok(cost >= settled, `${cost}, but answers cost ${settled}`);
            assert.ok(cost <= limit, `${cost} of ${limit}`);
            await checkAllFree(metered.ctx, limit);
          },
        ),
        { numRuns },
      ),
  });

  Deno.test({
    name: `${name}: of 64 concurrent calls under a stop budget none is refused before it is reached`,
    ignore,
    fn: () =>
      fc.assert(
        fc.asyncProperty(
          fc.bigInt({ min: 1n, max: 2_000_000n }),
          fc.array(
            fc.record({ tokens: fc.nat({ max: 40 }), delay: fc.nat({ max: 3 }), isFailing: fc.boolean() }),
            {
              minLength: 64,
              maxLength: 64,
            },
          ),
          async (limit, plans) => {
            await using database = await create();
            const metered = await openMetered(database, {
              limit,
              mode: "stop",
              async answer(_options, number) {
                const plan = plans[number]!;
                await turns(plan.delay);
                if (plan.isFailing) throw new Error("overloaded");
                return { inputTokens: plan.tokens, outputTokens: plan.tokens };
              },
            });
            const outcomes = await Promise.allSettled(plans.map(() => metered.call()));
            for (const outcome of outcomes) {
              if (outcome.status === "fulfilled" || !(outcome.reason instanceof BudgetExceededError)) {
                continue;
              }
              assert.ok(outcome.reason.details.cost_usd_so_far >= toUsd(limit));
            }
            const made = metered.calls();
            const refused = outcomes.filter((outcome) =>
              outcome.status === "rejected" && outcome.reason instanceof BudgetExceededError
            ).length;
            assert.equal(made + refused, 64);
            if (refused > 0) {
              assert.ok(await readRunCost(metered.ctx.store, RUN) >= limit);
            }
            await checkAllFree(metered.ctx, limit);
          },
        ),
        { numRuns },
      ),
  });
}
