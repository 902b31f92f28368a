import type { PriceOverride } from "../../../contract/price_override.ts";
import type { SetPrice } from "../../../contract/prices.ts";
import { PurserError } from "../../../kernel/errors.ts";
import { nearestName } from "../../../kernel/nearest_name.ts";
import { arg, type Command, type CommandContext, option } from "../../command.ts";
import { UsageError } from "../../parse/usage_error.ts";
import { formatTime } from "../../render/format_values.ts";
import { printAnswer } from "../../render/print_answer.ts";
import { renderTable } from "../../render/render_table.ts";
import { escapeText } from "../../terminal/escape_text.ts";

/** The options with the rates that most models have, by the fields of a price. */
const RATES = {
  input: "input_usd_per_million",
  output: "output_usd_per_million",
  "cache-read": "cache_read_usd_per_million",
  "cache-write": "cache_write_usd_per_million",
  "cache-write-1h": "cache_write_1h_usd_per_million",
  reasoning: "reasoning_usd_per_million",
} as const;

/** Returns the fields of the other rates, by the names that --rate takes. */
async function otherRates(): Promise<ReadonlyMap<string, string>> {
  const { BILLED_PART_NAMES, priceFieldOf } = await import("../../../contract/billed_parts.ts");
  return new Map([
    ["requests", "requests_usd_per_thousand"],
    ...BILLED_PART_NAMES.map((part) => [part.replace(/_tokens$/, ""), priceFieldOf(part)] as const),
  ]);
}

const WHICH = {
  "service-tier": option("TIER", "Of calls that are served at this tier", {
    some: ["flex", "priority", "batch"],
  }),
  from: option("DATE", "Of calls from this day on, UTC (default: any time)"),
};

const MODEL = arg("MODEL", { live: "model" });

/** `purser prices set MODEL` */
const pricesSet: Command = {
  name: "prices set",
  args: [MODEL],
  summary: "Set the price of a model",
  detail:
    "MODEL is PROVIDER:NAME, and rates are in USD per million tokens. It is kept in the database, and all servers over it bill calls by it within a minute, without a restart. It replaces the price of the same model, tier and day as a whole, and applies " +
    "before those of the config. A rate that is left out has the default of docs/prices.md. Calls that are booked keep their price until purser reprice.",
  options: {
    input: option("USD", "Input tokens (required)"),
    output: option("USD", "Output tokens (required)"),
    "cache-read": option("USD", "Cached tokens that are read"),
    "cache-write": option("USD", "Tokens that are cached"),
    "cache-write-1h": option("USD", "Tokens that are cached for an hour"),
    reasoning: option("USD", "Reasoning tokens"),
    rate: option("PART=USD", "Another part, such as web_searches=10 per thousand (repeatable)"),
    ...WHICH,
  },
  examples: [
    ["purser prices set openai:gpt-6-luna --input 0.2 --output 0.6", ""],
    ["purser prices set vllm:qwen3 --input 0 --output 0", "A model of your own machine"],
    ["purser prices set azure:gpt-6-sol --input 2 --output 9 --from 2026-12-01", "A contract from a day on"],
  ],
  run: setPrice,
};

/** Splits the argument at its first colon; names of models have others. */
function modelOf({ args: [text], options }: CommandContext): Pick<PriceOverride, "provider" | "model"> {
  const [, provider, model] = /^([^:]+):(.+)$/s.exec(text!) ?? [];
  if (provider !== undefined && model !== undefined) return { provider, model };
  throw new UsageError(
    `Cannot use ${JSON.stringify(text)}: write the provider and the model, such as openai:gpt-6-luna`,
    options.command,
  );
}

