import type { Severity } from "../../contract/values.ts";
import type { BaselineStats } from "./baseline.ts";
import { KEPT, LIMITS } from "./limits.ts";

/** The result of a detector: an anomaly with its figures, or the reason why there is none. */
export type DetectorResult<Figures, Reason extends string> =
  | ({ isAnomaly: true; severity: Severity } & Figures)
  | { isAnomaly: false; reason: Reason };

/** The latest tool calls of a run, latest last, each with its number of repetitions since the last new one. */
export type SeenCalls = readonly (readonly [call: string, times: number])[];

/**
 * Adds one tool call of a run, identified by a hash of its name and input. A call that the run has not made before is
 * progress, and resets all counts. So a loop over a few calls is detected, and one that edits and tests, whose edits
 * differ, is not.
 */
export function detectRepeatedCall(
  seen: SeenCalls,
  call: string,
): { seen: SeenCalls; result: DetectorResult<{ times: number }, "new" | "few"> } {
  const known = seen.find(([other]) => other === call);
  if (known === undefined) {
    const others = seen.slice(-(KEPT.callsPerRun - 1)).map(([other]) => [other, 0] as const);
    return { seen: [...others, [call, 1]], result: { isAnomaly: false, reason: "new" } };
  }
  const times = known[1] + 1;
  const next: SeenCalls = [...seen.filter((entry) => entry !== known), [call, times]];
  const limits = LIMITS.repeatedToolCall;
  if (times < limits.times) return { seen: next, result: { isAnomaly: false, reason: "few" } };
  const severity = times >= limits.criticalTimes ? "critical" : "warning";
  return { seen: next, result: { isAnomaly: true, severity, times } };
}

/** Uninterrupted growth of the input of one run and model. */
export interface InputGrowth {
  /** Input tokens of its first call, and of the latest. */
  first: number;
  last: number;
  /** The number of consecutive calls with more input tokens than the one before. */
  growths: number;
  /** The step of the latest call. */
  step: number | null;
}

/** Adds one call of a run. A repetition of the step before, such as a retry, does not interrupt the growth. */
export function detectGrowingInput(
  growth: InputGrowth | undefined,
  { inputTokens, step }: { inputTokens: number; step: number | null },
): {
  growth: InputGrowth;
  result: DetectorResult<InputGrowth, "begins" | "repeats_step" | "few_steps" | "small">;
} {
  const isRetry = growth !== undefined && step !== null && step === growth.step;
  if (isRetry && inputTokens <= growth.last) {
    return { growth, result: { isAnomaly: false, reason: "repeats_step" } };
  }
  if (growth === undefined || inputTokens <= growth.last) {
    const fresh = { first: inputTokens, last: inputTokens, growths: 0, step };
    return { growth: fresh, result: { isAnomaly: false, reason: "begins" } };
  }
  const grown = { first: growth.first, last: inputTokens, growths: growth.growths + 1, step };
  return { growth: grown, result: judgeGrowth(grown) };
}

function judgeGrowth(growth: InputGrowth): DetectorResult<InputGrowth, "few_steps" | "small"> {
  const { steps, factor, tokens, criticalFactor, criticalTokens } = LIMITS.growingInput;
  const { first, last, growths } = growth;
  if (growths < steps) return { isAnomaly: false, reason: "few_steps" };
  if (last < tokens || last < factor * first) return { isAnomaly: false, reason: "small" };
  const isExtreme = last >= criticalTokens && last >= criticalFactor * first;
  return { isAnomaly: true, severity: isExtreme ? "critical" : "warning", ...growth };
}

/** A value far above its baseline. */
export interface Outlier {
  value: bigint;
  /** The lowest value that is an outlier. */
  limit: bigint;
  baseline: BaselineStats;
}

/**
 * Compares a value, the cost of a call or the calls of an hour, with its baseline. It is an outlier if
 * `value >= max(floor, factor × median, median + 10 × MAD, 2 × 90th percentile)`; five times that is critical.
 * A baseline of too few hours or calls decides nothing.
 */
export function detectOutlier(
  value: bigint,
  baseline: BaselineStats | undefined,
  limits: { floor: bigint; factor: bigint; minHours: number; minCalls: number },
): DetectorResult<Outlier, "below_floor" | "few_samples" | "usual"> {
  if (value < limits.floor) return { isAnomaly: false, reason: "below_floor" };
  if (baseline === undefined || baseline.hours < limits.minHours || baseline.calls < limits.minCalls) {
    return { isAnomaly: false, reason: "few_samples" };
  }
  const limit = outlierLimit(baseline, limits);
  if (value < limit) return { isAnomaly: false, reason: "usual" };
  const isExtreme = value >= LIMITS.outlier.criticalFactor * limit;
  return { isAnomaly: true, severity: isExtreme ? "critical" : "warning", value, limit, baseline };
}

/** Returns the lowest value that is an outlier. */
export function outlierLimit(
  baseline: BaselineStats,
  { floor, factor }: { floor: bigint; factor: bigint },
): bigint {
  const { madFactor, peakFactor } = LIMITS.outlier;
  const limits = [
    floor,
    factor * baseline.median,
    baseline.median + madFactor * baseline.deviation,
    peakFactor * baseline.peak,
  ];
  return limits.reduce((most, limit) => (limit > most ? limit : most));
}
