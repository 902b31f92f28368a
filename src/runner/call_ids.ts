import { createHash } from "node:crypto";

/** A part of a message with the id of a tool call. */
interface CallPart {
  type: string;
  toolCallId?: string;
}

/** The ids of tool calls that a provider accepts. */
interface IdRule {
  pattern: RegExp;
  /** The beginning of a replacement, and the length of the hash after it. */
  prefix: string;
  hashLength: number;
  /** True if it refuses an id that an earlier call has. */
  isUnique?: boolean;
}

const WORDS: Omit<IdRule, "pattern"> = { prefix: "call_", hashLength: 24 };

/**
 * The rules by what the AI SDK's model calls its provider, as of 2026-11-26: `tool_use.id: String should match pattern
 * '^[a-zA-Z0-9_-]+$'` (https://github.com/langchain-ai/langchain/pull/37756), `call_id` of at most 64 characters
 * (https://github.com/experientiallabs/experiential/pull/801), chat's of at most 40 (https://github.com/vercel/ai/issues/5171), Mistral's
 * "a-z, A-Z, 0-9, with a length of 9" (https://github.com/editor-code-assistant/eca/issues/233). Gemini takes any.
 */
const RULES: readonly [provider: RegExp, rule: IdRule | undefined][] = [
  [/anthropic|bedrock/, { ...WORDS, pattern: /^[a-zA-Z0-9_-]{1,64}$/, isUnique: true }],
  [/^google|vertex|generative-ai/, undefined],
  [/mistral/, { pattern: /^[a-zA-Z0-9]{9}$/, prefix: "", hashLength: 9 }],
  [/\.responses$/, { ...WORDS, pattern: /^.{1,64}$/s }],
  [/./, { ...WORDS, pattern: /^.{1,40}$/s }],
];

/**
 * Replaces the ids of tool calls that a provider refuses, as where a session continues with the model of another one:
 * `functions.search:0` of Kimi's, with Claude. The same ids are replaced in the same way each time, so that prompts stay cached.
 */
export function fitCallIds<T extends { content: unknown }>(messages: readonly T[], provider: string): T[] {
  const rule = RULES.find(([name]) => name.test(provider))?.[1];
  if (!rule) return [...messages];
  const counts = new Map<string, number>();
  /** The new ids of calls, oldest first, until their results have come. */
  const open = new Map<string, string[]>();
  const fit = (part: CallPart): CallPart => {
    const { type, toolCallId: id } = part;
    if (typeof id !== "string") return part;
    const calls = open.get(id) ?? [];
    open.set(id, calls);
    if (type === "tool-call") {
      const earlier = counts.get(id) ?? 0;
      counts.set(id, earlier + 1);
      const isFit = rule.pattern.test(id) && !(rule.isUnique && earlier > 0);
      calls.push(isFit ? id : replacementOf(earlier === 0 ? id : `${id} ${earlier}`, rule));
    }
    const toolCallId =
      (type === "tool-call" ? calls.at(-1) : type === "tool-result" ? calls.shift() : calls[0]) ?? id;
    return toolCallId === id ? part : { ...part, toolCallId };
  };
  return messages.map((message) => {
    const { content } = message;
    if (!Array.isArray(content)) return message;
    const parts = content.map(fit);
    return parts.every((part, index) => part === content[index]) ? message : { ...message, content: parts };
  });
}

function replacementOf(id: string, { prefix, hashLength }: IdRule): string {
  return prefix + createHash("sha256").update(id).digest("hex").slice(0, hashLength);
}
