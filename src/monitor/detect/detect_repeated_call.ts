import { KEPT, LIMITS } from "./limits.ts";
import type { Verdict } from "./verdict.ts";

/** The calls that a run has made lately, latest last, and how often each came since the last new one. */
export type SeenCalls = readonly (readonly [call: string, times: number])[];

/**
 * Takes one more tool call of a run, known by a hash of its name and input. A call that the run had not made
 * before is progress: all are counted from 0 again. So a loop over a few calls is found, and one that edits
 * and tests, whose edits differ, is not.
 */
export function detectRepeatedCall(
  seen: SeenCalls,
  call: string,
): { seen: SeenCalls; verdict: Verdict<{ times: number }, "new" | "few"> } {
  const known = seen.find(([other]) => other === call);
  if (known === undefined) {
    const others = seen.slice(-(KEPT.callsPerRun - 1)).map(([other]) => [other, 0] as const);
    return { seen: [...others, [call, 1]], verdict: { isFound: false, reason: "new" } };
  }
  const times = known[1] + 1;
  const next: SeenCalls = [...seen.filter((entry) => entry !== known), [call, times]];
  const limits = LIMITS.repeatedToolCall;
  if (times < limits.times) return { seen: next, verdict: { isFound: false, reason: "few" } };
  const severity = times >= limits.criticalTimes ? "critical" : "warning";
  return { seen: next, verdict: { isFound: true, severity, times } };
}
