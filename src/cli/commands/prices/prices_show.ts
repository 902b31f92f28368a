import { type Command, type CommandContext, option, optionalArg } from "../../command.ts";
import { UsageError } from "../../parse/usage_error.ts";
import { printAnswer } from "../../render/print_answer.ts";
import type { PriceCard, PriceSource } from "../../../contract/prices.ts";
import type { Style } from "../../terminal/style.ts";
import { countOf, formatCount, formatTime } from "../../render/format_values.ts";
import { renderFields } from "../../render/render_fields.ts";
import { renderTable } from "../../render/render_table.ts";

/** `purser prices show [MODEL]` */
export const pricesShow: Command = {
  name: "prices show",
  args: [optionalArg("MODEL", { live: "model" })],
  summary: "Show the prices of a model",
  detail:
    "Shows the rates by which a call is billed: their source and its date, the tiers of the context length, the service " +
    "tiers with rates of their own, and what has no price. MODEL is PROVIDER:NAME, or a name alone where its provider is " +
    "unambiguous. Without it, the sources.",
  options: {
    provider: option("NAME", "Provider of MODEL"),
    "service-tier": option("TIER", "Rates of this service tier", { some: ["flex", "priority", "batch"] }),
    at: option("TIME", "Rates at this date, or time with its zone (default: now)"),
  },
  examples: [
    ["purser prices show openai:gpt-5-mini", ""],
    ["purser prices show claude-sonnet-4-5 --service-tier batch", ""],
    ["purser prices show", "The sources, their dates and sizes"],
  ],
  isReadOnly: true,
  run: showPrices,
};

const TIME = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2}))?$/;

async function showPrices(ctx: CommandContext): Promise<void> {
  const { options } = ctx;
  const [model] = ctx.args;
  const at = options.read("at", (text) => {
    if (TIME.test(text) && !Number.isNaN(Date.parse(text))) return text;
    throw new Error(`${text} is no date, such as 2026-11-21, and no time with its zone`);
  });
  const query = { model, provider: options.text("provider"), service_tier: options.text("service-tier"), at };
  if (model === undefined && (query.provider ?? query.service_tier ?? at) !== undefined) {
    throw new UsageError("Cannot show the rates without MODEL: the options are about one", options.command);
  }
  const { api } = await ctx.connect();
  const { terminal: { stdout, hasUnicode }, style } = ctx;
  const layout = { columns: stdout.columns, style, hasUnicode };
  await printAnswer(
    ctx,
    await api.prices.$get({ query }),
    ({ price, sources }) =>
      price === null ? renderSources(sources, layout) : renderPrice(price, layout, query.service_tier),
  );
}

interface Layout {
  columns: number | undefined;
  style: Style;
  hasUnicode: boolean;
}

/** Renders the sources of prices, in the order in which they apply. */
export function renderSources(sources: readonly PriceSource[], layout: Layout): string {
  return renderTable(sources, [
    { title: "SOURCE", cell: ({ name }) => name, paint: (_, style) => style.bold },
    { title: "DATE", cell: ({ date }) => date },
    { title: "AGE", align: "right", cell: ({ age_days }) => countOf(age_days, "day") },
    { title: "MODELS", align: "right", cell: ({ models }) => formatCount(models) },
    { title: "FROM", cell: ({ origin }) => origin === "update" ? "purser prices update" : "this version" },
    { title: "URL", cell: ({ url }) => url ?? "", cutTo: 20, drop: 1 },
  ], layout);
}

type Tiers = PriceCard["tiers"];

/**
 * Renders a rate card: one column for the given service tier, or for the standard service and for each that has rates of its
 * own.
 */
export function renderPrice(price: PriceCard, layout: Layout, serviceTier?: string): string {
  const { provider, model, matched_model, source, at, tiers, variants, unpriced } = price;
  const head = renderFields({
    Model: `${provider}:${model}`,
    ...(matched_model !== model && { Matched: matched_model }),
    Source: source,
    "Rates at": `${formatTime(at)} UTC`,
    ...(unpriced.length > 0 && { "Not priced": unpriced.join(", ") }),
  }, layout);
  const services: [title: string, tiers: Tiers][] = [
    [
      serviceTier === undefined || unpriced.includes("service_tier") ? "STANDARD" : serviceTier.toUpperCase(),
      tiers,
    ],
    ...variants.map((
      { served, tiers },
    ): [string, Tiers] => [served.replace(/^.*=/, "").toUpperCase(), tiers]),
  ];
  const rows = [...new Set(services.flatMap(([, tiers]) => tiers.flatMap((tier) => keysOf(tier))))].sort(
    byTier,
  )
    .filter((key) => services.some(([, tiers]) => rateAt(tiers, key) !== rateBelow(tiers, key)));
  const table = renderTable(rows, [
    { title: "RATE (USD)", cell: (key) => labelOf(key), paint: (_, style) => style.bold, cutTo: 20 },
    ...services.map(([title, tiers], index) => ({
      title,
      align: "right" as const,
      cell: (key: string) => rateAt(tiers, key),
      ...(index > 0 && { drop: index }),
    })),
    { title: "PER", cell: (key) => key.split(" ")[2] === "1000" ? "thousand" : "million" },
  ], layout);
  return `${head}\n\n${table}`;
}

/** The key of a row: the threshold of the tier, the part and the unit. */
const keysOf = ({ above_input_tokens, rates }: Tiers[number]) =>
  rates.map(({ part, per }) => `${above_input_tokens} ${part} ${per}`);

function byTier(a: string, b: string): number {
  return Number(a.split(" ")[0]) - Number(b.split(" ")[0]);
}

function labelOf(key: string): string {
  const [above, part] = key.split(" ") as [string, string];
  const name = part.replaceAll("_", " ");
  return above === "0" ? name : `${name} above ${formatCount(Number(above))}`;
}

/** Returns the rate of a row in the tier below; rows that repeat it are left out. */
function rateBelow(tiers: Tiers, key: string): string | undefined {
  const [above, part] = key.split(" ") as [string, string];
  return above === "0" ? undefined : rateAt(tiers, `${Number(above) - 1} ${part}`);
}

/** Returns the rate of a row in the tier that applies there. */
function rateAt(tiers: Tiers, key: string): string {
  const [above, part] = key.split(" ") as [string, string];
  const tier = tiers.findLast(({ above_input_tokens }) => above_input_tokens <= Number(above));
  const rate = tier?.rates.find((one) => one.part === part);
  return rate === undefined ? "-" : String(rate.usd);
}
