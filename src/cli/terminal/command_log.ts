import { systemClock } from "../../kernel/clock.ts";
import {
  createJsonLog,
  type Log,
  LOG_LEVELS,
  type LogFields,
  type LogFormat,
  type LogLevel,
} from "../../kernel/log.ts";
import { escapeText } from "./escape_text.ts";
import { createStyle } from "./style.ts";
import type { Output } from "./terminal.ts";

/** Creates the log of a command: with the format `auto` sentences on a terminal, else JSON lines. */
export function createCommandLog(
  { level, format, stderr }: { level: LogLevel; format: LogFormat; stderr: Output },
): Log {
  if (format === "json" || (format === "auto" && !stderr.isTerminal)) {
    return createJsonLog({ level, now: systemClock.now, write: (line) => stderr.write(line + "\n") });
  }
  const style = createStyle(stderr.hasColour);
  const threshold = LOG_LEVELS.indexOf(level);
  const paints = { debug: style.dim, info: style.dim, warn: style.yellow, error: style.red };
  const line =
    (of: keyof typeof paints) => (message: string, { stack: _stack, ...fields }: LogFields = {}) => {
      if (LOG_LEVELS.indexOf(of) < threshold) return;
      const facts = Object.entries(fields).filter(([, value]) => !isRecord(value)).map(([name, value]) =>
        `${name}: ${factOf(value)}`
      ).join(", ");
      stderr.write(`${paints[of](`${of}:`)} ${escapeText(message)}${facts && style.dim(` (${facts})`)}\n`);
    };
  return { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") };
}

/** Returns whether a field is structured, and so left to the JSON log. */
function isRecord(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function factOf(value: unknown): string {
  return escapeText(typeof value === "string" ? value : JSON.stringify(value) ?? String(value));
}
