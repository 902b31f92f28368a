import type { NanoUsd } from "../../kernel/money.ts";
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

const NOTHING: CallTotals = {
  costNanoUsd: 0n,
  inputTokens: 0,
  outputTokens: 0,
  calls: 0,
  unpricedCalls: 0,
  partlyPricedCalls: 0,
};

/** Sums the calls of a log, each once. */
export class CallCounter {
  totals = NOTHING;
  /** Calls that were not booked at once: a later `cost.recorded` replaces the figures of the `model.called`. */
  readonly #unbooked = new Map<string, CallTotals>();
  /**
   * A session restored where its snapshot was taken has calls of its own log in its imported history, once per restore.
   */
  readonly #imported = new Set<string>();

  /** Counts a `model.called`, the `cost.recorded` of the same call, or both together. */
  add(event: ReplayEvent, costRecorded?: ReplayEvent): void {
    const figures = figuresOf(costRecorded ?? event);
    const callId = callIdOf(event);
    if (callId !== undefined) {
      if (this.#imported.has(callId) && !this.#unbooked.has(callId)) return;
      if (event.imported_from !== undefined) this.#imported.add(callId);
    }
    if (event.type === "cost.recorded" && callId !== undefined) {
      const provisional = this.#unbooked.get(callId);
      this.#unbooked.delete(callId);
      if (provisional) this.totals = sum(this.totals, provisional, -1);
    } else if (!costRecorded && callId !== undefined) {
      this.#unbooked.set(callId, figures);
    }
    this.totals = sum(this.totals, figures, 1);
  }
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
