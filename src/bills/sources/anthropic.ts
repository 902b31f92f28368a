import { isRecord } from "../../kernel/records.ts";
import { Answer, textOf, timeOf, windowsOf } from "./answer.ts";
import {
  addCost,
  addUsage,
  ANTHROPIC_ACCESS,
  ANTHROPIC_TERMS,
  bucketOf,
  dimensionsOf,
  USAGE_FIELDS,
  windowQuery,
} from "./anthropic_parts.ts";
import { defineBillSource, fetchAll } from "./bill_source.ts";

const PATH = "/v1/organizations/analytics/";
/** At most five; `cost_type` and `token_type` come on top. */
const GROUP_BY = ["api_key_id", "model", "service_tier", "context_window", "speed"];

/** Anthropic's usage and cost analytics, a beta. */
export default defineBillSource({
  ...ANTHROPIC_TERMS,
  name: "anthropic",
  title: "Anthropic",
  seen: "2026-11-24, types of @anthropic-ai/sdk 1.14.0, beta analytics-usage-cost-2026-08-24",
  holes: [
    "Lines have no response id: a call is found only where its bucket has one request",
    "The region of inference is not split: an answer has five dimensions at most",
    "Organizations that are ready for HIPAA have no analytics; nor have individual accounts",
  ],
  series: ["usage", "cost"],
  excludes: ["anthropic-legacy"],
  hasMinutes: true,
  fetch: {
    ...ANTHROPIC_ACCESS,
    maxAgeDays: 365,
    fetchPages(ctx, { from, to, isByMinute, page }) {
      const usage = windowsOf({ from, to }, isByMinute ? 1 : 31).map((window) => ({
        report: "usage",
        ...window,
      }));
      const cost = windowsOf({ from, to }, 31).map((window) => ({ report: "cost", ...window }));
      return fetchAll(ctx, page, [...usage, ...cost], {
        requestOf: ({ report, ...window }, token) => ({
          path: PATH + report,
          headers: { "anthropic-beta": "analytics-usage-cost-2026-08-24" },
          query: {
            ...windowQuery(window),
            time_bucket_width: report === "cost" ? "1d" : isByMinute ? "1m" : "1h",
            "group_by[]": report === "cost" ? [...GROUP_BY, "cost_type", "token_type"] : GROUP_BY,
            order_by: "time",
            order: "asc",
            limit: 1_000,
            page: token,
          },
        }),
        read: readReport,
      });
    },
  },
});

function readReport(body: unknown, { report }: { report: string; from: number; to: number }) {
  const answer = new Answer();
  const { data, has_more, next_page, data_refreshed_at } = answer.fields(body, "answer", [
    ...["data", "has_more", "next_page", "data_refreshed_at"],
  ]);
  for (const entry of answer.list(data, "data")) {
    const row = answer.fields(entry, report, ["starting_at", "ending_at", "group", report]);
    const group = answer.fields(row.group, "group", Object.keys(isRecord(row.group) ? row.group : {}));
    const { cost_type: _, token_type: __, ...dimensions } = group;
    const line = {
      series: "cost" as const,
      category: "usage" as const,
      ...bucketOf(row),
      ...dimensionsOf(answer, dimensions, []),
    };
    if (report === "cost") {
      const cost = answer.fields(row.cost, "cost", ["amount", "list_amount", "currency", "requests"]);
      addCost(answer, line, { ...group, ...cost });
    } else addUsage(answer, line, answer.fields(row.usage, "usage", USAGE_FIELDS));
  }
  const refreshedAt = data_refreshed_at == null ? undefined : timeOf(data_refreshed_at, "data_refreshed_at");
  const next = textOf(has_more) === "true" ? textOf(next_page) : undefined;
  return { lines: answer.lines, unknown: answer.unknown, next, refreshedAt };
}
