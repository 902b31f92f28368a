import type { Budget } from "../../budgets/mod.ts";
import { BudgetExceededError } from "../../kernel/errors.ts";
import type { ModelCall } from "../../ledger/mod.ts";
import type { Log } from "../../kernel/log.ts";
import { formatUsd, type NanoUsd, toUsd } from "../../kernel/money.ts";

/** Warns of a strict call that cost more than its bound, and returns what the event log keeps of it. */
export function warnOfOvershoot(
  { log }: { log: Log },
  call: ModelCall,
  reservedNanoUsd: bigint,
): Record<string, unknown> {
  const payload = {
    call_id: call.callId,
    bound_usd: formatUsd(reservedNanoUsd),
    cost_usd: formatUsd(call.costNanoUsd ?? 0n),
  };
  log.warn("A provider reported more than a strict call was bounded to", payload);
  return payload;
}

/** The error for the call after such a one: what the budget relied on has turned out wrong. */
export function overshotBudget(
  runId: string,
  budget: Budget,
  settledNanoUsd: NanoUsd,
): BudgetExceededError {
  return new BudgetExceededError(
    `Cannot make the next model call of run ${runId}: a call cost more than its bound, so that its strict ` +
      `budget of $${formatUsd(budget.limitNanoUsd)} can't be kept; it has cost $${formatUsd(settledNanoUsd)}`,
    { cost_usd_so_far: toUsd(settledNanoUsd), budget_usd: toUsd(budget.limitNanoUsd) },
  );
}
