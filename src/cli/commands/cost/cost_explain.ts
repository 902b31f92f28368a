import { arg, type Command, type CommandContext } from "../../command.ts";
import { EXIT } from "../../exit_code.ts";
import { idInPath, readCallId } from "../../parse/command_id.ts";
import type {
  ExplainedAdjustment,
  ExplainedCall,
  ExplainedPrice,
  PriceLine,
} from "../../../contract/costs/explained_calls.ts";
import { toIso } from "../../../kernel/clock.ts";
import { describeStatedReason } from "../../../contract/costs/stated_costs.ts";
import { formatCost } from "../../render/format_cost.ts";
import { formatCount, formatTime } from "../../render/format_values.ts";
import { renderFields } from "../../render/render_fields.ts";
import { type Layout, renderTable } from "../../render/render_table.ts";
import type { Upstream } from "../../../contract/costs/upstreams.ts";
import { escapeText } from "../../terminal/escape_text.ts";

/** Returns the account and the project that pay. */
export const accountOf = ({ account, project }: Pick<Upstream, "account" | "project">): string =>
  [account, project].filter((id) => id !== null).join("/") || "-";

/** `purser cost explain CALL_ID` */
export const costExplain: Command = {
  name: "cost explain",
  args: [arg("CALL_ID")],
  summary: "Explain the cost of a call",
  detail:
    "Shows its tokens by their rates, and computes the cost again from what the ledger keeps. The exit code is 1 if the result is " +
    "not the cost that is stored.",
  options: {},
  examples: [["purser cost explain call_42", ""]],
  isReadOnly: true,
  run: explain,
};

async function explain(ctx: CommandContext): Promise<number> {
  const param = { call_id: idInPath(readCallId(ctx)) };
  const { api } = await ctx.connect();
  const answer = await api.costs.calls[":call_id"].$get({ param });
  const text = await answer.text();
  const explained: Awaited<ReturnType<typeof answer.json>> = JSON.parse(text);
  ctx.print(ctx.isJson ? text : renderExplanation(explained, ctx.layout));
  const prices = [explained.booked, ...explained.adjustments.map(({ price }) => price)];
  if (prices.every(({ difference_usd }) => !difference_usd)) return EXIT.done;
  ctx.warn(
    "The stored cost is not the one that its rates give: the ledger was changed from outside, or is damaged",
  );
  return EXIT.failed;
}

/** Renders the explanation of a call's cost: how it was booked, and each adjustment since. */
export function renderExplanation(explained: ExplainedCall, layout: Layout): string {
  const { call, booked, adjustments, witnesses, replaced, upstream } = explained;
  const { style } = layout;
  const served = [
    call.service_tier && `tier ${call.service_tier}`,
    call.requested_service_tier && `tier ${call.requested_service_tier} was asked for`,
    call.speed && `speed ${call.speed}`,
    call.inference_geo && `region ${call.inference_geo}`,
  ].filter(Boolean).join(", ");
  const step = call.step === null ? "" : `, step ${call.step}`;
  return [
    renderFields({
      "Call": call.call_id,
      "Time": `${formatTime(call.at)} UTC`,
      "Agent": call.agent_id,
      "Session": call.session_id ?? undefined,
      "Run": call.run_id === null ? undefined : call.run_id + step,
      "Model": `${call.provider}:${call.model}`,
      "Served": served || undefined,
      "Outcome": call.outcome && call.outcome + (call.http_status ? `, status ${call.http_status}` : ""),
      "Ended": call.duration_ms === null
        ? undefined
        : `${formatTime(toIso(Date.parse(call.at) + call.duration_ms))} UTC`,
      "Request": call.request_id,
      "Answer": call.response_id,
      "Paid with": upstream ? describeUpstream(upstream) : undefined,
      "Tokens": `${formatCount(call.input_tokens)} in, ${formatCount(call.output_tokens)} out` +
        (call.estimated ? "; an estimate, since the provider's count never arrived" : ""),
      "Cost": formatCost(call.cost_usd) +
        (call.unpriced_parts ? ` + ${call.unpriced_parts.join(", ")} without a known price` : ""),
      "Plan": describePlan(call),
      "Stated": describeStated(call),
    }, layout),
    section("As booked", booked, layout),
    ...adjustments.map((adjustment) => {
      const title = style.bold(titleOf(adjustment));
      return adjustment.is_undo ? `${title}\nCost ${formatCost(adjustment.price.cost_usd)}` : section(
        titleOf(adjustment),
        adjustment.price,
        layout,
      );
    }),
    ...witnesses.length === 0 ? [] : [`${style.bold("Witnesses")}\n${renderWitnesses(witnesses, layout)}`],
    ...replaced.length === 0
      ? []
      : [`${style.bold("Taken back for it")}\n${
        replaced.map((one) =>
          escapeText(`${one.call_id}, ${describeCounts(one)}, ${formatCost(one.cost_usd)}`)
        )
          .join("\n")
      }`],
  ].join("\n\n");
}

function describeUpstream(upstream: NonNullable<ExplainedCall["upstream"]>): string {
  const { credential, key_hash, key_id } = upstream;
  const account = accountOf(upstream);
  return [
    credential ?? "a key that is not known",
    key_id ?? (key_hash && `key hash ${key_hash}`),
    account !== "-" && `account ${account}`,
  ].filter(Boolean).join(", ");
}

const describeCounts = (counts: { input_tokens: number; output_tokens: number }) =>
  `${formatCount(counts.input_tokens)} in, ${formatCount(counts.output_tokens)} out`;

