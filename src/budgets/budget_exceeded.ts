import { BudgetExceededError } from "../kernel/errors.ts";
import { formatUsd, type NanoUsd, toUsd } from "../kernel/money.ts";
import type { Budget, RefusalReason } from "./decide_call.ts";

/** The error for a call that the budget does not allow, with a sentence that says why. */
export function budgetExceeded(
  runId: string,
  budget: Budget,
  refusal: { reason: RefusalReason; settledNanoUsd: NanoUsd; because?: string },
): BudgetExceededError {
  const spent = formatUsd(refusal.settledNanoUsd);
  const limit = formatUsd(budget.limitNanoUsd);
  const why = {
    spent: `it has cost $${spent} and its budget is $${limit}`,
    would_overshoot:
      `it has cost $${spent}, and the next call might cost more than is left of its strict budget of $${limit}`,
    unbounded: `its strict budget of $${limit} needs a call whose cost is bounded, and ${
      refusal.because ?? "this one is not"
    }`,
    unpriced: `its strict budget of $${limit} needs a model with a known price`,
  }[refusal.reason];
  return new BudgetExceededError(`Cannot make the next model call of run ${runId}: ${why}`, {
    cost_usd_so_far: toUsd(refusal.settledNanoUsd),
    budget_usd: toUsd(budget.limitNanoUsd),
  });
}
