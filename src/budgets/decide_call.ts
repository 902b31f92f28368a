import type { BudgetAction, BudgetMode, BudgetPeriod, RefusalReason } from "../contract/values.ts";
import type { NanoUsd } from "../kernel/money.ts";
import { widthOf } from "../ledger/mod.ts";
import type { TicketRef } from "./tickets/open_tickets.ts";
import { outputTokensThatFit, worstCaseCost, type WorstCaseRates } from "../pricing/mod.ts";

/** A limit on the cost of the calls of one run together: an agent's `cost_budget_usd`, or that of a meter. */
export interface Budget {
  limitNanoUsd: NanoUsd;
  mode: BudgetMode;
  /** True if calls without any known price are made: they have no cost that a budget could count. */
  allowUnpriced?: boolean;
}

/** The bounds of the next call. */
export interface CallBounds {
  /** The estimated cost, which is reserved for budgets in `stop` mode. */
  estimateNanoUsd: NanoUsd;
  /** True if the model has no known price. */
  isUnpriced: boolean;
  /** The worst case, which strict budgets need; undefined if the caller has not computed it. */
  worst?: {
    /** An upper bound of the input tokens, or the reason that there is none. */
    inputTokens: { max: number } | { unboundedBecause: string };
    /** The requested output limit, and true if it can't be lowered: the gateway changes no request. */
    outputTokens: number;
    isFixed?: true;
    /** Null if the model has no known price. */
    rates: WorstCaseRates | null;
  } | { costNanoUsd: NanoUsd };
}

/** A budget that counts the next call, and the state of the counter that the call is in. */
export interface Standing {
  /** Null for the budget of a run itself. */
  budgetId: string | null;
  name: string | null;
  per: BudgetPeriod;
  /** Null for the windows of UTC. */
  calendar: string | null;
  /** The scope of the counter. */
  scope: string;
  /** The part of a call that the budget has a counter for each value of; null for one counter. */
  part?: string | null;
  /** The start of the window, and the moment that resets it, if any. */
  from: number;
  resetsAt: number | null;
  mode: BudgetMode;
  action: BudgetAction;
  allowUnpriced: boolean;
  limitNanoUsd: NanoUsd;
  /** The sum of the raises that hold. */
  extraNanoUsd: NanoUsd;
  settledNanoUsd: NanoUsd;
  /** The estimates of the calls in flight. */
  estimatedNanoUsd: NanoUsd;
  /** The bounds of the calls in flight. */
  worstNanoUsd: NanoUsd;
  /**
   * The amount that is held for calls that are not in progress: for those whose provider has reported no usage, the possible cost
   * beyond the booked estimate; for those that were sent and never booked, their bounds.
   */
  lostNanoUsd: NanoUsd;
}

/** A budget that does not let a call through. */
export interface Refusal {
  standing: Standing;
  reason: RefusalReason;
  /** The worst case that does not fit. */
  neededNanoUsd?: NanoUsd;
  /** The largest output limit that would fit, where the request's own can't be lowered. */
  fittingOutputTokens?: number;
  /** The ticket by which the budget asks for more. */
  ticket?: TicketRef;
}

/** The amounts that a call reserves: for budgets in `stop` mode, and for strict ones; null without a bound. */
export interface ReservedAmounts {
  estimateNanoUsd: NanoUsd;
  worstNanoUsd: NanoUsd | null;
}

/**
 * The decision on the next call: make it, wait until other calls in flight have ended, or refuse it. The tightest budget is
 * first in `refusals` and `held`.
 */
export type CallDecision =
  | { go: true; amounts: ReservedAmounts; outputLimit?: number }
  | { go: false; wait: true; held: Refusal[] }
  | { go: false; wait: false; refusals: Refusal[] };

/**
 * Decides on the next call, which every budget must allow. Pure. Budgets whose action is `watch` have no say.
 *
 * `stop`: refused once the settled cost has reached the limit; waits while settled cost and estimates together have.
 * `strict`: made only if its worst case fits beside the settled cost and the bounds of the calls in flight; the output limit
 * is lowered to what fits, once no other call is in flight whose reservation may still shrink. A model without any known
 * price has no worst case: its calls are refused, or with `allowUnpriced` made until the settled cost has reached the limit.
 */
export function decideCall(
  { standings, call }: { standings: readonly Standing[]; call: CallBounds },
): CallDecision {
  const deciding = standings.filter(({ action }) => action !== "watch");
  const refusals = deciding.flatMap((standing) => refuseAtOnce(standing, call) ?? []);
  if (refusals.length > 0) return { go: false, wait: false, refusals: tightestFirst(refusals) };

  const held: Refusal[] = [];
  for (const standing of deciding) {
    if (standing.mode === "stop" && leftOf(standing) <= 0n) held.push({ standing, reason: "held" });
  }
  const amounts = {
    estimateNanoUsd: call.estimateNanoUsd,
    worstNanoUsd: call.isUnpriced ? 0n : worstOf(call),
  };
  const strict = call.isUnpriced ? [] : deciding.filter(({ mode }) => mode === "strict");
  const tooSmall = strict.filter((standing) => leftOf(standing) < amounts.worstNanoUsd!);
  if (tooSmall.length === 0) {
    if (held.length > 0) return { go: false, wait: true, held: tightestFirst(held) };
    return { go: true, amounts, ...(strict.length > 0 && { outputLimit: outputOf(call) }) };
  }

  // A call in flight may still free a part of its reservation, so only budgets without such calls shorten this one.
  const neededNanoUsd = amounts.worstNanoUsd!;
  const idle = tooSmall.filter(({ worstNanoUsd }) => worstNanoUsd === 0n);
  let outputLimit = outputOf(call);
  for (const standing of idle) {
    const fits = outputThatFits(call, leftOf(standing));
    if (fits === undefined || fits < 1) refusals.push({ standing, reason: "would_overshoot", neededNanoUsd });
    else if (isFixed(call)) {
      refusals.push({ standing, reason: "would_overshoot", neededNanoUsd, fittingOutputTokens: fits });
    } else if (outputLimit === undefined || fits < outputLimit) outputLimit = fits;
  }
  if (refusals.length > 0) return { go: false, wait: false, refusals: tightestFirst(refusals) };
  const shortened = isFixed(call) ? neededNanoUsd : worstOf(call, outputLimit);
  for (const standing of tooSmall) {
    if (leftOf(standing) < shortened!) held.push({ standing, reason: "held", neededNanoUsd });
  }
  if (held.length > 0) return { go: false, wait: true, held: tightestFirst(held) };
  return { go: true, amounts: { ...amounts, worstNanoUsd: shortened }, outputLimit };
}

