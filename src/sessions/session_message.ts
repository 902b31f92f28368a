import { canonicalize } from "../kernel/json/canonical_json.ts";
import { toIso } from "../kernel/clock.ts";
import type { Ids } from "../kernel/ids.ts";
import { toJsonText, toPlainJsonText } from "../kernel/json/portable_json.ts";
import { parseSlowly } from "../kernel/json/read_json.ts";

/** A message of a session: the shape of the AI SDK's model messages, plus `id` and `created_at`. */
export interface SessionMessage {
  id: string;
  created_at: string;
  role: "user" | "assistant" | "tool" | "system";
  content: unknown;
  [field: string]: unknown;
}

/** A message to append to a session. */
export interface NewMessage {
  id: string;
  createdAt: number;
  /** `{id, created_at, role, content, …}` as canonical JSON, which an export copies unchanged. */
  text: string;
}

/** The kinds of parts that are plain JSON. */
const PLAIN_PARTS = new Set(["text", "reasoning", "tool-call", "tool-result"]);

/** Converts a message of the AI SDK to its stored form. */
export function newMessage(
  ids: Pick<Ids, "next">,
  createdAt: number,
  message: { role: string; content: unknown },
): NewMessage {
  const { content } = message;
  const isPlain = typeof content === "string" ||
    (Array.isArray(content) && content.every((part) => PLAIN_PARTS.has(part?.type)));
  const json = isPlain ? toPlainJsonText(message) : toJsonText(message);
  const id = ids.next("msg");
  const write = (parse: (text: string) => unknown) =>
    canonicalize({ ...parse(json) as object, id, created_at: toIso(createdAt) });
  const written = write(JSON.parse);
  return { id, createdAt, text: (written.hasBackslashKey ? write(parseSlowly) : written).text };
}
