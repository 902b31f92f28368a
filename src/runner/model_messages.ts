import type { ModelMessage } from "ai";
import type { SessionMessage } from "../sessions/mod.ts";

/** A session's message as the AI SDK takes it: without what is Purser's own, and with URLs as objects again. */
export function toModelMessage(
  { id: _id, created_at: _createdAt, ...message }: SessionMessage,
): ModelMessage {
  const { content } = message;
  const revived = Array.isArray(content) ? { ...message, content: content.map(revivePart) } : message;
  return revived as unknown as ModelMessage;
}

interface Part {
  data?: unknown;
  output?: { type?: unknown; value?: unknown };
}

/** In JSON, a URL that says it is one is text; the SDK checks for the object. */
function revivePart(part: Part): Part {
  const { data, output } = part;
  if (isUrlData(data)) return { ...part, data: { ...data, url: new URL(data.url) } };
  if (output?.type !== "content" || !Array.isArray(output.value)) return part;
  return { ...part, output: { ...output, value: output.value.map(revivePart) } };
}

function isUrlData(data: unknown): data is { type: "url"; url: string } {
  const { type, url } = (data ?? {}) as { type?: unknown; url?: unknown };
  return type === "url" && typeof url === "string" && URL.canParse(url);
}
