import type { ModelMessage } from "ai";
import type { SessionMessage } from "../../sessions/mod.ts";

/** The kinds of parts that the AI SDK takes, by role. */
const PARTS: Readonly<Record<string, ReadonlySet<unknown>>> = {
  user: new Set(["text", "image", "file"]),
  assistant: new Set([
    ...["text", "file", "reasoning", "reasoning-file", "custom"],
    ...["tool-call", "tool-result", "tool-approval-request"],
  ]),
  tool: new Set(["tool-result", "tool-approval-response"]),
};

/**
 * A session's messages as the AI SDK takes them: without what is Purser's own, and with URLs as objects again. Parts
 * of a kind that it does not know, which a snapshot of a later version may have brought, stay in the session and
 * are not sent.
 */
export function toModelMessages(messages: readonly SessionMessage[]): ModelMessage[] {
  return messages.flatMap(({ id: _id, created_at: _createdAt, ...message }) => {
    const { role, content } = message;
    if (!Array.isArray(content)) return [message as unknown as ModelMessage];
    const known = content.filter((part) => PARTS[role]?.has(part?.type));
    if (known.length === 0 && content.length > 0) return [];
    return [{ ...message, content: known.map(revivePart) } as unknown as ModelMessage];
  });
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
