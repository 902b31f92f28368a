/**
 * A process that makes concurrent calls of one run through a metered model once its standard input closes: the other
 * processes are ready then too. It prints the number of calls made, and the number refused by the budget.
 */
import type { BudgetMode } from "../../src/contract/values.ts";
import { generateText } from "ai";
import { BudgetExceededError, openPurser } from "../../src/mod.ts";
import { fakeModel } from "../harness/fake_model.ts";

export const CALL = { inputTokens: 100, outputTokens: 50 };
/** At 1 and 4 USD per million tokens. */
export const CALL_NANO_USD = 300_000;

/** Works until it is told to end, or killed. */
export async function work(
  db: string,
  runId: string,
  budgetMode: string,
  limitNanoUsd: string,
  calls: string,
): Promise<void> {
  const { model } = fakeModel(() => Promise.resolve(CALL));
  const purser = await openPurser({
    db,
    env: {},
    prices: [{ provider: "local", model: "priced", input_usd_per_million: 1, output_usd_per_million: 4 }],
  });
  const costBudgetUsd = Number(limitNanoUsd) / 1e9;
  const metered = purser.meter(model, {
    agentId: "metered",
    runId,
    costBudgetUsd,
    budgetMode: budgetMode as BudgetMode,
  });
  console.log("ready");
  await new Response(Deno.stdin.readable).text();
  const prompt = "x".repeat(400); // estimated at the tokens that are counted
  const outcomes = await Promise.allSettled(
    Array.from(
      { length: Number(calls) },
      () => generateText({ model: metered, prompt, maxOutputTokens: CALL.outputTokens, maxRetries: 0 }),
    ),
  );
  const refused = outcomes.filter((outcome) => outcome.status === "rejected");
  for (const { reason } of refused) if (!(reason instanceof BudgetExceededError)) throw reason;
  await purser.close();
  console.log(JSON.stringify({ made: outcomes.length - refused.length, refused: refused.length }));
}
