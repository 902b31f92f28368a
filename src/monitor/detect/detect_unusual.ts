import { LIMITS } from "./limits.ts";
import { limitOf, type Usual } from "./usual.ts";
import type { Verdict } from "./verdict.ts";

/** A value far above what is usual. */
export interface UnusualValue {
  value: bigint;
  /** From which value on it is told. */
  limit: bigint;
  usual: Usual;
}

/**
 * Whether a value, the cost of a call or the calls of an hour, is far above what is usual:
 * `value >= max(floor, factor × median, median + 10 × MAD, 2 × 90th percentile)`; five times that is critical.
 * Hours and calls that are too few say nothing.
 */
export function detectUnusual(
  value: bigint,
  usual: Usual | undefined,
  limits: { floor: bigint; factor: bigint; minHours: number; minCalls: number },
): Verdict<UnusualValue, "below_floor" | "few_samples" | "usual"> {
  if (value < limits.floor) return { isFound: false, reason: "below_floor" };
  if (usual === undefined || usual.hours < limits.minHours || usual.calls < limits.minCalls) {
    return { isFound: false, reason: "few_samples" };
  }
  const limit = limitOf(usual, limits);
  if (value < limit) return { isFound: false, reason: "usual" };
  const isExtreme = value >= LIMITS.usual.criticalFactor * limit;
  return { isFound: true, severity: isExtreme ? "critical" : "warning", value, limit, usual };
}
