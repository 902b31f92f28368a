import type { LedgerCell } from "../../../src/bills/reconcile/cells.ts";
import { divideHalfEven } from "../../../src/kernel/money.ts";
import { MINUTE, type Provider } from "./providers.ts";

/** The calls of a simulated month, and how the ledger groups them. */

export const MICRO = 1_000_000n;
export const PARTS = ["input_tokens", "cache_read_tokens", "output_tokens"] as const;
type Part = typeof PARTS[number];
export type Counts = Record<Part, number>;

export interface SimulatedCall {
  id: string;
  at: number;
  endedAt: number;
  model: string;
  credential: string;
  tier: string;
  counts: Counts;
  doubtful: boolean;
  /** The ledger has no price for it. */
  isUnpriced?: true;
}

/** Pico-USD for each token. */
export const rates = (model: string): Record<Part, bigint> => {
  const scale = 1n + BigInt(model.charCodeAt(1) % 7);
  return {
    input_tokens: 3_000_000n * scale,
    cache_read_tokens: 300_000n * scale,
    output_tokens: 15_000_000n * scale,
  };
};

export function toCell(
  { id, at, endedAt, model, credential, tier, counts, doubtful, isUnpriced }: SimulatedCall,
  provider: Provider,
): LedgerCell {
  const parts = PARTS.map((part) => ({
    part,
    quantity: BigInt(counts[part]) * MICRO,
    amount: isUnpriced ? 0n : BigInt(counts[part]) * rates(model)[part] * MICRO,
    ...isUnpriced && { unpriced: BigInt(counts[part]) * MICRO },
  }))
    .filter(({ quantity }) => quantity > 0n);
  const isByCall = provider.usageMs === 0;
  return {
    startsAt: isByCall ? at : at - at % MINUTE,
    endedAt: isByCall ? at : endedAt - endedAt % MINUTE,
    dimensions: { model, credential, serviceTier: tier },
    ...(isByCall && { responseId: id }),
    calls: 1,
    doubtful: Number(doubtful),
    bookedNanoUsd: divideHalfEven(parts.reduce((sum, { amount }) => sum + amount, 0n), 1_000_000_000n),
    parts,
    callId: id,
  };
}
