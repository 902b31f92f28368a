import type { Budget } from "../../budgets/mod.ts";
import { BudgetExceededError } from "../../kernel/errors.ts";
import type { ModelCall } from "../../ledger/mod.ts";
import type { Log } from "../../kernel/log.ts";
import { formatUsd, type NanoUsd, toUsd } from "../../kernel/money.ts";

/** Logs a strict call that cost more than its bound, and returns the payload for the event log. */
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

/** Returns the error for the next call after an overshoot: the bound that the budget relied on was wrong. */
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
