import { DAY_MS } from "../../kernel/clock.ts";
import type { BillLine } from "../lines/bill_line.ts";
import { movePoint } from "../lines/decimal.ts";
import {
  type Answer,
  type Fields,
  minus,
  readEntries,
  statedOf,
  textOf,
  timeOf,
  windowsOf,
} from "./answer.ts";
import { defineBillSource, fetchAll } from "./bill_source.ts";

/** The fields of lines by the names of dimensions. */
const DIMENSIONS: Readonly<Record<string, keyof BillLine>> = {
  model: "model",
  api_key_id: "credential",
  project_id: "project",
  user_id: "actor",
  service_tier: "serviceTier",
};
const DIMENSION_NAMES = [
  ...Object.keys(DIMENSIONS),
  ...["batch", "api_source", "size", "source", "context_level", "vector_store_id"],
];

const OF_MODEL = ["project_id", "api_key_id", "model"];

/** The usage reports: their dimensions, and the fields of the parts of a result; those of completions are parts of each other. */
const USAGE: Readonly<
  Record<string, { groupBy: readonly string[]; parts: Readonly<Record<string, string>> }>
> = {
  completions: { groupBy: [...OF_MODEL, "batch", "service_tier"], parts: {} },
  embeddings: { groupBy: OF_MODEL, parts: { input_tokens: "input_tokens" } },
  moderations: { groupBy: OF_MODEL, parts: { input_tokens: "input_tokens" } },
  images: { groupBy: [...OF_MODEL, "size", "source"], parts: { images: "images" } },
  audio_speeches: { groupBy: OF_MODEL, parts: { characters: "characters" } },
  audio_transcriptions: { groupBy: OF_MODEL, parts: { seconds: "seconds" } },
  code_interpreter_sessions: { groupBy: ["project_id"], parts: { code_executions: "num_sessions" } },
  file_search_calls: { groupBy: ["project_id", "api_key_id"], parts: { file_searches: "num_requests" } },
  web_search_calls: { groupBy: OF_MODEL, parts: { web_searches: "num_requests" } },
  vector_stores: { groupBy: ["project_id"], parts: { bytes: "usage_bytes" } },
};

const COMPLETION_FIELDS = [
  "input_tokens input_uncached_tokens input_cached_tokens input_cache_write_tokens",
  "input_cache_write_30m_tokens input_cache_write_12h_tokens",
  "input_text_tokens input_audio_tokens input_image_tokens",
  "input_cached_text_tokens input_cached_audio_tokens input_cached_image_tokens",
  "output_tokens output_text_tokens output_audio_tokens output_image_tokens",
].join(" ").split(" ");

/** Returns the parts of completions: counts that others are part of, less those. */
function completionParts(row: Fields): Fields {
  const { input_audio_tokens, input_image_tokens, output_audio_tokens, output_image_tokens } = row;
  const cached = [row.input_cached_tokens, row.input_cache_write_tokens];
  return {
    input_tokens: row.input_uncached_tokens == null
      ? minus(row.input_tokens, ...cached, input_audio_tokens, input_image_tokens)
      : minus(row.input_uncached_tokens, input_audio_tokens, input_image_tokens),
    ...{ input_audio_tokens, input_image_tokens },
    cache_read_tokens: minus(
      row.input_cached_tokens,
      row.input_cached_audio_tokens,
      row.input_cached_image_tokens,
    ),
    cache_read_audio_tokens: row.input_cached_audio_tokens,
    cache_read_image_tokens: row.input_cached_image_tokens,
    cache_write_tokens: minus(row.input_cache_write_tokens, row.input_cache_write_12h_tokens),
    cache_write_12h_tokens: row.input_cache_write_12h_tokens,
    output_tokens: minus(row.output_tokens, output_audio_tokens, output_image_tokens),
    ...{ output_audio_tokens, output_image_tokens },
  };
}

/** The most buckets of a page. */
const LIMITS = { "1m": 1_440, "1h": 168, "1d": 31, costs: 180 } as const;

/** OpenAI's usage and costs. */
export default defineBillSource({
  name: "openai",
  title: "OpenAI",
  seen: "2026-11-13, types of openai 7.57.0, admin.organization.usage",
  provider: "openai",
  delayMs: DAY_MS,
  finalAfterDays: 5,
  mapping: 1,
  holes: [
    "Lines have no response id, and the usage of decisions is not read",
    "Costs are by day, and name tier and batch only inside of a text",
    "OpenAI says that usage and costs may differ: costs are what the invoice has",
  ],
  series: ["usage", "cost"],
  hasMinutes: true,
  fetch: {
    origin: "https://api.openai.com",
    key: {
      variable: "OPENAI_ADMIN_KEY",
      scope: "an Admin key of the organization: keys of projects are refused",
      headers: (key) => ({ authorization: `Bearer ${key}` }),
    },
    fetchPages(ctx, { from, to, isByMinute, page }) {
      const width = isByMinute ? "1m" : "1h";
      const windows = windowsOf({ from, to }, 31);
      const parts = [...Object.keys(USAGE), "costs"].flatMap((report) =>
        windows.map((window) => ({ report, ...window }))
      );
      return fetchAll(ctx, page, parts, {
        requestOf: ({ report, from, to }, token) => ({
          path: `/v1/organization/${report === "costs" ? report : `usage/${report}`}`,
          query: {
            start_time: from / 1_000,
            end_time: to / 1_000,
            bucket_width: report === "costs" ? "1d" : width,
            "group_by[]": report === "costs"
              ? ["project_id", "api_key_id", "line_item"]
              : USAGE[report]!.groupBy,
            limit: report === "costs" ? LIMITS.costs : LIMITS[width],
            page: token,
          },
        }),
        read: (body, { report }) => readBuckets(body, report),
      });
    },
  },
});

