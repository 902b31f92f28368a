import assert from "node:assert/strict";
import { createJsonLog, LOG_LEVELS, type LogLevel, silentLog } from "./log.ts";

function linesAt(level: LogLevel): unknown[] {
  const lines: unknown[] = [];
  const log = createJsonLog({ level, now: () => 0, write: (line) => void lines.push(JSON.parse(line)) });
  for (const each of ["debug", "info", "warn", "error"] as const) log[each](`A ${each}`, { run_id: "run_1" });
  return lines;
}

Deno.test("createJsonLog() writes one object per line, with its time and facts", () => {
  assert.deepEqual(linesAt("error"), [
    { level: "error", at: "1970-01-01T00:00:00.000Z", message: "A error", run_id: "run_1" },
  ]);
});

Deno.test("createJsonLog() omits lines below its level", () => {
  assert.deepEqual(LOG_LEVELS.map((level) => linesAt(level).length), [4, 3, 2, 1, 0]);
});

Deno.test("createJsonLog() escapes line breaks", () => {
  let text = "";
  const log = createJsonLog({ level: "info", now: () => 0, write: (line) => void (text += line) });
  log.info("two\nlines", { more: "a\r\nb" });
  assert.doesNotMatch(text, /[\r\n]/);
});

Deno.test("silentLog accepts and discards every line", () => {
  for (const level of ["debug", "info", "warn", "error"] as const) silentLog[level]("Nothing", { at: 1 });
});
