import { HOUR_MS, toIso } from "../../kernel/clock.ts";
import type { BillLine } from "../lines/bill_line.ts";
import { type Answer, dollarsOf, type Fields, textOf, timeOf, windowsOf } from "./answer.ts";
import {
  type BillPage,
  type BillRequest,
  type BillSource,
  fetchAll,
  type FetchContext,
  type FetchQuery,
} from "./bill_source.ts";

/* The requests, names and units that the reports of Anthropic share. */

/** The access to each of its reports. */
export const ANTHROPIC_ACCESS = {
  origin: "https://api.anthropic.com",
  key: {
    variable: "ANTHROPIC_ADMIN_KEY",
    scope: "an Admin key, or a key with the scope read:analytics",
    headers: (key) => ({ "x-api-key": key, "anthropic-version": "2023-06-01" }),
  },
} as const satisfies Pick<NonNullable<BillSource["fetch"]>, "origin" | "key">;

/** The terms of each of its reports. The documents of the legacy ones say: within 5 minutes, sometimes later. */
export const ANTHROPIC_TERMS = {
  provider: "anthropic",
  delayMs: HOUR_MS,
  finalAfterDays: 5,
  mapping: 1,
  series: ["usage", "cost"],
} as const;

/** The parts by the names of kinds of tokens. */
const TOKEN_TYPES: Readonly<Record<string, string>> = {
  uncached_input_tokens: "input_tokens",
  cache_read_input_tokens: "cache_read_tokens",
  "cache_creation.ephemeral_5m_input_tokens": "cache_write_tokens",
  "cache_creation.ephemeral_1h_input_tokens": "cache_write_1h_tokens",
  output_tokens: "output_tokens",
};
const COST_TYPES: Readonly<Record<string, string>> = {
  web_search: "web_searches",
  code_execution: "code_executions",
  session_usage: "",
};

/** The fields of lines by the names of dimensions. */
const DIMENSIONS: Readonly<Record<string, keyof BillLine>> = {
  model: "model",
  api_key_id: "credential",
  workspace_id: "project",
  account_id: "actor",
  service_tier: "serviceTier",
  context_window: "context",
  inference_geo: "region",
  speed: "speed",
};

/** Returns the dimensions of a group; those without a field are kept under `other`. */
function dimensionsOf(answer: Answer, group: Fields, ignored: readonly string[]): Partial<BillLine> {
  const line: Record<string, unknown> = {};
  const other: Record<string, string> = {};
  for (const [name, value] of Object.entries(group)) {
    const text = textOf(value);
    if (ignored.includes(name) || value === null) continue;
    const field = DIMENSIONS[name];
    if (field !== undefined && text !== undefined) line[field] = text;
    else {
      other[name] = text ?? JSON.stringify(value);
      answer.count(`field ${name}`);
    }
  }
  if (line.serviceTier === "batch") line.isBatch = true;
  return { ...line, ...(Object.keys(other).length > 0 && { other }) };
}

/** Adds the line of an amount of money: amounts are texts of cents, also fractional ones. */
function addCost(answer: Answer, line: BillLine, row: Fields): void {
  const { cost_type, token_type, amount, list_amount, currency, description } = row;
  const [type, tokens] = [textOf(cost_type), textOf(token_type)];
  const part = tokens === undefined ? COST_TYPES[type ?? ""] : TOKEN_TYPES[tokens];
  const isKnown = part !== undefined || (tokens === undefined && type === undefined);
  if (!isKnown) answer.count(tokens === undefined ? `cost_type ${type}` : `token_type ${tokens}`);
  answer.lines.push({
    ...line,
    part: part || undefined,
    sku: tokens ?? type ?? textOf(description),
    amount: dollarsOf(amount),
    listAmount: dollarsOf(list_amount),
    currency: textOf(currency)?.toUpperCase(),
  });
}

const TOOLS = ["web_search_requests", "web_fetch_requests", "code_execution_requests"];
const CACHE = ["ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"];

/** The names of the fields of a cost and of a usage that are no dimensions. */
const COST_FIELDS = ["amount", "currency", "description", "cost_type", "token_type"];
export const USAGE_FIELDS = [
  ...["uncached_input_tokens", "cache_read_input_tokens", "cache_creation", "output_tokens", "requests"],
  ...["total_tokens", "server_tool_use"],
];

/** Adds the lines of a usage: one for each kind of tokens, for the requests and for the searches. */
function addUsage(answer: Answer, line: BillLine, usage: Fields): void {
  const cache = answer.fields(usage.cache_creation ?? {}, "cache_creation", CACHE);
  const tools = answer.fields(usage.server_tool_use ?? {}, "server_tool_use", TOOLS);
  answer.addParts(line, {
    input_tokens: usage.uncached_input_tokens,
    cache_read_tokens: usage.cache_read_input_tokens,
    cache_write_tokens: cache.ephemeral_5m_input_tokens,
    cache_write_1h_tokens: cache.ephemeral_1h_input_tokens,
    output_tokens: usage.output_tokens,
    requests: usage.requests,
    web_searches: tools.web_search_requests,
  });
}

/** Adds the lines of a row: those of its cost or its usage, with its bucket and the dimensions of its group. */
export function addRow(
  answer: Answer,
  { isCost, bucket, group, row }: { isCost: boolean; bucket: Fields; group: Fields; row: Fields },
): void {
  const line: BillLine = {
    series: isCost ? "cost" : "usage",
    category: "usage",
    startsAt: timeOf(bucket.starting_at, "starting_at"),
    endsAt: timeOf(bucket.ending_at, "ending_at"),
    ...dimensionsOf(answer, group, isCost ? COST_FIELDS : USAGE_FIELDS),
  };
  if (isCost) addCost(answer, line, row);
  else addUsage(answer, line, row);
}

/** A report of usage or of costs: the requests for it, but for their windows of at most some days. */
export interface Report extends BillRequest {
  isCost: boolean;
  days: number;
}

/** Fetches reports, one after the other. */
export function fetchReports(
  ctx: FetchContext,
  { from, to, page }: FetchQuery,
  reports: readonly Report[],
  read: (body: unknown, report: Report) => BillPage,
): AsyncIterable<BillPage> {
  const parts = reports.flatMap((report) =>
    windowsOf({ from, to }, report.days).map((window) => ({ ...report, window }))
  );
  const time = (at: number) => toIso(at).replace(".000", "");
  return fetchAll(ctx, page, parts, {
    requestOf: ({ path, headers, query, window }, token) => ({
      ...{ path, headers },
      query: { starting_at: time(window.from), ending_at: time(window.to), ...query, page: token },
    }),
    read: (body, report) => read(body, report),
  });
}
