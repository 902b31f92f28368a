import { type Command, type CommandContext, option, optionalArg } from "../../command.ts";
import { UsageError } from "../../parse/usage_error.ts";
import { printAnswer } from "../../render/print_answer.ts";

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
  const { renderPrice, renderSources } = await import("../../render/render_prices.ts");
  const { terminal: { stdout, hasUnicode }, style } = ctx;
  const layout = { columns: stdout.columns, style, hasUnicode };
  await printAnswer(
    ctx,
    await api.prices.$get({ query }),
    ({ price, sources }) => price === null ? renderSources(sources, layout) : renderPrice(price, layout),
  );
}
