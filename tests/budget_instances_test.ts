import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { BudgetExceededError } from "../src/kernel/errors.ts";
import { toUsd } from "../src/kernel/money.ts";
import { meter } from "../src/runner/mod.ts";
import { createBooking, type TestBooking } from "./harness/booking.ts";
import { checkAllFree, kinds, RUN } from "./harness/budget_settings.ts";
import { callOptions, fakeModel, turns } from "./harness/fake_model.ts";
import { readRunCost } from "./harness/run_cost.ts";

for (const { name, ignore, create } of kinds.filter((kind) => kind.name === "sqld")) {
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
        { numRuns: 3 },
      ),
  });
}
