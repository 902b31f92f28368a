import type { PriceCard, PriceSource } from "../../../contract/prices.ts";
import { messageOf, PurserError } from "../../../kernel/errors.ts";
import type { PriceUpdate, RateChange } from "../../../pricing/updates/mod.ts";
import { type Command, type CommandContext, flag, option, optionalArg } from "../../command.ts";
import { EXIT } from "../../exit_code.ts";
import { UsageError } from "../../parse/usage_error.ts";
import { countOf, formatCount, formatTime } from "../../render/format_values.ts";
import { printAnswer } from "../../render/print_answer.ts";
import { renderFields } from "../../render/render_fields.ts";
import { type Layout, renderTable } from "../../render/render_table.ts";
import { escapeText } from "../../terminal/escape_text.ts";
import type { Paint, Style } from "../../terminal/style.ts";

/** `purser prices show [MODEL]` */
export const pricesShow: Command = {
  name: "prices show",
  args: [optionalArg("MODEL", { live: "model" })],
  summary: "Show the prices of a model",
  detail:
    "Shows the rates by which a call is billed, the source of each and its date, the tiers of the context length, the " +
    "service tiers and regions with rates of their own, the parts without a price, and the end of the model. MODEL is PROVIDER:NAME, or a name " +
    "alone if its provider is unambiguous. Without MODEL, it shows the sources.",
  options: {
    provider: option("NAME", "Provider of MODEL"),
    "service-tier": option("TIER", "Rates of this service tier", { some: ["flex", "priority", "batch"] }),
    at: option("TIME", "Rates at this date, or time with its zone (default: now)"),
  },
  examples: [
    ["purser prices show openai:gpt-6-luna", ""],
    ["purser prices show claude-sonnet-5-5 --service-tier batch", ""],
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
    throw new Error(`${text} is neither a date, such as 2026-11-21, nor a time with its zone`);
  });
  const query = { model, provider: options.text("provider"), service_tier: options.text("service-tier"), at };
  if (model === undefined && (query.provider ?? query.service_tier ?? at) !== undefined) {
    throw new UsageError(
      "Cannot use these options without MODEL: they select the rates of a model",
      options.command,
    );
  }
  const { api } = await ctx.connect();
  const { layout } = ctx;
  await printAnswer(
    ctx,
    await api.prices.$get({ query }),
    ({ price, sources }) =>
      price === null ? renderSources(sources, layout) : renderPrice(price, layout, query.service_tier),
  );
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
    ...describeEnd(price),
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
      cell: (key: string) => rateAt(tiers, key) + markAt(tiers, key, source),
      ...(index > 0 && { drop: index }),
    })),
    { title: "PER", cell: (key) => key.split(" ")[2] === "1000" ? "thousand" : "million" },
  ], layout);
  const marks = new Set(services.flatMap(([, tiers]) => rows.map((key) => markAt(tiers, key, source))));
  const others = [
    ...new Set(
      services.flatMap(([, tiers]) => tiers.flatMap(({ rates }) => rates)).map((rate) => rate.source),
    ),
  ]
    .filter((one) => one !== source && one !== "rule");
  const legend = [
    ...marks.has("*") ? [`* ${others.join(", ")}`] : [],
    ...marks.has("~") ? ["~ listed by none: it follows from the other rates"] : [],
  ];
  return [`${head}\n\n${table}`, ...legend.map((line) => layout.style.dim(escapeText(line)))].join("\n");
}

/** Returns the fields that say whether a model has ended, or ends. */
function describeEnd({ ends_on, is_deprecated, at }: PriceCard): Record<string, string> {
  if (ends_on === null) return is_deprecated ? { Ends: "deprecated by its provider, without a date" } : {};
  return Date.parse(ends_on) <= Date.parse(at) ? { Ended: ends_on } : { Ends: ends_on };
}

/** Marks a rate that the source of the input price doesn't list: `*` if another source does, `~` if no source does. */
function markAt(tiers: Tiers, key: string, source: string): string {
  const rate = findRate(tiers, key);
  if (rate === undefined || rate.source === source) return "";
  return rate.source === "rule" ? "~" : "*";
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
  const rate = findRate(tiers, key);
  return rate === undefined ? "-" : String(rate.usd);
}

function findRate(tiers: Tiers, key: string): Tiers[number]["rates"][number] | undefined {
  const [above, part] = key.split(" ") as [string, string];
  const tier = tiers.findLast(({ above_input_tokens }) => above_input_tokens <= Number(above));
  return tier?.rates.find((one) => one.part === part);
}

/** `purser prices update [FILE|URL]` */
export const pricesUpdate: Command = {
  name: "prices update",
  args: [optionalArg("FILE|URL", { isFile: true })],
  summary: "Update the prices of models",
  detail:
    "Stores the data file of genai-prices or LiteLLM's map in your data directory; by default it downloads both " +
    "as published. Your commands and servers use the new prices within a minute. If a model is removed, or its " +
    "rate changes by more than three times, the change is held back until you accept it. Calls that are booked " +
    "keep their price.",
  options: {
    accept: option("MODEL", "Accept the change of this model that was held back (repeatable)"),
    "accept-all": flag("Accept all changes that were held back"),
    "dry-run": flag("Only show what would change"),
  },
  examples: [
    ["purser prices update --dry-run", "Show what is new"],
    ["purser prices update", ""],
    [
      "purser prices update ./data.json --accept openai:gpt-6-sol",
      "From a file, with a change that was held back",
    ],
  ],
  run: update,
};

