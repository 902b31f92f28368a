/** A message of a session: the shape of the AI SDK's model messages, plus `id` and `created_at`. */
export interface SessionMessage {
  id: string;
  created_at: string;
  role: "user" | "assistant" | "tool" | "system";
  content: unknown;
  [field: string]: unknown;
}

/** A message that is about to be kept. `message` must be plain JSON. */
export interface NewMessage {
  id: string;
  createdAt: number;
  message: { role: string; content: unknown };
}

/** Messages as a JSON array of `[id, created_at, content]`, the content as text so that it stays as it is. */
export function encodeMessages(messages: readonly NewMessage[]): string {
  return JSON.stringify(
    messages.map(({ id, createdAt, message }) => [id, createdAt, JSON.stringify(message)]),
  );
}
