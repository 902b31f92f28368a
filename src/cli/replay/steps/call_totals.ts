import type { NanoUsd } from "../../../kernel/money.ts";
import { callIdOf, payloadOf, readCost, readCount, type ReplayEvent } from "./replay_event.ts";

/** The totals of the calls of a log. The cost is that of the calls with a price. */
export interface CallTotals {
  costNanoUsd: NanoUsd;
  inputTokens: number;
  outputTokens: number;
  calls: number;
  unpricedCalls: number;
  /** Calls of which a part has no price. */
  partlyPricedCalls: number;
}

/** Sums the calls of a log, each once. */
export interface CallCounter {
  /** Counts a `model.called`, together with the `cost.recorded` that follows it, or one of them alone. */
  add(event: ReplayEvent, costRecorded?: ReplayEvent): void;
  readonly totals: CallTotals;
}

const NOTHING: CallTotals = {
  costNanoUsd: 0n,
  inputTokens: 0,
  outputTokens: 0,
  calls: 0,
  unpricedCalls: 0,
  partlyPricedCalls: 0,
};

/** Creates a counter at zero. */
export function createCallCounter(): CallCounter {
  let totals = NOTHING;
  // Calls that were not booked at once: a later `cost.recorded` replaces the figures of the `model.called`.
  const unbooked = new Map<string, CallTotals>();
  // A session restored where its snapshot was taken has calls of its own log in its imported history, once per
  // restore.
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
        const provisional = unbooked.get(callId);
        unbooked.delete(callId);
        if (provisional) totals = sum(totals, provisional, -1);
      } else if (!costRecorded && callId !== undefined) {
        unbooked.set(callId, figures);
      }
      totals = sum(totals, figures, 1);
    },
  };
}

function figuresOf(event: ReplayEvent): CallTotals {
  const { cost_usd, input_tokens, output_tokens, unpriced_parts } = payloadOf(event);
  const cost = readCost(cost_usd);
  return {
    costNanoUsd: cost ?? 0n,
    inputTokens: readCount(input_tokens),
    outputTokens: readCount(output_tokens),
    calls: 1,
    unpricedCalls: cost === null ? 1 : 0,
    partlyPricedCalls: cost !== null && Array.isArray(unpriced_parts) ? 1 : 0,
  };
}

function sum(totals: CallTotals, figures: CallTotals, sign: 1 | -1): CallTotals {
  return {
    costNanoUsd: totals.costNanoUsd + BigInt(sign) * figures.costNanoUsd,
    inputTokens: totals.inputTokens + sign * figures.inputTokens,
    outputTokens: totals.outputTokens + sign * figures.outputTokens,
    calls: totals.calls + sign * figures.calls,
    unpricedCalls: totals.unpricedCalls + sign * figures.unpricedCalls,
    partlyPricedCalls: totals.partlyPricedCalls + sign * figures.partlyPricedCalls,
  };
}
