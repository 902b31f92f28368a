import { formatUsd, type NanoUsd, toUsd } from "../../../kernel/money.ts";
import { countOf, formatCount } from "../../render/format_values.ts";
import { callIdOf, payloadOf, readCost, readCount, type ReplayEvent } from "./replay_event.ts";

/** What the calls of a log come to. The cost is that of the calls with a price. */
export interface CallTotals {
  costNanoUsd: NanoUsd;
  inputTokens: number;
  outputTokens: number;
  calls: number;
  unpricedCalls: number;
}

/** Sums up the calls of a log, each once. */
export interface CallCounter {
  /** Counts a `model.called`, together with the `cost.recorded` that follows it, or a loose one of these. */
  add(event: ReplayEvent, costRecorded?: ReplayEvent): void;
  readonly totals: CallTotals;
}

const NOTHING: CallTotals = {
  costNanoUsd: 0n,
  inputTokens: 0,
  outputTokens: 0,
  calls: 0,
  unpricedCalls: 0,
};

/** Starts from nothing. */
export function createCallCounter(): CallCounter {
  let totals = NOTHING;
  // A call whose booking was refused at first: should the ledger's word come later, it takes the place of
  // what the model's answer told.
  const unbooked = new Map<string, CallTotals>();
  // A session may be restored where its snapshot was taken: its history then has calls of its own log.
  // Restored again and again, that history has them as often.
  const imported = new Set<string>();
  return {
    get totals() {
      return totals;
    },
    add(event, costRecorded) {
      const figures = figuresOf(costRecorded ?? event);
      const callId = callIdOf(event);
      if (callId !== undefined) {
        if (imported.has(callId) && !unbooked.has(callId)) return;
        if (event.imported_from !== undefined) imported.add(callId);
      }
      if (event.type === "cost.recorded" && callId !== undefined) {
        const told = unbooked.get(callId);
        unbooked.delete(callId);
        if (told) totals = sum(totals, told, -1);
      } else if (!costRecorded && callId !== undefined) {
        unbooked.set(callId, figures);
      }
      totals = sum(totals, figures, 1);
    },
  };
}

/** USD of the calls with a price as the API writes it; null where there are calls and none has one. */
export function totalUsd(totals: CallTotals): number | null {
  return hasNoPrice(totals) ? null : toUsd(totals.costNanoUsd);
}

/** `$0.0001506 + 1 call without a known price`. */
export function formatTotalCost(totals: CallTotals): string {
  if (hasNoPrice(totals)) return "no price";
  const cost = `$${formatUsd(totals.costNanoUsd)}`;
  return totals.unpricedCalls === 0
    ? cost
    : `${cost} + ${countOf(totals.unpricedCalls, "call")} without a known price`;
}

/** `1,234 + 56 tokens`. */
export function formatTokens(inputTokens: number, outputTokens: number): string {
  return `${formatCount(inputTokens)} + ${formatCount(outputTokens)} tokens`;
}

function hasNoPrice({ calls, unpricedCalls }: CallTotals): boolean {
  return calls > 0 && calls === unpricedCalls;
}

function figuresOf(event: ReplayEvent): CallTotals {
  const { cost_usd, input_tokens, output_tokens } = payloadOf(event);
  const cost = readCost(cost_usd);
  return {
    costNanoUsd: cost ?? 0n,
    inputTokens: readCount(input_tokens),
    outputTokens: readCount(output_tokens),
    calls: 1,
    unpricedCalls: cost === null ? 1 : 0,
  };
}

function sum(totals: CallTotals, figures: CallTotals, sign: 1 | -1): CallTotals {
  return {
    costNanoUsd: totals.costNanoUsd + BigInt(sign) * figures.costNanoUsd,
    inputTokens: totals.inputTokens + sign * figures.inputTokens,
    outputTokens: totals.outputTokens + sign * figures.outputTokens,
    calls: totals.calls + sign * figures.calls,
    unpricedCalls: totals.unpricedCalls + sign * figures.unpricedCalls,
  };
}
