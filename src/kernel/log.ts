import { systemClock, toIso } from "./clock.ts";
import { escapeJson } from "./text.ts";

/** Structured facts of a log line. Never put a secret or the text of a message here. */
export type LogFields = Record<string, unknown>;

/** The log levels, least important first. */
export const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** The forms of log lines: sentences for people, JSON for programs, or by where they go. */
export const LOG_FORMATS = ["auto", "text", "json"] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

/** A structured log: each line is a message and fields. */
export interface Log {
  /** Logs a fact for finding faults. */
  debug(message: string, fields?: LogFields): void;
  /** Logs a fact of normal work. */
  info(message: string, fields?: LogFields): void;
  /** Logs a problem that the work continues with. */
  warn(message: string, fields?: LogFields): void;
  /** Logs a failure. */
  error(message: string, fields?: LogFields): void;
}

/**
 * Creates a log of one JSON object per line: `{"level":"warn","at":"…","message":"…",…}`. Control, bidirectional and invisible
 * characters are escaped, so that a log can be shown on a terminal.
 */
export function createJsonLog(options: {
  level: LogLevel;
  now?: () => number;
  write: (line: string) => void;
}): Log {
  const { now = systemClock.now } = options;
  const threshold = LOG_LEVELS.indexOf(options.level);
  return mapLines((level) => {
    if (LOG_LEVELS.indexOf(level) < threshold) return discardLine;
    return (message, fields) =>
      options.write(escapeJson(JSON.stringify({ level, at: toIso(now()), message, ...fields })));
  });
}

/** Wraps a log so that it never throws: callers must not fail because a line can't be written. */
export function neverThrowing(log: Log): Log {
  return wrapLog(log, (line) => (message, fields) => {
    try {
      line(message, fields);
    } catch {
      // There is no other way to report it.
    }
  });
}

/** Writes a line of one level. */
type LogLine = (message: string, fields?: LogFields) => void;

/** The line of a level that isn't logged. */
const discardLine: LogLine = () => {};

const mapLines = (make: (level: keyof Log) => LogLine): Log => ({
  debug: make("debug"),
  info: make("info"),
  warn: make("warn"),
  error: make("error"),
});

/** Wraps the lines of a log, other than those of levels that aren't logged, which stay free. */
export function wrapLog(log: Log, wrap: (line: LogLine) => LogLine): Log {
  return mapLines((level) => {
    const line = log[level];
    return line === discardLine ? line : wrap((message, fields) => log[level](message, fields));
  });
}

/** Returns whether a log keeps lines for finding faults, for what is made only for them. */
export function logsDebug(log: Log): boolean {
  return log.debug !== discardLine;
}

/** A log that discards every line: the default in the library and in tests. */
export const silentLog: Log = mapLines(() => discardLine);
