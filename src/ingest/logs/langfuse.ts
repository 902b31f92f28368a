import { toProviderName } from "../../contract/costs/provider_names.ts";
import { HOUR_MS, toIso } from "../../kernel/clock.ts";
import { HOLES } from "./holes.ts";
import { defineImporter, type LogSink } from "./importer.ts";
import { type Fields, fieldsOf, modelOf, textOf, usageFrom } from "./log_record.ts";
import {
  exportKinds,
  idsByLiteLlm,
  objectOf,
  recordReader,
  recordsIn,
  statedOf,
  tagsIn,
  textsOf,
  tokensOf,
  utcOf,
} from "./tool_records.ts";

/** The types of observations that are model calls. What else has counts, such as an agent, repeats those of its calls. */
const CALLS = ["GENERATION", "EMBEDDING"];

const record = recordReader({
  title: "Langfuse's observations",
  required: ["id", "type", "startTime"],
  known: (
    "traceId projectId name endTime completionStartTime parentObservationId level statusMessage version release environment createdAt " +
    "updatedAt eventTs isDeleted bookmarked public isRootObservation userId sessionId tags traceTags traceName traceTimestamp input output " +
    "metadata model providedModelName internalModelId modelId modelParameters usageDetails costDetails providedUsageDetails " +
    "providedCostDetails totalCost usagePricingTierId usagePricingTierName usage unit promptTokens completionTokens totalTokens inputUsage " +
    "outputUsage totalUsage inputCost outputCost calculatedInputCost calculatedOutputCost calculatedTotalCost inputPrice outputPrice " +
    "totalPrice promptId promptName promptVersion latency timeToFirstToken toolDefinitions toolCalls toolCallNames toolDefinitionsCount " +
    "toolCallsCount scores comments"
  ).split(" "),
  // Exports to a bucket have the names of columns.
  nameOf: (field) => field.replaceAll(/_([a-z])/g, (_, letter) => letter.toUpperCase()),
  read: readObservation,
});

/** Langfuse's observations: its exports as CSV, JSON and JSON lines, and its API. */
export default defineImporter({
  name: "langfuse",
  title: "Langfuse",
  seen: "4, from its sources, and 3 (API v1), 2026-08",
  holes: HOLES.langfuse,
  roots: () => [],
  kinds: exportKinds(record),
  api: {
    variables: ["LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY"],
    scope: "the public and the secret key of a project",
    headers: (key) => ({ authorization: `Basic ${btoa(key)}` }),
    lateMs: 2 * HOUR_MS,
    requests: ({ from, to }, isOlder) =>
      CALLS.map((type) => {
        const query = { type, fromStartTime: toIso(from), toStartTime: toIso(to) };
        return isOlder
          ? { path: "/api/public/observations", query: { ...query, limit: "100", page: "1" } }
          : { path: "/api/public/v2/observations", query: { ...query, limit: "1000", fields: FIELDS } };
      }),
    read(answer, { query }) {
      const meta = fieldsOf(fieldsOf(answer).meta);
      const [page, cursor] = [Number(query.page), textOf(meta.cursor)];
      const next: Record<string, string> = cursor === undefined ? { page: `${page + 1}` } : { cursor };
      const hasMore = cursor !== undefined || page < Number(meta.totalPages);
      return { records: recordsIn(answer), ...(hasMore && { next }) };
    },
    record,
  },
});

const FIELDS = "core,basic,model,usage,metadata,trace_context";

