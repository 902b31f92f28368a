import type { Severity } from "../../contract/values.ts";
import type { BaselineStats } from "./baseline.ts";
import { KEPT, LIMITS } from "./limits.ts";

/** The result of a detector: an anomaly with its figures, or the reason why it reports no anomaly. */
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

/** Uninterrupted growth of the input of one conversation with one model. */
export interface InputGrowth {
  /** Input tokens of its first call, and of the latest. */
  first: number;
  last: number;
  /** The number of consecutive calls with more input tokens than the one before. */
  growths: number;
  /** The step of the latest call. */
  step: number | null;
}

/**
 * Adds one call of a run or session to its conversations with a model, those with the latest call last. A call continues the
 * one whose input it reads from a cache, else the latest if its own input is greater: so the calls of helpers in between, which
 * have an input of their own, don't interrupt the growth. Nor does a repetition of the step before, such as a retry.
 */
export function detectGrowingInput(
  lines: readonly InputGrowth[],
  { inputTokens, cachedTokens, step }: { inputTokens: number; cachedTokens: number; step: number | null },
): {
  lines: readonly InputGrowth[];
  result: DetectorResult<InputGrowth, "begins" | "repeats_step" | "few_steps" | "small">;
} {
  const latest = lines.at(-1);
  const isRetry = latest !== undefined && step !== null && step === latest.step;
  if (isRetry && inputTokens <= latest.last) {
    return { lines, result: { isAnomaly: false, reason: "repeats_step" } };
  }
  const longest = lines.filter(({ last }) =>
    inputTokens > last && 100 * cachedTokens >= LIMITS.growingInput.cachedPercent * last
  ).reduce<InputGrowth | undefined>((most, line) => most && most.last > line.last ? most : line, undefined);
  const line = longest ?? (latest !== undefined && inputTokens > latest.last ? latest : undefined);
  if (line === undefined) {
    const fresh = { first: inputTokens, last: inputTokens, growths: 0, step };
    return {
      lines: [...lines.slice(-(KEPT.linesPerRun - 1)), fresh],
      result: { isAnomaly: false, reason: "begins" },
    };
  }
  const grown = { first: line.first, last: inputTokens, growths: line.growths + 1, step };
  return { lines: [...lines.filter((other) => other !== line), grown], result: judgeGrowth(grown) };
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
  /** Undefined where there is too little to compare with. */
  baseline: BaselineStats | undefined;
}

/**
 * Compares a value, the cost of a call, a run or an hour or the calls of an hour, with its baseline. It is an outlier if
 * `value >= max(floor, factor × median, median + 10 × MAD, 2 × 90th percentile)`; five times that is critical.
 * A baseline of too few hours or calls decides nothing, unless there is an amount that is remarkable alone.
 */
export function detectOutlier(
  value: bigint,
  baseline: BaselineStats | undefined,
  limits: { floor: bigint; factor: bigint; minHours: number; minCalls: number; alone?: bigint },
): DetectorResult<Outlier, "below_floor" | "few_samples" | "usual"> {
  if (value < limits.floor) return { isAnomaly: false, reason: "below_floor" };
  const isKnown = baseline !== undefined && baseline.hours >= limits.minHours &&
    baseline.calls >= limits.minCalls;
  if (!isKnown && limits.alone === undefined) return { isAnomaly: false, reason: "few_samples" };
  const limit = isKnown ? outlierLimit(baseline, limits) : limits.alone!;
  if (value < limit) return { isAnomaly: false, reason: isKnown ? "usual" : "few_samples" };
  const isExtreme = value >= LIMITS.outlier.criticalFactor * limit;
  const severity = isExtreme ? "critical" : "warning";
  return { isAnomaly: true, severity, value, limit, baseline: isKnown ? baseline : undefined };
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
