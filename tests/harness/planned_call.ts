import type { CallBounds } from "../../src/budgets/mod.ts";
import { worstCaseCost } from "../../src/pricing/mod.ts";
import type { ModelRequest } from "./budget_model.ts";

/** A call to make: amounts in units of the history. */
export interface PlannedCall {
  caller: number;
  estimate: number;
  input: number;
  output: number;
  kind: "priced" | "free" | "unbounded" | "unpriced";
}

const INPUT_RATE = 1_000n;
const OUTPUT_RATE = 2_000n;

/** Returns a planned call as the model and as the gate see it; `unit` is that of its history. */
export function requestOf(
  { kind, estimate, input, output }: PlannedCall,
  unit: bigint,
): { request: ModelRequest; bounds: CallBounds } {
  const isUnpriced = kind === "unpriced";
  const [inputRate, outputRate] = kind === "free" ? [0n, 0n] : [INPUT_RATE * unit, OUTPUT_RATE * unit];
  const rates = { input: inputRate, output: outputRate };
  const tokens = kind === "unbounded" || (isUnpriced && input % 2 === 0)
    ? { unboundedBecause: "it has a file" }
    : { max: input };
  const estimateNanoUsd = isUnpriced ? 0n : BigInt(estimate) * unit;
  return {
    request: {
      ...{ estimate: estimateNanoUsd, isUnpriced, output, canShorten: true },
      cost: "max" in tokens && !isUnpriced
        ? (outputTokens) => worstCaseCost(rates, { inputTokens: input, outputTokens })!
        : null,
    },
    bounds: {
      ...{ estimateNanoUsd, isUnpriced },
      worst: { inputTokens: tokens, outputTokens: output, rates: isUnpriced ? null : rates },
    },
  };
}
