import { type Fields, readEntries, timeOf } from "./answer.ts";
import {
  addRow,
  ANTHROPIC_ACCESS,
  ANTHROPIC_TERMS,
  fetchReports,
  type Report,
  USAGE_FIELDS,
} from "./anthropic_parts.ts";
import { defineBillSource } from "./bill_source.ts";

/** At most five; `cost_type` and `token_type` come on top. */
const GROUP_BY = ["api_key_id", "model", "service_tier", "context_window", "speed"];
const COST_GROUP_BY = [...GROUP_BY, "cost_type", "token_type"];

const reportOf = (name: string, days: number, width: string, groupBy: readonly string[]): Report => ({
  isCost: name === "cost",
  days,
  path: `/v1/organizations/analytics/${name}`,
  headers: { "anthropic-beta": "analytics-usage-cost-2026-08-24" },
  query: {
    time_bucket_width: width,
    "group_by[]": groupBy,
    order_by: "time",
    order: "asc",
    limit: 1_000,
  },
});
const HOURS = reportOf("usage", 31, "1h", GROUP_BY);
const MINUTES = reportOf("usage", 1, "1m", GROUP_BY);
const COSTS = reportOf("cost", 31, "1d", COST_GROUP_BY);

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
  excludes: ["anthropic-legacy"],
  hasMinutes: true,
  fetch: {
    ...ANTHROPIC_ACCESS,
    maxAgeDays: 365,
    fetchPages: (ctx, query) =>
      fetchReports(ctx, query, [query.isByMinute ? MINUTES : HOURS, COSTS], readReport),
  },
});

function readReport(body: unknown, { isCost }: Report) {
  const report = isCost ? "cost" : "usage";
  const known = isCost ? ["amount", "list_amount", "currency", "requests"] : USAGE_FIELDS;
  const page = readEntries(body, (answer, entry) => {
    const bucket = answer.fields(entry, report, ["starting_at", "ending_at", "group", report]);
    const group = answer.fields(bucket.group, "group");
    const row = answer.fields(bucket[report], report, known);
    addRow(answer, { isCost, bucket, group, row: { ...group, ...row } });
  }, ["data_refreshed_at"]);
  const { data_refreshed_at: at } = body as Fields;
  return { ...page, refreshedAt: at == null ? undefined : timeOf(at, "data_refreshed_at") };
}
