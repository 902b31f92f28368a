import { HOUR_MS, toIso } from "../../kernel/clock.ts";
import type { BillLine } from "../lines/bill_line.ts";
import { movePoint } from "../lines/decimal.ts";
import { type Answer, type Fields, textOf, timeOf } from "./answer.ts";
import type { BillSource } from "./bill_source.ts";

/* The names and units that the reports of Anthropic share. */

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
  countsBy: "unknown",
  mapping: 1,
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

/** Returns the dimensions of a row; those without a field are kept under `other`. */
export function dimensionsOf(answer: Answer, group: Fields, ignored: readonly string[]): Partial<BillLine> {
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
export function addCost(answer: Answer, line: BillLine, row: Fields): void {
  const { cost_type, token_type, amount, list_amount, currency, description } = row;
  const [type, tokens] = [textOf(cost_type), textOf(token_type)];
  const part = tokens === undefined ? COST_TYPES[type ?? ""] : TOKEN_TYPES[tokens];
  const isKnown = part !== undefined || (tokens === undefined && type === undefined);
  if (!isKnown) answer.count(tokens === undefined ? `cost_type ${type}` : `token_type ${tokens}`);
  const dollars = (cents: unknown) => {
    const text = textOf(cents);
    return text === undefined ? undefined : movePoint(text, -2, "an amount of Anthropic's");
  };
  answer.lines.push({
    ...line,
    series: "cost",
    part: part || undefined,
    sku: tokens ?? type ?? textOf(description),
    amount: dollars(amount),
    listAmount: dollars(list_amount),
    currency: textOf(currency)?.toUpperCase(),
  });
}

const USAGE = [
  "uncached_input_tokens",
  "cache_read_input_tokens",
  "cache_creation",
  "output_tokens",
  "requests",
];
const TOOLS = ["web_search_requests", "web_fetch_requests", "code_execution_requests"];
const CACHE = ["ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"];

/** The names of the fields of a usage that are no dimensions. */
export const USAGE_FIELDS = [...USAGE, "total_tokens", "server_tool_use"];

/** Adds the lines of a usage: one for each kind of tokens, for the requests and for the searches. */
export function addUsage(answer: Answer, line: BillLine, usage: Fields): void {
  const cache = answer.fields(usage.cache_creation ?? {}, "cache_creation", CACHE);
  const tools = answer.fields(usage.server_tool_use ?? {}, "server_tool_use", TOOLS);
  answer.addParts({ ...line, series: "usage" }, {
    input_tokens: usage.uncached_input_tokens,
    cache_read_tokens: usage.cache_read_input_tokens,
    cache_write_tokens: cache.ephemeral_5m_input_tokens,
    cache_write_1h_tokens: cache.ephemeral_1h_input_tokens,
    output_tokens: usage.output_tokens,
    requests: usage.requests,
    web_searches: tools.web_search_requests,
  });
}

/** Returns the bucket of a row. */
export const bucketOf = ({ starting_at, ending_at }: Fields) => ({
  startsAt: timeOf(starting_at, "starting_at"),
  endsAt: timeOf(ending_at, "ending_at"),
});

/** Returns the parameters of a window. */
export const windowQuery = ({ from, to }: { from: number; to: number }) => ({
  starting_at: toIso(from).replace(".000", ""),
  ending_at: toIso(to).replace(".000", ""),
});
