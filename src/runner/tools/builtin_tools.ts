import type { ToolSet } from "ai";
import { z } from "zod";
import type { Clock } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import type { BUILT_IN_TOOLS } from "./mod.ts";
import { evaluateExpression } from "./calculator.ts";

/** The outputs of `calculator` and `current_time`. */
export type CalculatorOutput = { result: number };
export type CurrentTimeOutput = { time: string; timezone: string };

/** Creates the built-in tools for the AI SDK, whose `tool()` only types its argument and so is not loaded. */
export function createBuiltInTools(context: { clock: Clock }): ToolSet {
  return {
    calculator: {
      description:
        "Works out an arithmetic expression exactly. Knows + - * / % ^, parentheses, abs, ceil, exp, " +
        "floor, ln, log10, max, min, round, sqrt, pi and e.",
      inputSchema: z.object({ expression: z.string().describe("For example: (2 + 3) * sqrt(16)") }),
      execute: ({ expression }: { expression: string }): CalculatorOutput => ({
        result: evaluateExpression(expression),
      }),
    },
    current_time: {
      description: "Gives the current date and time.",
      inputSchema: z.object({
        timezone: z.string().optional().describe("An IANA time zone such as Europe/Berlin; UTC if left out"),
      }),
      execute: ({ timezone }: { timezone?: string }): CurrentTimeOutput =>
        formatTime(context.clock.now(), timezone),
    },
  } satisfies Record<(typeof BUILT_IN_TOOLS)[number], ToolSet[string]>;
}

/** Formats a time in ISO 8601, in whole seconds, with the offset of the zone: `2026-07-01T14:00:00+02:00`. */
export function formatTime(epochMs: number, timezone = "UTC"): CurrentTimeOutput {
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat("en-CA", {
      timeZone: timezone,
      hourCycle: "h23",
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
      timeZoneName: "longOffset",
    });
  } catch {
    throw new PurserError(
      "invalid",
      `Cannot format the time: ${timezone} is not an IANA time zone; write it as in Europe/Berlin`,
    );
  }
  const parts = Object.fromEntries(format.formatToParts(epochMs).map(({ type, value }) => [type, value]));
  const offset = parts.timeZoneName!.replace(/^GMT/, "") || "Z";
  const time =
    `${parts.year}-${parts.month}-${parts.day}T${parts.hour}:${parts.minute}:${parts.second}${offset}`;
  return { time, timezone: format.resolvedOptions().timeZone };
}