const readBuckets = (body: unknown, report: string) =>
  readEntries(body, (answer, entry) => {
    const bucket = answer.fields(entry, "bucket", [
      ...["object", "start_time", "end_time", "start_time_iso", "end_time_iso", "results"],
    ]);
    const times = {
      startsAt: timeOf(bucket.start_time, "start_time"),
      endsAt: timeOf(bucket.end_time, "end_time"),
    };
    for (const result of answer.list(bucket.results, "results")) {
      if (report === "costs") addCost(answer, times, result);
      else addUsage(answer, times, report, result);
    }
  }, ["object"]);

type Times = Pick<BillLine, "startsAt" | "endsAt">;

function dimensionsOf(row: Fields, other: Readonly<Record<string, string | undefined>>) {
  const fields = Object.entries(DIMENSIONS).map(([name, field]) => [field, textOf(row[name])]);
  const { api_source, size, source } = row;
  return {
    ...Object.fromEntries(fields),
    other: statedOf({ ...other, api_source, size, source }),
  } as Partial<BillLine>;
}

function addUsage(answer: Answer, times: Times, report: string, result: unknown): void {
  const parts = Object.entries(USAGE[report]!.parts);
  const isCompletions = report === "completions";
  const known = isCompletions ? COMPLETION_FIELDS : parts.map(([, field]) => field);
  const row = answer.fields(result, report, ["object", "num_model_requests", ...DIMENSION_NAMES, ...known]);
  const batch = textOf(row.batch);
  const line: BillLine = {
    series: "usage",
    category: "usage",
    ...times,
    ...dimensionsOf(row, {}),
    sku: report,
    isBatch: batch === undefined ? undefined : batch === "true",
  };
  // Those of searches are counted with the tokens of their model, too.
  const requests = report === "web_search_calls" ? undefined : row.num_model_requests;
  const counts = isCompletions
    ? completionParts(row)
    : Object.fromEntries(parts.map(([part, field]) => [part, row[field]]));
  answer.addParts(line, { ...counts, requests });
}

/** The parts by the names that follow the model in a line item. */
const DIRECTIONS: Readonly<Record<string, string>> = {
  input: "input_tokens",
  input_tokens: "input_tokens",
  "cached input": "cache_read_tokens",
  cached_input_tokens: "cache_read_tokens",
  "cache write": "cache_write_tokens",
  cache_write_tokens: "cache_write_tokens",
  output: "output_tokens",
  output_tokens: "output_tokens",
  "text, input": "input_tokens",
  "text, cached input": "cache_read_tokens",
  "text, output": "output_tokens",
  "audio, input": "input_audio_tokens",
  "audio, cached input": "cache_read_audio_tokens",
  "audio, output": "output_audio_tokens",
  "image, input": "input_image_tokens",
  "image, cached input": "cache_read_image_tokens",
  "image, output": "output_image_tokens",
};
const TOOLS: Readonly<Record<string, string>> = {
  "web search tool calls": "web_searches",
  "assistants api | file search": "file_searches",
  "assistants api | code interpreter": "code_executions",
};

/**
 * Reads what a line item says: `MODEL, input`, `MODEL, input_tokens`, `MODEL text, input`, `evals | MODEL, input`, and names of tools;
 * undefined for any other form. Seen in 2026-06 to 2026-11.
 */
function readLineItem(item: string): { model?: string; part: string; product?: string } | undefined {
  if (Object.hasOwn(TOOLS, item)) return { part: TOOLS[item]! };
  const [rest, product] = item.split(" | ", 2).toReversed();
  const [, model, direction] = /^([^\s,]+) ((?:text|audio|image), .+)$/.exec(rest!) ??
    /^([^\s,]+), (.+)$/.exec(rest!) ?? [];
  const part = direction === undefined ? undefined : DIRECTIONS[direction];
  return part === undefined || model === undefined ? undefined : { model, part, ...(product && { product }) };
}

function addCost(answer: Answer, times: Times, result: unknown): void {
  const row = answer.fields(result, "costs", [
    ...["object", "amount", "line_item", "quantity", "quantity_unit", "organization_id", "organization_name"],
    ...["project_name", "user_email", ...DIMENSION_NAMES],
  ]);
  const amount = answer.fields(row.amount ?? {}, "amount", ["value", "currency"]);
  const item = textOf(row.line_item);
  const read = item === undefined ? undefined : readLineItem(item);
  if (item !== undefined && read === undefined) answer.count(`line item ${item}`);
  const unit = textOf(row.quantity_unit);
  const thousands = unit === "1000_tokens";
  const quantity = textOf(row.quantity);
  answer.lines.push({
    series: "cost",
    category: "usage",
    ...times,
    ...dimensionsOf(row, { product: read?.product }),
    model: read?.model,
    part: read?.part,
    sku: item,
    quantity: quantity !== undefined && thousands ? movePoint(quantity, 3) : quantity,
    unit: thousands ? "tokens" : unit,
    amount: textOf(amount.value),
    currency: textOf(amount.currency)?.toUpperCase(),
  });
}