async function update(ctx: CommandContext): Promise<number> {
  const folder = readFolder(ctx);
  const { PRICE_SOURCES, PRICE_URLS, updatePrices } = await import("../../../pricing/updates/mod.ts");
  const [given] = ctx.args;
  const accepted = ctx.options.has("accept-all") ? "all" as const : new Set(ctx.options.texts("accept"));
  const isDryRun = ctx.options.has("dry-run");
  const updates: PriceUpdate[] = [];
  const errors: unknown[] = [];
  for (const from of given === undefined ? PRICE_SOURCES.map((source) => PRICE_URLS[source]) : [given]) {
    try {
      const parts = { clock: ctx.clock, log: ctx.log, fetch: globalThis.fetch, folder };
      updates.push(await updatePrices(parts, { from, accepted, isDryRun }));
    } catch (error) {
      errors.push(error);
    }
  }
  printUpdates(ctx, updates);
  const unknown = [...accepted].filter((name) => updates.every((one) => one.unknown.includes(name)));
  if (errors.length === 0 && unknown.length > 0) {
    throw new PurserError(
      "invalid",
      `Cannot accept ${unknown.join(", ")}: the update doesn't change it; write the model as it is listed`,
    );
  }
  const [error, ...others] = errors;
  for (const other of others) ctx.warn(messageOf(other));
  if (error !== undefined) throw error;
  return EXIT.done;
}

/** Returns the folder of prices. Those of a server are in the data directory of the user that runs it. */
function readFolder({ config: { server, profile, pricesFolder }, options }: CommandContext): string {
  if (server !== undefined) {
    throw new UsageError(
      "Cannot update the prices of a server from here: run purser prices update on its machine, as its user, without " +
        (profile === undefined ? "--server and PURSER_SERVER" : `the profile ${profile}`),
      options.command,
    );
  }
  if (pricesFolder !== undefined) return pricesFolder;
  throw new PurserError(
    "unavailable",
    "Cannot update the prices: the home directory is not known; set HOME or XDG_DATA_HOME",
  );
}

function printUpdates(ctx: CommandContext, updates: readonly PriceUpdate[]): void {
  if (ctx.isJson) return ctx.print(JSON.stringify(updates.map(toJson)));
  const { terminal: { stdout, hasUnicode }, style } = ctx;
  for (const update of updates) {
    ctx.print(renderUpdate(update, { columns: stdout.columns, style, hasUnicode }));
    const { held, path, date } = update;
    if (held.length > 0) {
      ctx.warn(
        `${held.length} held back: check the provider's price list, then add --accept ${
          held[0]!.model
        } or --accept-all`,
      );
    }
    ctx.say(escapeText(path === undefined ? "Nothing was written" : `Prices of ${date} are now in ${path}`));
  }
}

/** The result as `--json` prints it; rates are in USD per million tokens, or per thousand. */
function toJson({ previousDate, path, unknown: _, ...update }: PriceUpdate): Record<string, unknown> {
  return { ...update, previous_date: previousDate, path: path ?? null, dry_run: path === undefined };
}

/** Number of rows of each kind; --json has all. */
const MAX_ROWS = 50;

const PAINTS = {
  added: "green",
  changed: "cyan",
  removed: "red",
  "held back": "yellow",
} as const satisfies Record<string, keyof Style>;

interface Row {
  change: keyof typeof PAINTS;
  model: string;
  rate?: RateChange;
  reason?: string;
}

/** Renders the difference of an update: what is added, changed, removed and held back. */
export function renderUpdate(
  update: PriceUpdate,
  layout: Layout,
): string {
  const kinds: [name: keyof typeof PAINTS, rows: Row[], count: number][] = [
    ["added", update.added.map((model) => ({ change: "added", model })), update.added.length],
    ["changed", update.changed.flatMap((one) => rowsOf("changed", one)), update.changed.length],
    ["removed", update.removed.map(({ model }) => ({ change: "removed", model })), update.removed.length],
    [
      "held back",
      update.held.flatMap((one) => [
        { change: "held back" as const, model: one.model, reason: `${one.change}: ${one.reason}` },
        ...one.change === "changed" ? rowsOf("held back", one) : [],
      ]),
      update.held.length,
    ],
  ];
  const { style } = layout;
  const counts = kinds.map(([name, , count]) => `${formatCount(count)} ${name}`).join(", ");
  const dates = update.previousDate === update.date
    ? update.date
    : `${update.previousDate} -> ${update.date}`;
  const title = `${style.bold(update.source)} ${dates}, ${formatCount(update.models)} models: ${counts}`;
  const shown = kinds.flatMap(([, rows]) => rows.slice(0, MAX_ROWS));
  if (shown.length === 0) return title;
  const table = renderTable(shown, [
    {
      title: "CHANGE",
      cell: ({ change }) => change,
      paint: ({ change }, style) => style[PAINTS[change]] as Paint,
    },
    { title: "MODEL", cell: ({ model }) => model, cutTo: 20 },
    { title: "RATE (USD)", cell: ({ rate, reason }) => rate?.rate ?? reason ?? "", cutTo: 14 },
    { title: "BEFORE", align: "right", cell: ({ rate }) => rate ? textOf(rate.before) : "" },
    { title: "AFTER", align: "right", cell: ({ rate }) => rate ? textOf(rate.after) : "" },
  ], layout);
  const more = kinds.filter(([, rows]) => rows.length > MAX_ROWS)
    .map(([name, rows]) => `and ${formatCount(rows.length - MAX_ROWS)} more rows ${name}: --json has all`);
  return [title, table, ...more.map((line) => style.dim(escapeText(line)))].join("\n");
}

function rowsOf(
  change: Row["change"],
  { model, rates }: { model: string; rates: readonly RateChange[] },
): Row[] {
  return rates.map((rate) => ({ change, model, rate }));
}

const textOf = (usd: number | null) => usd === null ? "none" : String(usd);
