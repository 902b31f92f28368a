import type { Cause, MatchLevel } from "../../contract/bills/causes.ts";
import type { Dimensions } from "./dimensions.ts";
import type { AttoUsd, MicroUnits } from "./exact.ts";

/** A difference of a day, a part and one value of each dimension, with its cause. */
export interface Variance {
  cause: Cause;
  /** The time of its lines and calls: [from, to). */
  from: number;
  to: number;
  dimensions: Dimensions;
  part: string;
  level: MatchLevel;
  /** Positive where the bill has more. */
  quantity: MicroUnits;
  amount: AttoUsd;
  cells: number;
  /** The evidence of its first cell. */
  evidence: string;
}

/** Adds a variance of the same cause to another one. */
export function addVariance(sum: Variance, { from, to, quantity, amount, cells }: Variance): void {
  sum.from = Math.min(sum.from, from);
  sum.to = Math.max(sum.to, to);
  sum.quantity += quantity;
  sum.amount += amount;
  sum.cells += cells;
}
