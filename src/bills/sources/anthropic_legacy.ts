import { readEntries } from "./answer.ts";
import { addRow, ANTHROPIC_ACCESS, ANTHROPIC_TERMS, fetchReports, type Report } from "./anthropic_parts.ts";
import { defineBillSource } from "./bill_source.ts";

const GROUP_BY = ["api_key_id", "model", "workspace_id", "service_tier", "context_window", "inference_geo"];

/** The requests for usage; `limit` is the most buckets of a page. */
const usageBy = (width: string, limit: number): Report => ({
  isCost: false,
  days: 31,
  path: "/v1/organizations/usage_report/messages",
  query: {
    bucket_width: width,
    limit,
    "group_by[]": GROUP_BY,
  },
});
const HOURS = usageBy("1h", 168);
const MINUTES = usageBy("1m", 1_440);
const COSTS: Report = {
  isCost: true,
  days: 31,
  path: "/v1/organizations/cost_report",
  query: { bucket_width: "1d", limit: 31, "group_by[]": ["workspace_id", "description"] },
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
  excludes: ["anthropic"],
  hasMinutes: true,
  fetch: {
    ...ANTHROPIC_ACCESS,
    fetchPages: (ctx, query) =>
      fetchReports(ctx, query, [query.isByMinute ? MINUTES : HOURS, COSTS], readBuckets),
  },
});

const readBuckets = (body: unknown, { isCost }: Report) =>
  readEntries(body, (answer, entry) => {
    const bucket = answer.fields(entry, "bucket", ["starting_at", "ending_at", "results"]);
    for (const result of answer.list(bucket.results, "results")) {
      const row = answer.fields(result, "result");
      addRow(answer, { isCost, bucket, group: row, row });
    }
  });
