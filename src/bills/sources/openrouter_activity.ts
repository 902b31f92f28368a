import { DAY_MS, toIso } from "../../kernel/clock.ts";
import { isZero } from "../lines/decimal.ts";
import { Answer, minus, statedOf, textOf, timeOf, windowsOf } from "./answer.ts";
import { type BillSource, defineBillSource, fetchAll } from "./bill_source.ts";

/** The access to each of its reports. */
export const OPENROUTER_ACCESS = {
  origin: "https://openrouter.ai",
  key: {
    variable: "OPENROUTER_MANAGEMENT_KEY",
    scope: "a management key",
    headers: (key) => ({ authorization: `Bearer ${key}` }),
  },
} as const satisfies Pick<NonNullable<BillSource["fetch"]>, "origin" | "key">;

export const OPENROUTER_TERMS = {
  provider: "openrouter",
  finalAfterDays: 3,
  mapping: 1,
  series: ["usage", "cost"],
} as const;

const ROW =
  "date model model_permaslug endpoint_id provider_name usage byok_usage_inference requests prompt_tokens completion_tokens reasoning_tokens workspace_id"
    .split(" ");

/** OpenRouter's activity: days by model and provider. */
export default defineBillSource({
  ...OPENROUTER_TERMS,
  name: "openrouter-activity",
  title: "OpenRouter, activity",
  seen: "2026-11-26, npm @openrouter/sdk 1.3.19, ActivityItem",
  delayMs: 2 * DAY_MS,
  holes: [
    "The last 30 completed days of UTC only, by day",
    "Cached tokens are part of input_tokens, and rows have no API key",
    "What another provider bills for BYOK is marked as an equivalent, and in no sum",
  ],
  excludes: ["openrouter"],
  fetch: {
    ...OPENROUTER_ACCESS,
    maxAgeDays: 30,
    fetchPages: (ctx, { from, to, page }) =>
      fetchAll(ctx, page, windowsOf({ from, to }, 1), {
        requestOf: (day) => ({
          path: "/api/v1/activity",
          query: { date: toIso(day.from).slice(0, 10), group_by: "workspace" },
        }),
        read: readDay,
      }),
  },
});

function readDay(body: unknown) {
  const answer = new Answer();
  const { data } = answer.fields(body, "answer", ["data"]);
  for (const entry of answer.list(data, "data")) {
    const row = answer.fields(entry, "row", ROW);
    const startsAt = timeOf((textOf(row.date) ?? "").slice(0, 10), "date");
    const line = {
      category: "usage",
      startsAt,
      endsAt: startsAt + DAY_MS,
      model: textOf(row.model_permaslug) ?? textOf(row.model),
      project: textOf(row.workspace_id),
      other: statedOf({ endpoint: row.endpoint_id, provider: row.provider_name }),
    } as const;
    const [usage, byok] = [textOf(row.usage), textOf(row.byok_usage_inference) ?? "0"];
    // Another provider bills what has cost nothing here.
    const isByok = usage !== undefined && isZero(usage) && !isZero(byok);
    answer.addParts({ ...line, series: "usage", ...isByok && { isEquivalent: true } }, {
      input_tokens: row.prompt_tokens,
      output_tokens: minus(row.completion_tokens, row.reasoning_tokens),
      reasoning_tokens: row.reasoning_tokens,
      requests: row.requests,
    });
    const cost = { ...line, series: "cost", currency: "USD" } as const;
    answer.lines.push({ ...cost, sku: "usage", amount: usage });
    if (!isZero(byok)) answer.lines.push({ ...cost, sku: "byok_usage", amount: byok, isEquivalent: true });
  }
  return answer.page();
}
