import { Answer, textOf, windowsOf } from "./answer.ts";
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

const COST_FIELDS = ["amount", "currency", "description", "cost_type", "token_type"];

const USAGE = {
  path: "/v1/organizations/usage_report/messages",
  groupBy: ["api_key_id", "model", "workspace_id", "service_tier", "context_window", "inference_geo"],
};
/** The reports: their buckets, and the most of these that a page has. */
const REPORTS = {
  usage: { ...USAGE, width: "1h", limit: 168 },
  minutes: { ...USAGE, width: "1m", limit: 1_440 },
  cost: {
    path: "/v1/organizations/cost_report",
    width: "1d",
    limit: 31,
    groupBy: ["workspace_id", "description"],
  },
};

/** Anthropic's legacy usage and cost reports. */
export default defineBillSource({
  ...ANTHROPIC_TERMS,
  name: "anthropic-legacy",
  title: "Anthropic, legacy reports",
  seen: "2026-10-29, platform.claude.com, Usage and Cost API (legacy)",
  holes: [
    "Costs have no API key",
    "The costs of the Priority Tier are missing, and the usage of code execution",
    "A request that was blocked has tokens and no cost",
  ],
  series: ["usage", "cost"],
  excludes: ["anthropic"],
  hasMinutes: true,
  fetch: {
    ...ANTHROPIC_ACCESS,
    fetchPages(ctx, { from, to, isByMinute, page }) {
      const names = [isByMinute ? "minutes" : "usage", "cost"] as const;
      const parts = names.flatMap((name) =>
        windowsOf({ from, to }, 31).map((window) => ({
          report: REPORTS[name],
          isCost: name === "cost",
          window,
        }))
      );
      return fetchAll(ctx, page, parts, {
        requestOf: ({ report: { path, width, limit, groupBy }, window }, token) => ({
          path,
          query: { ...windowQuery(window), bucket_width: width, "group_by[]": groupBy, limit, page: token },
        }),
        read: (body, { isCost }) => readBuckets(body, isCost),
      });
    },
  },
});

function readBuckets(body: unknown, isCost: boolean) {
  const answer = new Answer();
  const { data, has_more, next_page } = answer.fields(body, "answer", ["data", "has_more", "next_page"]);
  for (const entry of answer.list(data, "data")) {
    const bucket = answer.fields(entry, "bucket", ["starting_at", "ending_at", "results"]);
    for (const result of answer.list(bucket.results, "results")) {
      const row = answer.fields(result, "result", Object.keys(result as object));
      const line = {
        series: "cost" as const,
        category: "usage" as const,
        ...bucketOf(bucket),
        ...dimensionsOf(answer, row, isCost ? COST_FIELDS : USAGE_FIELDS),
      };
      if (isCost) addCost(answer, line, row);
      else addUsage(answer, line, row);
    }
  }
  const next = textOf(has_more) === "true" ? textOf(next_page) : undefined;
  return { lines: answer.lines, unknown: answer.unknown, next };
}
