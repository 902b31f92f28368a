import { DAY_MS, toIso } from "../../kernel/clock.ts";
import { Answer, minus, textOf, windowsOf } from "./answer.ts";
import { defineBillSource, fetchAll } from "./bill_source.ts";

const ROW = [
  ...["model", "total_cost", "market_cost", "input_tokens", "output_tokens", "cached_input_tokens"],
  ...["cache_creation_input_tokens", "reasoning_tokens", "request_count"],
];

/** The spend report of Vercel's AI Gateway: days by model. */
export default defineBillSource({
  name: "vercel",
  title: "Vercel AI Gateway",
  seen: "2026-11-26, npm @ai-sdk/gateway 4.0.146, gateway-spend-report.ts",
  provider: "vercel",
  delayMs: DAY_MS,
  finalAfterDays: 5,
  mapping: 1,
  holes: ["Days by model: a report has one dimension", "Plans Pro and Enterprise only"],
  series: ["usage", "cost"],
  fetch: {
    origin: "https://ai-gateway.vercel.sh",
    key: {
      variable: "AI_GATEWAY_API_KEY",
      scope: "a key of the AI Gateway",
      headers: (key) => ({ authorization: `Bearer ${key}` }),
    },
    fetchPages: (ctx, { from, to, page }) =>
      fetchAll(ctx, page, windowsOf({ from, to }, 1), {
        requestOf(day) {
          const date = toIso(day.from).slice(0, 10);
          return { path: "/v1/report", query: { start_date: date, end_date: date, group_by: "model" } };
        },
        read: readDay,
      }),
  },
});

function readDay(body: unknown, day: { from: number }) {
  const answer = new Answer();
  const { results } = answer.fields(body, "answer", ["results"]);
  for (const entry of answer.list(results, "results")) {
    const row = answer.fields(entry, "row", ROW);
    const line = {
      category: "usage",
      startsAt: day.from,
      endsAt: day.from + DAY_MS,
      model: textOf(row.model),
    } as const;
    answer.addParts({ ...line, series: "usage" }, {
      input_tokens: minus(row.input_tokens, row.cached_input_tokens, row.cache_creation_input_tokens),
      cache_read_tokens: row.cached_input_tokens,
      cache_write_tokens: row.cache_creation_input_tokens,
      output_tokens: minus(row.output_tokens, row.reasoning_tokens),
      reasoning_tokens: row.reasoning_tokens,
      requests: row.request_count,
    });
    const [amount, listAmount] = [textOf(row.total_cost), textOf(row.market_cost)];
    answer.lines.push({ ...line, series: "cost", amount, listAmount, currency: "USD" });
  }
  return answer.page();
}
