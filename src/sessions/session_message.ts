import type { Ids } from "../ids.ts";
import { toJsonText, toPlainJsonText } from "../json.ts";

/** A message of a session: the shape of the AI SDK's model messages, plus `id` and `created_at`. */
export interface SessionMessage {
  id: string;
  created_at: string;
  role: "user" | "assistant" | "tool" | "system";
  content: unknown;
  [field: string]: unknown;
}

/** A message that is about to be kept. */
export interface NewMessage {
  id: string;
  createdAt: number;
  /** `{role, content, …}` as JSON text. */
  json: string;
}

/** What messages of text and tool calls are made of; all of it is plain JSON already. */
const PLAIN_PARTS = new Set(["text", "reasoning", "tool-call", "tool-result"]);

/** A message of the AI SDK as it is kept. */
export function newMessage(
  ids: Pick<Ids, "next">,
  createdAt: number,
  message: { role: string; content: unknown },
): NewMessage {
  const { content } = message;
  const isPlain = typeof content === "string" ||
    (Array.isArray(content) && content.every((part) => PLAIN_PARTS.has(part?.type)));
  return { id: ids.next("msg"), createdAt, json: isPlain ? toPlainJsonText(message) : toJsonText(message) };
}

/** Messages as a JSON array of `[id, created_at, content]`, the content as text so that it stays as it is. */
export function encodeMessages(messages: readonly NewMessage[]): string {
  return JSON.stringify(
    messages.map(({ id, createdAt, json }) => [id, createdAt, json]),
  );
}