/** `purser prices discount PROVIDER`, or `premium` */
const contractCommand = (
  word: "discount" | "premium",
  sign: 1 | -1,
  examples: Command["examples"],
): Command => ({
  name: `prices ${word}`,
  args: [arg("PROVIDER")],
  summary: `Set the ${word} of a contract`,
  detail:
    "PROVIDER may have a model or a pattern: anthropic:claude-opus-*. All listed rates of the calls that meet the conditions change by that share; prices that were set stay. Of several contracts the one with the most conditions counts; they don't add up. purser prices " +
    "list shows its name, by which purser prices unset removes it.",
  options: {
    by: option("PERCENT", "Share of each listed rate, such as 12% (required)"),
    "service-tier": WHICH["service-tier"],
    region: option("REGION", "Of calls in this region, or in those of a pattern, such as eu-*"),
    from: WHICH.from,
    until: option("DATE", "Of calls before this day, UTC (default: without an end)"),
  },
  examples,
  run: (ctx) => setContract(ctx, sign),
});

async function setContract(ctx: CommandContext, sign: 1 | -1): Promise<void> {
  const { args: [text], options } = ctx;
  const [, provider, model] = /^([^:]+)(?::(.+))?$/s.exec(text!) ?? [];
  const percent = options.read("by", (share) => {
    const [, number] = /^(\d+(?:\.\d+)?)%$/.exec(share) ?? [];
    if (number === undefined || Number(number) === 0) throw new Error(`${share} is not a share, such as 12%`);
    return Number(number);
  });
  if (percent === undefined) throw new UsageError("Cannot set it without --by", options.command);
  const json = {
    provider: provider ?? text!,
    model: model ?? "*",
    change_percent: sign * percent,
    ...tierAndDay(ctx),
    ...(options.has("region") && { region: options.text("region")! }),
    ...(options.has("until") && { until: options.text("until")! }),
  };
  await put(ctx, json);
}

/** Sets a price or a contract, and prints it. */
async function put(ctx: CommandContext, json: PriceOverride): Promise<void> {
  const { api } = await ctx.connect();
  const answer = await api.prices.rows.$put({ json });
  const subject = json.change_percent === undefined ? "Price of " : "";
  await printAnswer(ctx, answer, (price) => `${subject}${escapeText(price.name)}: ${describeRates(price)}`);
  if (!ctx.isJson) {
    ctx.say("Calls from now on are billed by it; purser reprice shows what booked ones would cost");
  }
}

function toNumber(text: string): number {
  if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text);
  throw new Error(`${text} is not a number of USD, such as 0.25`);
}

async function setPrice(ctx: CommandContext): Promise<void> {
  const { options } = ctx;
  const rates: Record<string, number> = {};
  for (const [name, field] of Object.entries(RATES)) {
    const usd = options.read(name, toNumber);
    if (usd !== undefined) rates[field] = usd;
    else if (name === "input" || name === "output") {
      throw new UsageError(`Cannot set a price without --${name}`, options.command);
    }
  }
  const others = options.has("rate") ? await otherRates() : new Map<string, string>();
  for (const text of options.texts("rate")) {
    const [part = "", usd = ""] = text.split("=", 2);
    const field = others.get(part);
    if (field === undefined) {
      const near = nearestName(part, [...others.keys()]);
      const hint = near === undefined
        ? `known are ${[...others.keys()].join(", ")}`
        : `did you mean ${near}?`;
      throw new UsageError(
        `Cannot use --rate ${text}: there is no part ${JSON.stringify(part)}; ${hint}`,
        options.command,
      );
    }
    try {
      rates[field] = toNumber(usd);
    } catch (error) {
      throw new UsageError(`Cannot use --rate ${text}: ${(error as Error).message}`, options.command);
    }
  }
  await put(ctx, { ...modelOf(ctx), ...tierAndDay(ctx), ...rates });
}

const tierAndDay = ({ options }: CommandContext): Pick<PriceOverride, "service_tier" | "from"> => ({
  ...(options.has("service-tier") && { service_tier: options.text("service-tier")! }),
  ...(options.has("from") && { from: options.text("from")! }),
});