const describeWitnessed = (said: ExplainedCall["witnesses"][number]["said"][number]) =>
  describeCounts(said) +
  (said.cache_write_1h_tokens > 0 ? `, ${formatCount(said.cache_write_1h_tokens)} cached for 1 h` : "");

function renderWitnesses(witnesses: ExplainedCall["witnesses"], layout: Layout): string {
  const rows = witnesses.flatMap(({ witness, said }) => said.map((one) => ({ witness, ...one })));
  return renderTable(rows, [
    { title: "WITNESS", cell: ({ witness }) => witness },
    { title: "TIME (UTC)", cell: ({ at }) => formatTime(at) },
    { title: "SESSION", cell: ({ session_id }) => session_id ?? "-" },
    { title: "TOKENS", cell: describeWitnessed },
    {
      title: "KNOWN AS",
      cell: ({ quality, is_copy, billing }) =>
        quality + (is_copy ? ", copy" : "") + (billing ? `, ${billing}` : ""),
    },
  ], layout);
}

/** Says that a plan pays for a call, and what it would cost without one. */
function describePlan({ billing, plan_usd = null }: ExplainedCall["call"]): string | undefined {
  if (billing !== "plan") return undefined;
  return `A plan pays for it; by the API it would cost ${
    plan_usd === null ? "what is not known" : formatCost(plan_usd)
  }`;
}

/** Describes the cost that was stated and not booked. */
function describeStated(
  { stated_cost_usd: usd, stated_cost_reason }: ExplainedCall["call"],
): string | undefined {
  if (usd === undefined) return undefined;
  const reason = describeStatedReason(stated_cost_reason);
  return `${formatCost(usd)}, not booked${reason && `: ${reason}`}`;
}

function titleOf(adjustment: ExplainedAdjustment): string {
  const { repricing_id, is_undo, is_amendment, at, difference_usd, plan_difference_usd, adjustment_id } =
    adjustment;
  const what = is_amendment
    ? "Corrected by a witness"
    : repricing_id === null
    ? `Adjusted by ${adjustment_id}`
    : `${is_undo ? "Undone" : "Repriced"} by ${repricing_id}`;
  const when = at === null ? "" : `, ${formatTime(at)} UTC`;
  const change = (usd: number) => (usd < 0 ? "-" : "+") + formatCost(Math.abs(usd));
  const ofPlan = plan_difference_usd === undefined ? "" : `, plan value ${change(plan_difference_usd)}`;
  return escapeText(`${what}${when}: ${change(difference_usd)}${ofPlan}`);
}

function section(title: string, price: ExplainedPrice, layout: Layout): string {
  const { style } = layout;
  const basis = describeBasis(price) + (price.billing === "plan" ? "; a plan pays" : "");
  const parts = [style.bold(title), escapeText(basis)];
  if (price.lines.length > 0) parts.push(renderLines(price.lines, layout));
  if (price.sum_usd !== null) {
    parts.push(`Sum $${decimal(price.sum_usd)}, rounded half to even: ${formatCost(price.computed_usd)}`);
  }
  if (price.unpriced_parts) {
    parts.push(style.yellow(escapeText(`No price is known for ${price.unpriced_parts.join(", ")}`)));
  }
  if (price.list_cost_usd !== undefined) parts.push(`List price ${formatCost(price.list_cost_usd)}`);
  if (price.difference_usd) {
    parts.push(style.red(`Stored: ${decimal(price.difference_usd)} USD more than its rates give`));
  }
  return parts.join("\n");
}

/** Describes in a sentence how a price came about. */
function describeBasis({ basis, price_source, rate_card: card, cost_usd }: ExplainedPrice): string {
  const tier = card && card.tier.of > 1
    ? `, tier ${card.tier.number} of ${card.tier.of}` +
      (card.tier.above_input_tokens === null
        ? ""
        : `, above ${formatCount(card.tier.above_input_tokens)} input tokens`)
    : "";
  const others = Object.entries(card?.sources ?? {}).map(([part, source]) => `, ${part} of ${source}`).join(
    "",
  );
  const rates = card && `rates of ${card.source}${card.model ? `, as ${card.model}` : ""}${tier}${others}`;
  switch (basis) {
    case "rates":
      return `By the ${rates}`;
    case "stated":
      return `${formatCost(cost_usd)} was stated by the provider${rates ? `; beside it, the ${rates}` : ""}`;
    case "reported":
      return `${formatCost(cost_usd)} was reported with the call; no rates were used`;
    case "not_kept":
      return `${formatCost(cost_usd)} by ${price_source}; this call was booked before rates were kept`;
    case "none":
      return "No price was known";
  }
}

function renderLines(lines: readonly PriceLine[], layout: Layout): string {
  return renderTable(lines, [
    { title: "PART", cell: ({ part, model }) => model ? `${part} of ${model}` : part, cutTo: 12 },
    { title: "QUANTITY", align: "right", cell: ({ quantity }) => formatCount(quantity) },
    {
      title: "RATE",
      align: "right",
      cell: ({ rate_usd, per }) => rate_usd === null ? "unknown" : `$${decimal(rate_usd)}${PER[per] ?? ""}`,
      paint: ({ rate_usd }, style) => rate_usd === null ? style.yellow : undefined,
    },
    { title: "USD", align: "right", cell: ({ cost_usd }) => cost_usd === null ? "-" : decimal(cost_usd) },
  ], layout);
}

const PER: Readonly<Record<number, string>> = { 1_000_000: " / 1M", 1_000: " / 1k", 1: " each" };

/** Formats a number of at most twelve decimals without an exponent. */
function decimal(value: number): string {
  return value.toFixed(12).replace(/\.?0+$/, "");
}
