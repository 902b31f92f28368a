import type { ModelMessage } from "ai";
import { PurserError } from "../../kernel/errors.ts";
import { listMessages, type SessionContext, type SessionMessage } from "../../sessions/mod.ts";

/** Reads the messages of a session for the AI SDK. */
export async function readModelMessages(
  ctx: Pick<SessionContext, "store">,
  sessionId: string,
): Promise<ModelMessage[]> {
  const messages = await listMessages(ctx, sessionId).catch((error) => {
    // Wrapped, so that it is not reported as an error of the model.
    if (error.cause instanceof PurserError) throw error.cause;
    if (error instanceof PurserError) throw error; // the database is unavailable
    throw new PurserError("internal", `Cannot read the messages of session ${sessionId}`, { cause: error });
  });
  return toModelMessages(messages);
}

/** The kinds of parts that the AI SDK accepts, by role. */
const PARTS: Readonly<Record<string, ReadonlySet<unknown>>> = {
  user: new Set(["text", "image", "file"]),
  assistant: new Set([
    ...["text", "file", "reasoning", "reasoning-file", "custom"],
    ...["tool-call", "tool-result", "tool-approval-request"],
  ]),
  tool: new Set(["tool-result", "tool-approval-response"]),
};

/**
 * Converts messages to the form of the AI SDK: without Purser's own fields, and with URLs as objects. Parts of an unknown
 * kind, as from a snapshot of a later version, stay in the session and are not sent.
 */
function toModelMessages(messages: readonly SessionMessage[]): ModelMessage[] {
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

/** Restores URL objects, which JSON keeps as text. */
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
