import { LIMITS } from "./limits.ts";
import type { Verdict } from "./verdict.ts";

/** How the input of one run and model has grown without a break. */
export interface InputGrowth {
  /** Input tokens of the call that it began with, and of the latest. */
  first: number;
  last: number;
  /** How many calls in a row had more than the one before. */
  growths: number;
  /** The step of the latest call. */
  step: number | null;
}

/** Takes one more call of a run. One that repeats the step before, as a retry does, breaks nothing. */
export function detectGrowingInput(
  growth: InputGrowth | undefined,
  { inputTokens, step }: { inputTokens: number; step: number | null },
): { growth: InputGrowth; verdict: Verdict<InputGrowth, "begins" | "repeats_step" | "few_steps" | "small"> } {
  const isRetry = growth !== undefined && step !== null && step === growth.step;
  if (isRetry && inputTokens <= growth.last) {
    return { growth, verdict: { isFound: false, reason: "repeats_step" } };
  }
  if (growth === undefined || inputTokens <= growth.last) {
    const fresh = { first: inputTokens, last: inputTokens, growths: 0, step };
    return { growth: fresh, verdict: { isFound: false, reason: "begins" } };
  }
  const grown = { first: growth.first, last: inputTokens, growths: growth.growths + 1, step };
  return { growth: grown, verdict: judge(grown) };
}

function judge(growth: InputGrowth): Verdict<InputGrowth, "few_steps" | "small"> {
  const { steps, factor, tokens, criticalFactor, criticalTokens } = LIMITS.growingInput;
  const { first, last, growths } = growth;
  if (growths < steps) return { isFound: false, reason: "few_steps" };
  if (last < tokens || last < factor * first) return { isFound: false, reason: "small" };
  const isExtreme = last >= criticalTokens && last >= criticalFactor * first;
  return { isFound: true, severity: isExtreme ? "critical" : "warning", ...growth };
}
