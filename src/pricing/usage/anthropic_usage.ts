import type { Asked } from "./asked.ts";
import { count, type Fields, isFields } from "./fields.ts";
import { readWrites } from "./openai_usage.ts";
import { faultOfUsage, MAX_MODELS, type ModelUsage, type Usage, usageOf } from "./usage.ts";

/**
 * The usage of Anthropic's API, which counts neither cache reads nor cache writes in `input_tokens`. With `iterations`
 * (compaction) the totals exclude the sampling of the compaction, so the iterations of the executor are summed; those of an
 * advisor are the usage of another model. An answer of a fallback is included in the totals.
 * https://platform.claude.com/docs/en/build-with-claude/compaction#understanding-usage
 */
export function readAnthropic(raw: Fields, asked?: () => Asked): Partial<Usage> | undefined {
  const iterations = iterationsOf(raw);
  const executor = iterations.some(({ type }) => type === "fallback_message")
    ? []
    : iterations.filter(({ type }) => type === "compaction" || type === "message");
  const counts = readCounts(raw, executor.length === 0 ? [raw] : executor, asked);
  if (counts === undefined) return undefined;
  const tools = isFields(raw.server_tool_use) ? raw.server_tool_use : {};
  const searches = count(tools, "web_search_requests") ?? 0;
  const fetches = count(tools, "web_fetch_requests") ?? 0;
  const advice = iterations.filter(({ type }) => type === "advisor_message");
  const models = advice.flatMap((one) => readModel(one) ?? []).slice(0, MAX_MODELS);
  return {
    ...counts,
    reasoningTokens: count(raw, "output_tokens_details", "thinking_tokens"),
    details: {
      ...counts.details,
      web_searches: searches,
      // "Code execution is free when used with web search or web fetch."
      // https://platform.claude.com/docs/en/agents-and-tools/tool-use/code-execution-tool#usage-and-pricing
      code_executions: searches + fetches > 0 ? 0 : count(tools, "code_execution_requests"),
      advisor_calls: advice.length - models.length,
    },
    models,
  };
}

type Counts = Pick<
  Usage,
  | "inputTokens"
  | "outputTokens"
  | "cacheReadTokens"
  | "cacheWriteTokens"
  | "cacheWrite1hTokens"
  | "details"
  | "others"
>;

/** Sums the counts of some iterations, or reads those of the one object that has the totals. */
function readCounts(
  raw: Fields,
  parts: readonly Fields[],
  asked: (() => Asked) | undefined,
): Partial<Counts> | undefined {
  const sum = (key: string): number | undefined => {
    let total: number | undefined;
    for (const part of parts) {
      const number = count(part, key);
      if (number !== undefined) total = (total ?? 0) + number;
    }
    return total ?? count(raw, key);
  };
  const input = sum("input_tokens");
  const outputTokens = sum("output_tokens");
  if (input === undefined && outputTokens === undefined) return undefined;
  const cacheReadTokens = sum("cache_read_input_tokens") ?? 0;
  const short = lifetimeSum(raw, parts, "ephemeral_5m_input_tokens");
  const oneHour = lifetimeSum(raw, parts, "ephemeral_1h_input_tokens");
  // A total of 0 beside a breakdown is one that was lost on the way.
  const writes = Math.max(sum("cache_creation_input_tokens") ?? 0, short + oneHour);
  const missing = writes - short - oneHour;
  // Writes missing from the breakdown, which may be older than the total in a stream, count for the only lifetime that it has.
  const isOneHour = oneHour > 0 && short === 0;
  return {
    inputTokens: (input ?? 0) + cacheReadTokens + writes,
    outputTokens,
    cacheReadTokens,
    ...readWrites(
      {
        writes,
        writes1h: oneHour + (isOneHour ? missing : 0),
        writes12h: 0,
        openWrites: short + oneHour > 0 ? 0 : missing,
        isDefaultKnown: true,
      },
      asked,
      undefined,
    ),
  };
}

/**
 * Sums the writes of one lifetime. The totals leave out the compactions, and the iterations of messages may lack the breakdown.
 */
function lifetimeSum(raw: Fields, parts: readonly Fields[], name: string): number {
  const own = count(raw, "cache_creation", name) ?? 0;
  if (parts[0] === raw) return own;
  const sumOf = (type: string) =>
    parts.filter((part) => part.type === type)
      .reduce((sum, part) => sum + (count(part, "cache_creation", name) ?? 0), 0);
  return sumOf("compaction") + Math.max(sumOf("message"), own);
}

export function iterationsOf({ iterations }: Fields): Fields[] {
  return Array.isArray(iterations) ? iterations.filter(isFields) : [];
}

/** Reads the iteration of another model; undefined where it doesn't name it. */
function readModel(iteration: Fields): ModelUsage | undefined {
  const { model } = iteration;
  const counts = readCounts(iteration, [iteration], undefined);
  if (typeof model !== "string" || !MODEL_NAME.test(model) || counts === undefined) return undefined;
  const usage = usageOf(counts);
  return faultOfUsage(usage) ? undefined : { model, usage };
}

/** A name of a model that is accepted from a provider. */
export const MODEL_NAME = /^[^\s\p{C}]{1,200}$/u;
