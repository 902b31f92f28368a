import {
  fieldsOf,
  isWindowName,
  lengthOf,
  MAX_WINDOWS,
  percentOf,
  type PlanWindow,
  timeOfSeconds,
} from "./plan_window.ts";

/**
 * Reads the windows in the JSON that Claude Code passes to its status line: `rate_limits` with `five_hour`, `seven_day` and the
 * like, each `{used_percentage, resets_at}` with a time in seconds. They are there from 2.1.80 on, for a Pro or Max plan, after
 * the first answer of a session. An idle session goes on to pass its last ones, so they have no time of measurement.
 * As of 2026-08, https://code.claude.com/docs/en/statusline.
 */
export function readStatusLineWindows(json: unknown): PlanWindow[] {
  return Object.entries(fieldsOf(fieldsOf(json).rate_limits)).slice(0, MAX_WINDOWS).flatMap(
    ([window, value]) => {
      const fields = fieldsOf(value);
      const usedPercent = percentOf(fields.used_percentage);
      if (usedPercent === undefined || !isWindowName(window)) return [];
      const resetsAt = timeOfSeconds(fields.resets_at);
      return [{ window, usedPercent, resetsAt, lengthMs: lengthOf(window) }];
    },
  );
}
