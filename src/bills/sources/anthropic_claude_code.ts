import { DAY_MS, toIso } from "../../kernel/clock.ts";
import {
  type Answer,
  dollarsOf,
  type Fields,
  readEntries,
  statedOf,
  textOf,
  timeOf,
  windowsOf,
} from "./answer.ts";
import { ANTHROPIC_ACCESS, ANTHROPIC_TERMS } from "./anthropic_parts.ts";
import { defineBillSource, fetchAll } from "./bill_source.ts";

const ROW =
  "date actor model_breakdown organization_id customer_type terminal_type core_metrics tool_actions subscription_type is_remote"
    .split(" ");

/** Anthropic's report on Claude Code: estimates by the prices of the API, also of calls that a subscription pays for. */
export default defineBillSource({
  ...ANTHROPIC_TERMS,
  name: "anthropic-claude-code",
  title: "Anthropic, Claude Code report",
  seen: "2026-10-29, platform.claude.com, Claude Code Analytics API",
  isEstimate: true,
  holes: [
    "Costs are estimates by the prices of the API, which are never billed: they are in no sum",
    "Days only, by person or key; cache writes are not split by their lifetime",
  ],
  fetch: {
    ...ANTHROPIC_ACCESS,
    fetchPages: (ctx, { from, to, page }) =>
      fetchAll(ctx, page, windowsOf({ from, to }, 1), {
        requestOf: (day, token) => ({
          path: "/v1/organizations/usage_report/claude_code",
          query: { starting_at: toIso(day.from).slice(0, 10), limit: 1_000, page: token },
        }),
        read: readActors,
      }),
  },
});

const readActors = (body: unknown) =>
  readEntries(body, (answer, entry) => {
    const row = answer.fields(entry, "row", ROW);
    for (const model of answer.list(row.model_breakdown ?? [], "model_breakdown")) {
      addModel(answer, row, answer.fields(model, "model_breakdown", ["model", "tokens", "estimated_cost"]));
    }
  });

function addModel(answer: Answer, row: Fields, { model, tokens, estimated_cost }: Fields): void {
  const actor = answer.fields(row.actor ?? {}, "actor", ["type", "email_address", "api_key_name"]);
  const startsAt = timeOf(row.date, "date");
  const line = {
    series: "usage" as const,
    category: "usage" as const,
    startsAt,
    endsAt: startsAt + DAY_MS,
    model: textOf(model),
    actor: textOf(actor.email_address) ?? textOf(actor.api_key_name),
    isEquivalent: true,
    other: statedOf({ customer_type: row.customer_type, terminal_type: row.terminal_type }),
  };
  const counts = answer.fields(tokens ?? {}, "tokens", ["input", "output", "cache_read", "cache_creation"]);
  answer.addParts(line, {
    input_tokens: counts.input,
    output_tokens: counts.output,
    cache_read_tokens: counts.cache_read,
  });
  const written = textOf(counts.cache_creation);
  if (written !== undefined && written !== "0") {
    answer.lines.push({ ...line, sku: "cache_creation", quantity: written, unit: "tokens" });
  }
  const cost = answer.fields(estimated_cost ?? {}, "estimated_cost", ["amount", "currency"]);
  const amount = dollarsOf(cost.amount);
  if (amount === undefined) return;
  answer.lines.push({
    ...line,
    series: "cost",
    amount,
    currency: (textOf(cost.currency) ?? "USD").toUpperCase(),
  });
}
