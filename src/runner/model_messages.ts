import type { ModelMessage } from "ai";
import type { SessionMessage } from "../sessions/mod.ts";

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
 *
 * Providers refuse a tool call without exactly one result right after it. A run stores an answer only together with the
 * results of its tools, but a restored session may end, or have a gap, anywhere. So what is sent is completed: a call without
 * a result gets one that says so, and a result that comes late is moved to its call. The session stays as it was restored.
 */
export function toModelMessages(messages: readonly SessionMessage[]): ModelMessage[] {
  const known = messages.flatMap(({ id: _id, created_at: _createdAt, ...message }): Message[] => {
    const { role, content } = message;
    if (!Array.isArray(content)) return [message];
    const parts = content.filter((part) => PARTS[role]?.has(part?.type));
    return parts.length === 0 && content.length > 0 ? [] : [{ ...message, content: parts.map(revivePart) }];
  });
  return completeCalls(known) as unknown as ModelMessage[];
}

type Message = Pick<SessionMessage, "role" | "content">;

/** A part of a message, with the fields of every kind that matters here. */
interface Part {
  type: string;
  toolCallId?: string;
  toolName?: string;
  /** True for a call that the provider runs. */
  providerExecuted?: boolean;
  approvalId?: string;
  approved?: boolean;
  reason?: string;
  data?: unknown;
  output?: { type?: unknown; value?: unknown };
}

function partsOf({ content }: Message): readonly Part[] {
  return Array.isArray(content) ? content : [];
}

/** Returns messages in which each tool call has one result, right after it. */
function completeCalls(messages: readonly Message[]): Message[] {
  const parts = messages.flatMap(partsOf);
  const resultOf = matchResults(parts);
  const isSent = findSentParts(parts, resultOf);
  const complete: Message[] = [];
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index]!;
    if (message.role === "tool") continue; // sent with the calls before it
    if (message.role !== "assistant" || !Array.isArray(message.content)) {
      complete.push(message);
      continue;
    }
    const content = partsOf(message).filter(isSent);
    // OpenAI refuses reasoning that nothing follows.
    if (content.some(({ type }) => !type.startsWith("reasoning"))) complete.push({ ...message, content });
    const calls = content.filter(isOwnCall);
    const due = new Set(calls.map((call) => resultOf.get(call) ?? noResult(call, parts)));
    while (messages[index + 1]?.role === "tool") {
      const next = messages[++index]!;
      const content = partsOf(next).filter((part) => due.delete(part) || isSent(part));
      if (content.length > 0) complete.push({ ...next, content });
    }
    if (due.size > 0) complete.push({ role: "tool", content: [...due] });
  }
  return complete;
}

/** Returns true for a call of a tool that Purser runs. */
function isOwnCall({ type, providerExecuted }: Part): boolean {
  return type === "tool-call" && !providerExecuted;
}

/** Matches calls with their results. Some servers repeat an id; a result is that of the latest call. */
function matchResults(parts: readonly Part[]): Map<Part, Part> {
  const open = new Map<string, Part[]>();
  const resultOf = new Map<Part, Part>();
  for (const part of parts) {
    const calls = open.get(part.toolCallId!) ?? [];
    if (part.type === "tool-call") open.set(part.toolCallId!, [...calls, part]);
    const call = part.type === "tool-result" ? calls.pop() : undefined;
    if (call) resultOf.set(call, part);
  }
  return resultOf;
}

/**
 * Returns whether a part is sent at its place. Results of Purser's tools aren't: they follow their call.
 * A call that the provider runs is left out without its result, which only the provider can give.
 */
function findSentParts(
  parts: readonly Part[],
  resultOf: ReadonlyMap<Part, Part>,
): (part: Part) => boolean {
  const ofProvider = new Set([...resultOf].filter(([call]) => !isOwnCall(call)).flat());
  const callIds = new Set([...ofProvider].map(({ toolCallId }) => toolCallId));
  const approvalIds = new Set(
    parts.filter(({ type, toolCallId }) => type === "tool-approval-request" && callIds.has(toolCallId))
      .map(({ approvalId }) => approvalId),
  );
  return (part) => {
    if (part.type === "tool-result") return ofProvider.has(part);
    if (part.type === "tool-approval-response") return approvalIds.has(part.approvalId);
    return part.type !== "tool-call" || isOwnCall(part) || ofProvider.has(part);
  };
}

/** Returns the result of a call that has none: a refusal, if the user has refused it. */
function noResult({ toolCallId, toolName }: Part, parts: readonly Part[]): Part {
  const requests = parts.filter((part) =>
    part.type === "tool-approval-request" && part.toolCallId === toolCallId
  );
  const refusal = parts.find((part) =>
    part.type === "tool-approval-response" && part.approved === false &&
    requests.some(({ approvalId }) => approvalId === part.approvalId)
  );
  const output = refusal
    ? { type: "execution-denied", ...(refusal.reason !== undefined && { reason: refusal.reason }) }
    : { type: "error-text", value: NO_RESULT };
  return { type: "tool-result", toolCallId, toolName, output } as Part;
}

const NO_RESULT = "There is no result: the run was interrupted before this tool had returned.";

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
