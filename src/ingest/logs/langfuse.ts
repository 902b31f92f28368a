import { toProviderName } from "../../contract/costs/provider_names.ts";
import { toIso } from "../../kernel/clock.ts";
import { HOLES } from "./holes.ts";
import type { LogSink, RecordsRequest } from "./importer.ts";
import type { Usage } from "../../pricing/mod.ts";
import { type Fields, fieldsOf, textOf, usageFrom } from "./log_record.ts";
import {
  defineTool,
  idsByLiteLlm,
  objectOf,
  statedOf,
  tagsIn,
  tellCall,
  textsOf,
  tokensOf,
  utcOf,
} from "./tool_records.ts";

/** The types of observations that are model calls. What else has counts, such as an agent, repeats those of its calls. */
const CALLS = ["GENERATION", "EMBEDDING"];

/** The versions of the API, the newest first; the other one has no users, sessions and tags. */
const VERSIONS: readonly RecordsRequest[] = [
  {
    path: "/api/public/v2/observations",
    query: { limit: "1000", fields: "core,basic,model,usage,metadata,trace_context" },
  },
  { path: "/api/public/observations", query: { limit: "100", page: "1" } },
];

/** Langfuse's observations: its exports as CSV, JSON and JSON lines, and its API. */
export default defineTool({
  name: "langfuse",
  title: "Langfuse",
  seen: "4, from its sources, and 3 (API v1), 2026-08",
  holes: HOLES.langfuse,
  table: "Langfuse's observations",
  required: ["id", "type", "startTime"],
  known:
    "traceId projectId name endTime completionStartTime parentObservationId level statusMessage version release environment createdAt " +
    "updatedAt eventTs isDeleted bookmarked public isRootObservation userId sessionId tags traceTags traceName traceTimestamp input output " +
    "metadata model providedModelName internalModelId modelId modelParameters usageDetails costDetails providedUsageDetails " +
    "providedCostDetails totalCost usagePricingTierId usagePricingTierName usage unit promptTokens completionTokens totalTokens inputUsage " +
    "outputUsage totalUsage inputCost outputCost calculatedInputCost calculatedOutputCost calculatedTotalCost inputPrice outputPrice " +
    "totalPrice promptId promptName promptVersion latency timeToFirstToken toolDefinitions toolCalls toolCallNames toolDefinitionsCount " +
    "toolCallsCount scores comments",
  // Exports to a bucket have the names of columns.
  nameOf: (field) => field.replaceAll(/_([a-z])/g, (_, letter) => letter.toUpperCase()),
  read: readObservation,
  api: {
    variables: ["LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY"],
    scope: "the public and the secret key of a project",
    headers: (key) => ({ authorization: `Basic ${btoa(key)}` }),
    requests: ({ from, to }) =>
      VERSIONS.map(({ path, query }) =>
        CALLS.map((type) => ({
          path,
          query: { ...query, type, fromStartTime: toIso(from), toStartTime: toIso(to) },
        }))
      ),
    next(_, answer, { query }): RecordsRequest["query"] | undefined {
      const meta = fieldsOf(fieldsOf(answer).meta);
      const cursor = textOf(meta.cursor);
      if (cursor !== undefined) return { cursor };
      const page = Number(query.page);
      return page < Number(meta.totalPages) ? { page: `${page + 1}` } : undefined;
    },
  },
});

function readObservation(row: Fields, sink: LogSink): void {
  if (!CALLS.includes(textOf(row.type)!)) return;
  const unit = textOf(row.unit ?? objectOf(row.usage).unit) ?? "TOKENS";
  if (unit !== "TOKENS") return sink.unmetered(`a call that is counted in ${unit.toLowerCase()}`);
  const metadata = objectOf(row.metadata);
  const attributes = objectOf(metadata.attributes);
  const id = textOf(row.id)!;
  // LiteLLM names its observations after the time and the answer.
  const answer = textOf(attributes["gen_ai.response.id"]) ?? /^time-[\d-]+_(.{8,})$/.exec(id)?.[1];
  const provider = textOf(
    attributes["gen_ai.provider.name"] ?? attributes["gen_ai.system"] ?? metadata.ls_provider,
  );
  tellCall(sink, {
    ref: id,
    ...idsByLiteLlm(answer),
    provider: provider && toProviderName(provider),
    model: textOf(row.providedModelName ?? row.model),
    at: utcOf(row.startTime),
    endedAt: row.endTime,
    ...usageIn(row, sink),
    hasFailed: row.level === "ERROR",
    statedCostUsd: statedOf(row.totalCost ?? objectOf(row.costDetails).total ?? row.calculatedTotalCost),
    session: textOf(row.sessionId),
    tags: tagsIn({
      user: row.userId,
      environment: row.environment === "default" ? undefined : row.environment,
      langfuse_tags: textsOf(row.tags ?? row.traceTags).join(","),
    }),
  });
}

/**
 * Adds up the buckets of an observation, which share no token by Langfuse's documentation. Programs also send OpenAI's counts, in which
 * the input has the cached tokens; their total shows it, as it has them once. A total that is neither sum is disputed.
 */
function usageIn(row: Fields, sink: LogSink): { usage: Usage; isDisputed: boolean } {
  const usage = objectOf(row.usage);
  const details = objectOf(row.usageDetails);
  const buckets = Object.keys(details).length > 0 ? details : {
    input: usage.input ?? row.promptTokens,
    output: usage.output ?? row.completionTokens,
    total: usage.total ?? row.totalTokens,
  };
  const sums = { total: 0, input: 0, read: 0, write: 0, write1h: 0, output: 0, reasoning: 0, besides: 0 };
  for (const [name, value] of Object.entries(buckets)) {
    const part = PARTS.find(([pattern]) => pattern.test(name))?.[1];
    if (part !== undefined) sums[part] += tokensOf(value);
    else if (tokensOf(value) > 0) sink.unknown(`usage ${name.slice(0, 60)}`);
  }
  const { total, input, read, write, write1h, output, reasoning, besides } = sums;
  const [cached, said] = [read + write + write1h, reasoning + besides];
  const isInclusive = total === input + output && cached <= input && said <= output;
  return {
    usage: usageFrom({
      inputTokens: isInclusive ? input : input + cached,
      outputTokens: isInclusive ? output : output + said,
      cacheReadTokens: read,
      cacheWriteTokens: write + write1h,
      cacheWrite1hTokens: write1h,
      reasoningTokens: reasoning,
    }),
    isDisputed: !isInclusive && total !== 0 && total !== input + output + cached + said,
  };
}

/** The buckets by their names, as Langfuse and its SDKs write them (2026-08); the first pattern that fits. */
const PARTS = [
  [/^total(_tokens)?$/, "total"],
  [/^(input_)?cache(d|_read)(_input)?(_tokens)?$/, "read"],
  [/^(input_)?cache_(creation|write)(_ephemeral)?_1h(_input)?(_tokens)?$/, "write1h"],
  [/^(input_)?cache_(creation|write)(_ephemeral)?(_5m)?(_input)?(_tokens)?$/, "write"],
  [/^output_reasoning(_tokens)?$/, "reasoning"],
  [/^output_(audio|text|image|accepted_prediction|rejected_prediction)(_tokens)?$/, "besides"],
  [/^(output|completion)(_tokens)?$/, "output"],
  [/^(input|prompt)(_tokens|_audio_tokens|_audio|_text_tokens|_image_tokens)?$/, "input"],
] as const;
