import { formatUsd, type NanoUsd, toUsd } from "../kernel/money.ts";
import { outputTokensThatFit, worstCaseCost, type WorstCaseRates } from "../pricing/mod.ts";
import { BudgetExceededError } from "../kernel/errors.ts";

/** A limit on what the calls of one run may cost together. */
export interface Budget {
  limitNanoUsd: NanoUsd;
  mode: "stop" | "strict";
  /** True if calls without any known price are made: they have no cost that a budget could count. */
  allowUnpriced?: boolean;
}

/** The upper bounds of the next call. */
export interface CallBounds {
  /** An upper bound of the input tokens, or the reason that there is none. */
  inputTokens: { max: number } | { unboundedBecause: string };
  /** The requested output limit. */
  outputTokens: number;
  /** Null if the model has no known price. */
  rates: WorstCaseRates | null;
  /** The estimated cost, which is reserved in `stop` mode. */
  estimateNanoUsd: NanoUsd;
}

/** The reason of a refusal. */
export type RefusalReason = "spent" | "would_overshoot" | "unbounded" | "unpriced";

/**
 * The decision on the next call: make it, wait until other calls in flight have ended, or refuse it. `isUnreserved`: it is made
 * without a reservation, since it has no price.
 */
export type CallDecision =
  | { go: true; reserveNanoUsd: NanoUsd; outputLimit?: number; isUnreserved?: boolean }
  | { go: false; wait: true }
  | { go: false; wait: false; reason: RefusalReason };

/**
 * Decides on the next call of a run. Pure. A budget refuses a call only here; once a strict call has cost more than its
 * bound, `admitCall()` passes a limit of 0. A run or a meter with a budget over a model without a price is refused before
 * its first call: `checkBudget()` in runner/run_agent.ts, `meter()` in runner/metering/meter.ts. A call for which the
 * commit of the previous one has reserved is made without this decision: see `createBudgetGate()`.
 *
 * `stop`: refused once the settled cost has reached the limit; waits while settled and reserved cost together have.
 * `strict`: made only if its worst case fits beside the settled and reserved cost; the output limit is lowered to what fits,
 * once no other call is in flight whose reservation may still shrink. A model without any known price has no worst case: its
 * calls are refused, or with `allowUnpriced` made without a reservation until the settled cost has reached the limit.
 */
export function decideCall(state: {
  budget: Budget;
  settledNanoUsd: NanoUsd;
  reservedNanoUsd: NanoUsd;
  /** The possible cost beyond the booked one of calls whose count never arrived. */
  lostNanoUsd?: NanoUsd;
  call: CallBounds;
}): CallDecision {
  const { budget, settledNanoUsd: settled, reservedNanoUsd: reserved, lostNanoUsd: lost = 0n, call } = state;
  const limit = budget.limitNanoUsd;
  if (settled >= limit) return refuse("spent");
  if (budget.mode === "stop") {
    if (settled + reserved >= limit) return { go: false, wait: true };
    return { go: true, reserveNanoUsd: call.estimateNanoUsd };
  }
  if (call.rates === null && budget.allowUnpriced) {
    return { go: true, reserveNanoUsd: 0n, isUnreserved: true };
  }
  // First: without a bound there is no tier, and so no price.
  if (!("max" in call.inputTokens)) return refuse("unbounded");
  if (call.rates === null || call.rates.output === null) return refuse("unpriced");
  const inputTokens = call.inputTokens.max;
  const wanted = worstCaseCost(call.rates, { inputTokens, outputTokens: call.outputTokens })!;
  if (settled + reserved + lost + wanted <= limit) {
    return { go: true, reserveNanoUsd: wanted, outputLimit: call.outputTokens };
  }
  if (reserved > 0n) return { go: false, wait: true };
  const outputTokens = outputTokensThatFit(call.rates, {
    inputTokens,
    budgetNanoUsd: limit - settled - lost,
  });
  if (outputTokens < 1) return refuse("would_overshoot");
  return {
    go: true,
    reserveNanoUsd: worstCaseCost(call.rates, { inputTokens, outputTokens })!,
    outputLimit: outputTokens,
  };
}

function refuse(reason: RefusalReason): CallDecision {
  return { go: false, wait: false, reason };
}

/** Returns the error for a refused call, with the reason in its message. */
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
