import { startOf } from "../../contract/windows.ts";
import { HOUR_MS, MINUTE_MS, toIso } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import type { BillLine } from "../lines/bill_line.ts";
import { addDecimals, isZero } from "../lines/decimal.ts";
import { Answer, type Fields, minus, textOf, timeOf, windowsOf } from "./answer.ts";
import { defineBillSource, fetchAll } from "./bill_source.ts";
import { OPENROUTER_ACCESS, OPENROUTER_TERMS } from "./openrouter_activity.ts";

const METRICS =
  "request_count tokens_prompt tokens_completion cached_tokens credits_usage byok_fees byok_usage".split(" ");
const DIMENSIONS = ["generation_id", "model"];
/** The most rows of an answer, which has no further pages: a window with more is halved. */
const MAX_ROWS = 10_000;

/** OpenRouter's analytics by generation: one row for each call, also for streams that were cut. */
export default defineBillSource({
  ...OPENROUTER_TERMS,
  name: "openrouter",
  title: "OpenRouter",
  seen:
    "2026-07-10, github.com/OpenRouterTeam/skills, openrouter-analytics-query; npm @openrouter/sdk 1.3.19",
  delayMs: HOUR_MS,
  holes: [
    "Calls of the last 31 days only; openrouter-activity has days",
    "Reasoning tokens are part of output_tokens, and calls have no API key",
    "What another provider bills for BYOK is marked as an equivalent, and in no sum",
  ],
  areRowsDistinct: true,
  excludes: ["openrouter-activity"],
  fetch: {
    ...OPENROUTER_ACCESS,
    maxAgeDays: 31,
    fetchPages: (ctx, { from, to, page }) =>
      fetchAll(ctx, page, windowsOf({ from, to }, 1), {
        requestOf(day, token) {
          const { start, end } = spanOf(day, token);
          return {
            path: "/api/v1/analytics/query",
            body: {
              metrics: METRICS,
              dimensions: DIMENSIONS,
              granularity: "minute",
              time_range: { start: secondsOf(start), end: secondsOf(end) },
              limit: MAX_ROWS,
              group_limit: 1,
            },
          };
        },
        read: readCalls,
      }),
  },
});

const secondsOf = (at: number) => toIso(at).replace(/\.\d+/, "");

type Window = { from: number; to: number };

/** The part of a day that a token names: its start, and the hours or less that it lasts. */
function spanOf({ from, to }: Window, token: string | undefined): { start: number; end: number } {
  const [start = from, length = to - from] = (token ?? "").split("+").filter(Boolean).map(Number);
  return { start, end: Math.min(to, start + length) };
}

function readCalls(body: unknown, day: Window, token: string | undefined) {
  const answer = new Answer();
  const { start, end } = spanOf(day, token);
  const outer = answer.fields(body, "answer", ["data"]);
  const { data, metadata } = answer.fields(outer.data, "data", ["data", "metadata", "cachedAt", "warnings"]);
  const { truncated } = answer.fields(metadata, "metadata", ["truncated", "query_time_ms", "row_count"]);
  if (textOf(truncated) === "true") {
    if (end - start <= MINUTE_MS) {
      throw new PurserError(
        "provider_error",
        `Cannot read the minute of ${toIso(start)}: it has more than ${MAX_ROWS} calls`,
      );
    }
    const half = Math.max(MINUTE_MS, startOf("minute", (end - start) / 2 - 1, 1));
    return answer.page({ next: `${start}+${half}` });
  }
  for (const entry of answer.list(data, "data.data")) {
    addCall(answer, answer.fields(entry, "row", ["date__minute", ...DIMENSIONS, ...METRICS]));
  }
  const next = end < day.to ? `${end}+${end - start}` : undefined;
  return answer.page({ next });
}

function addCall(answer: Answer, row: Fields): void {
  const stated = textOf(row.date__minute) ?? "";
  // Times are of UTC, and may lack its mark.
  const at = timeOf(/(Z|[+-]\d{2}:?\d{2})$/.test(stated) ? stated : `${stated}Z`, "date__minute");
  const line = {
    category: "usage",
    startsAt: at,
    endsAt: at,
    responseId: textOf(row.generation_id),
    model: textOf(row.model),
  } as const;
  answer.addParts({ ...line, series: "usage" }, {
    input_tokens: minus(row.tokens_prompt, row.cached_tokens),
    cache_read_tokens: row.cached_tokens,
    output_tokens: row.tokens_completion,
    requests: row.request_count,
  });
  const fees = textOf(row.byok_fees) ?? "0";
  const credits = textOf(row.credits_usage);
  const cost = { ...line, series: "cost", currency: "USD" } as const;
  const add = (more: Partial<BillLine> & { amount: string }) => {
    if (!isZero(more.amount)) answer.lines.push({ ...cost, ...more });
  };
  if (credits !== undefined) {
    answer.lines.push({ ...cost, sku: "credits_usage", amount: addDecimals([credits, negate(fees)]) });
  }
  add({ category: "fee", sku: "byok_fees", amount: fees });
  add({ sku: "byok_usage", amount: textOf(row.byok_usage) ?? "0", isEquivalent: true });
}

const negate = (text: string) => text.startsWith("-") ? text.slice(1) : `-${text}`;
