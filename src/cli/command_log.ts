import { createJsonLog, type Log, LOG_LEVELS, type LogFields, type LogLevel } from "../kernel/log.ts";
import { systemClock } from "../kernel/clock.ts";
import { escapeText } from "./terminal/escape_text.ts";
import type { Style } from "./terminal/style.ts";
import type { Output } from "./terminal/terminal.ts";

/** The log of a command: sentences for a person at a terminal, JSON lines for everybody else. */
export function createCommandLog(
  { level, stderr, style, isJson }: { level: LogLevel; stderr: Output; style: Style; isJson: boolean },
): Log {
  if (isJson || !stderr.isTerminal) {
    return createJsonLog({ level, now: systemClock.now, write: (line) => stderr.write(line + "\n") });
  }
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

/** Whether a fact has facts of its own, which are for programs. */
function isRecord(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function factOf(value: unknown): string {
  return escapeText(typeof value === "string" ? value : JSON.stringify(value) ?? String(value));
}