function readObservation(row: Fields, sink: LogSink): void {
  if (!CALLS.includes(textOf(row.type)!)) return;
  const unit = textOf(row.unit ?? objectOf(row.usage).unit) ?? "TOKENS";
  if (unit !== "TOKENS") return sink.unmetered(`a call that is counted in ${unit.toLowerCase()}`);
  const counts = countsOf(row, sink);
  const stated = statedOf(row.totalCost ?? objectOf(row.costDetails).total ?? row.calculatedTotalCost);
  const hasFailed = textOf(row.level) === "ERROR";
  if (counts.inputTokens + counts.outputTokens === 0 && stated === undefined) {
    return sink.unmetered(
      hasFailed ? "a call that has failed, without counts" : "a call without counts and cost",
    );
  }
  const at = utcOf(row.startTime);
  const metadata = objectOf(row.metadata);
  const attributes = objectOf(metadata.attributes);
  const id = textOf(row.id)!;
  // LiteLLM names its observations after the time and the answer.
  const answer = textOf(attributes["gen_ai.response.id"]) ?? /^time-[\d-]+_(.{8,})$/.exec(id)?.[1];
  const provider = textOf(
    attributes["gen_ai.provider.name"] ?? attributes["gen_ai.system"] ?? metadata.ls_provider,
  );
  const { marks = [], ...model } = modelOf(row.providedModelName ?? row.model);
  const { isDisputed, ...usage } = counts;
  const allMarks = [...marks, ...hasFailed ? ["failed"] : [], ...isDisputed ? ["disputed"] : []];
  const environment = textOf(row.environment);
  const tags = textsOf(row.tags ?? row.traceTags);
  const session = textOf(row.sessionId);
  sink.call({
    ref: id,
    ...(answer !== undefined && idsByLiteLlm(answer)),
    ...(provider !== undefined && { provider: toProviderName(provider) }),
    ...model,
    at,
    ...(row.endTime !== undefined && { durationMs: Math.max(0, utcOf(row.endTime) - at) }),
    usage: usageFrom(usage),
    quality: usage.inputTokens + usage.outputTokens === 0 ? "cost_only" : "exact",
    ...(allMarks.length > 0 && { marks: allMarks }),
    ...(stated !== undefined && { statedCostUsd: stated }),
    ...(session !== undefined && { session }),
    tags: tagsIn({
      user: row.userId,
      ...(environment !== "default" && { environment }),
      ...(tags.length > 0 && { langfuse_tags: tags.join(",") }),
    }),
  });
}

/** The counts of an observation. */
type Counts =
  & Record<
    | "inputTokens"
    | "outputTokens"
    | "cacheReadTokens"
    | "cacheWriteTokens"
    | "cacheWrite1hTokens"
    | "reasoningTokens",
    number
  >
  & { isDisputed: boolean };

/**
 * Adds up the buckets of an observation, which share no token by Langfuse's documentation. Programs also send OpenAI's counts, in which
 * the input has the cached tokens; their total shows it, as it has them once. A total that is neither sum is disputed.
 */
function countsOf(row: Fields, sink: LogSink): Counts {
  const usage = objectOf(row.usage);
  const details = objectOf(row.usageDetails);
  const buckets = Object.keys(details).length > 0 ? details : {
    input: usage.input ?? row.promptTokens,
    output: usage.output ?? row.completionTokens,
    total: usage.total ?? row.totalTokens,
  };
  const parts = {
    input: 0,
    cacheRead: 0,
    cacheWrite: 0,
    cacheWrite1h: 0,
    output: 0,
    reasoning: 0,
    otherOutput: 0,
  };
  let total: number | undefined;
  for (const [name, value] of Object.entries(buckets)) {
    const part = partOf(name);
    if (part === "total") total = value == null ? undefined : tokensOf(value);
    else if (part !== undefined) parts[part] += tokensOf(value);
    else if (tokensOf(value) > 0) sink.unknown(`usage ${name.slice(0, 60)}`);
  }
  const { input, output, cacheRead, cacheWrite, cacheWrite1h, reasoning, otherOutput } = parts;
  const [cached, said] = [cacheRead + cacheWrite + cacheWrite1h, reasoning + otherOutput];
  const isInclusive = total === input + output && cached + said > 0 && cached <= input && said <= output;
  return {
    inputTokens: isInclusive ? input : input + cached,
    outputTokens: isInclusive ? output : output + said,
    cacheReadTokens: cacheRead,
    cacheWriteTokens: cacheWrite + cacheWrite1h,
    cacheWrite1hTokens: cacheWrite1h,
    reasoningTokens: reasoning,
    isDisputed: !isInclusive && total !== undefined && total !== 0 &&
      total !== input + output + cached + said,
  };
}

/** The buckets by their names, as Langfuse and its SDKs write them (2026-08); the first pattern that fits. */
const PARTS = [
  [/^total(_tokens)?$/, "total"],
  [/^(input_)?cache(d|_read)(_input)?(_tokens)?$/, "cacheRead"],
  [/^(input_)?cache_(creation|write)(_ephemeral)?_1h(_input)?(_tokens)?$/, "cacheWrite1h"],
  [/^(input_)?cache_(creation|write)(_ephemeral)?(_5m)?(_input)?(_tokens)?$/, "cacheWrite"],
  [/^output_reasoning(_tokens)?$/, "reasoning"],
  [/^output_(audio|text|image|accepted_prediction|rejected_prediction)(_tokens)?$/, "otherOutput"],
  [/^(output|completion)(_tokens)?$/, "output"],
  [/^(input|prompt)(_tokens|_audio_tokens|_audio|_text_tokens|_image_tokens)?$/, "input"],
] as const;

const partOf = (name: string) => PARTS.find(([pattern]) => pattern.test(name))?.[1];