/** Describes all rates: `input 0.2, output 0.6, web_searches 10`, or what a contract changes: `-12% of listed rates`. */
function describeRates(price: SetPrice): string {
  const { change_percent, until } = price;
  if (change_percent !== undefined) {
    const sign = change_percent > 0 ? "+" : "";
    return `${sign}${change_percent}% of listed rates${until === undefined ? "" : ` until ${until}`}`;
  }
  const rates = Object.entries(price).flatMap(([field, usd]) => {
    const [, part] = /^(.*)_usd_per_(?:million|thousand)$/.exec(field) ?? [];
    return part === undefined ? [] : [`${part} ${usd}`];
  });
  return rates.join(", ");
}

/** `purser prices list` */
const pricesList: Command = {
  name: "prices list",
  args: [],
  summary: "List the prices that were set",
  detail:
    "Those of purser prices set and purser apply, in USD per million tokens, or per thousand of what is counted.",
  options: {},
  examples: [["purser prices list", ""]],
  isReadOnly: true,
  run: listPrices,
};

async function listPrices(ctx: CommandContext): Promise<void> {
  const { api } = await ctx.connect();
  const { layout } = ctx;
  await printAnswer(
    ctx,
    await api.prices.rows.$get({ query: { limit: "1000" } }),
    (prices) =>
      prices.length === 0 ? "No prices were set" : renderTable(prices, [
        {
          title: "MODEL",
          cell: ({ provider, model, region, change_percent }) =>
            `${change_percent === undefined ? "" : "contract "}${provider}:${model}${
              region === undefined ? "" : ` in ${region}`
            }`,
          paint: (_, style) => style.bold,
          cutTo: 16,
        },
        { title: "TIER", cell: ({ service_tier }) => service_tier ?? "any" },
        { title: "FROM", cell: ({ from }) => from ?? "any time" },
        { title: "RATES (USD)", cell: describeRates, cutTo: 20 },
        { title: "SET (UTC)", cell: ({ updated_at }) => formatTime(updated_at), drop: 1 },
      ], layout),
  );
}

/** `purser prices unset MODEL` */
const pricesUnset: Command = {
  name: "prices unset",
  args: [MODEL],
  summary: "Remove a price or a contract that was set",
  detail:
    "The model has the price of the config, or of the sources, again. A contract is named as purser prices list shows it.",
  options: WHICH,
  examples: [
    ["purser prices unset openai:gpt-6-luna", ""],
    ['purser prices unset "contract anthropic:*"', "The discount of a contract"],
  ],
  run: unsetPrice,
};

async function unsetPrice(ctx: CommandContext): Promise<void> {
  const { priceName } = await import("../../../contract/price_name.ts");
  const name = priceName({ ...modelOf(ctx), ...tierAndDay(ctx) });
  const { api } = await ctx.connect();
  const prices = await (await api.prices.rows.$get({ query: { limit: "1000" } })).json();
  const price = prices.find((price) => price.name === name);
  if (price === undefined) {
    const near = nearestName(name, prices.map(({ name }) => name));
    throw new PurserError(
      "not_found",
      `Cannot find a price that was set for ${name}${
        near === undefined ? "" : `; did you mean ${escapeText(near)}?`
      }`,
    );
  }
  await api.prices.rows[":price_id"].$delete({ param: { price_id: price.price_id } });
  if (ctx.isJson) ctx.print(JSON.stringify(price));
  else ctx.print(`Removed ${price.change_percent === undefined ? "the price of " : ""}${escapeText(name)}`);
}

/** The commands of prices that are set. */
export const PRICE_COMMANDS: readonly Command[] = [
  pricesList,
  pricesSet,
  contractCommand("discount", -1, [
    ["purser prices discount anthropic --by 12% --from 2026-10-01", "Of all calls, from a day on"],
    ['purser prices discount "vertex:gemini-*" --by 20% --service-tier batch', "Of some of them"],
  ]),
  contractCommand("premium", 1, [['purser prices premium bedrock --by 10% --region "eu-*"', ""]]),
  pricesUnset,
];
