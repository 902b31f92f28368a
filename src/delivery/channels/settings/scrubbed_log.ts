import { toPlainValue } from "../../../kernel/json/portable_json.ts";
import type { Log } from "../../../kernel/log.ts";
import type { ChannelLog } from "../channel.ts";
import type { Scrub } from "./scrub_secrets.ts";

/** The log that a channel is given: each line says which channel it is, and no secret gets through. */
export function createScrubbedLog(
  log: Log,
  fields: { channel: string; kind: string },
  scrub: Scrub,
): ChannelLog {
  const write = (level: "info" | "warn") => (message: string, more: Record<string, unknown> = {}) =>
    log[level](scrub(String(message)), {
      ...fields,
      ...scrubDeeply(toPlainValue(more), scrub) as Record<string, unknown>,
    });
  return { info: write("info"), warn: write("warn") };
}

function scrubDeeply(value: unknown, scrub: Scrub): unknown {
  if (typeof value === "string") return scrub(value);
  if (Array.isArray(value)) return value.map((item) => scrubDeeply(item, scrub));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, part]) => [scrub(key), scrubDeeply(part, scrub)]),
  );
}