/**
 * Decides on a reservation for a call that is made elsewhere, which never waits: returns the budgets that refuse it, none if
 * it is made. Pure. All of it has to fit, while the last call that is made here may cost more than is left: nobody knows
 * whether a call elsewhere is made.
 */
export function decideElsewhere(
  { standings, call }: { standings: readonly Standing[]; call: CallBounds },
): Refusal[] {
  const refusals = standings.flatMap((standing): Refusal[] => {
    if (standing.action === "watch") return [];
    const refused = refuseAtOnce(standing, call);
    if (refused) return [refused];
    const { mode, estimatedNanoUsd, worstNanoUsd } = standing;
    const [neededNanoUsd, inFlight] = mode === "strict"
      ? [worstOf(call)!, worstNanoUsd]
      : [call.estimateNanoUsd, estimatedNanoUsd];
    const left = leftOf(standing);
    if (neededNanoUsd <= left && (mode === "strict" || left > 0n)) return [];
    return [{
      standing,
      reason: neededNanoUsd > left + inFlight ? "would_overshoot" : "held",
      neededNanoUsd,
    }];
  });
  return tightestFirst(refusals);
}

/** Returns the refusal of a budget that no call in flight can change. */
function refuseAtOnce(standing: Standing, call: CallBounds): Refusal | undefined {
  const { mode, allowUnpriced, settledNanoUsd } = standing;
  if (settledNanoUsd >= ceilingOf(standing)) return { standing, reason: "spent" };
  if (call.isUnpriced) return allowUnpriced ? undefined : { standing, reason: "unpriced" };
  if (mode === "stop") return undefined;
  if (!call.worst) return { standing, reason: "unbounded" };
  if ("costNanoUsd" in call.worst) return undefined;
  // First: without a bound there is no tier, and so no price.
  if (!("max" in call.worst.inputTokens)) return { standing, reason: "unbounded" };
  if (call.worst.rates === null || call.worst.rates.output === null) return { standing, reason: "unpriced" };
  return undefined;
}

/** Returns the limit of a budget with its raises. */
export function ceilingOf({ limitNanoUsd, extraNanoUsd }: Standing): NanoUsd {
  return limitNanoUsd + extraNanoUsd;
}

/** Returns the amount that is reserved in a budget: worst cases if it is strict, else estimates. */
export function reservedOf({ mode, estimatedNanoUsd, worstNanoUsd, lostNanoUsd }: Standing): NanoUsd {
  return mode === "strict" ? worstNanoUsd + lostNanoUsd : estimatedNanoUsd;
}

/** Returns what is left of a budget beside its settled cost and its reservations; may be negative. */
export function leftOf(standing: Standing): NanoUsd {
  return ceilingOf(standing) - standing.settledNanoUsd - reservedOf(standing);
}

/** Returns the highest cost of a call; null if it has no bound. */
export function worstOf({ worst }: CallBounds, outputTokens?: number): NanoUsd | null {
  if (!worst) return null;
  if ("costNanoUsd" in worst) return worst.costNanoUsd;
  if (!("max" in worst.inputTokens) || worst.rates === null) return null;
  const tokens = { inputTokens: worst.inputTokens.max, outputTokens: outputTokens ?? worst.outputTokens };
  return worstCaseCost(worst.rates, tokens);
}

/** Returns the requested output limit of a call that is bounded by tokens. */
export function outputOf({ worst }: CallBounds): number | undefined {
  return worst && "outputTokens" in worst ? worst.outputTokens : undefined;
}

function isFixed({ worst }: CallBounds): boolean {
  return worst !== undefined && "isFixed" in worst && worst.isFixed === true;
}

function outputThatFits({ worst }: CallBounds, budgetNanoUsd: NanoUsd): number | undefined {
  if (!worst || "costNanoUsd" in worst || !("max" in worst.inputTokens) || !worst.rates) return undefined;
  return outputTokensThatFit(worst.rates, { inputTokens: worst.inputTokens.max, budgetNanoUsd });
}

/** Sorts by the width of the counter, then by what is left. */
export function tightestFirst(refusals: readonly Refusal[]): Refusal[] {
  return [...refusals].sort((a, b) => {
    const [width, other] = [widthOf(a.standing.scope), widthOf(b.standing.scope)];
    if (width !== other) return width - other;
    const left = leftOf(a.standing) - leftOf(b.standing);
    return left < 0n ? -1 : left > 0n ? 1 : 0;
  });
}
