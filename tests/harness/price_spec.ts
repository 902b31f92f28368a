import type { PriceOverride } from "../../src/contract/price_override.ts";

/** Random prices as whole numbers, and their published forms. No code of the program computes with them here. */

/** The dimensions of genai-prices; of LiteLLM and of the config those that they have. */
export const TOKENS = [
  "input_mtok",
  "output_mtok",
  "output_reasoning_mtok",
  "cache_read_mtok",
  "cache_write_mtok",
  "cache_write_5m_mtok",
  "cache_write_1h_mtok",
  "cache_write_12h_mtok",
  "input_audio_mtok",
  "cache_audio_read_mtok",
  "output_audio_mtok",
  "input_image_mtok",
  "cache_image_read_mtok",
  "output_image_mtok",
  "input_video_mtok",
  "output_video_mtok",
] as const;
export const COUNTS = [
  "web_searches_kcount",
  "storage_searches_kcount",
  "code_executions_kcount",
  "requests_kcount",
] as const;
export type Dim = typeof TOKENS[number] | typeof COUNTS[number];

/** Millionths of a USD per million tokens, or per thousand counts; by input tokens above the starts, ascending. */
export interface Amount {
  base: bigint;
  steps: { start: number; price: bigint }[];
}

export type Table = Partial<Record<Dim, Amount>>;

/** A day as a number of days since 1970, or minutes of the day in UTC, written with an offset in hours. */
export type When = { day: number } | { from: number; to: number; offset: number };

export interface Entry {
  when?: When;
  table: Table;
}

export interface Variant extends Entry {
  name: "processing" | "service_tier" | "speed";
  value: string;
}

export interface Model {
  name: string;
  /** The standard prices; the last that holds counts, else the first. */
  entries: Entry[];
  variants: Variant[];
}

/** The prices of one provider; `offers` are other providers whose models it has too, at their prices. */
export interface Provider {
  id: string;
  offers: string[];
  models: Model[];
}

/** One row of the config. */
export interface Row {
  provider: string;
  model: string;
  table: Table;
  day?: number;
  tier?: string;
}

export interface Spec {
  providers: Provider[];
  /** Models of LiteLLM, of which the other source knows nothing. */
  second: { provider: string; model: Model }[];
  rows: Row[];
}

const usd = (millionths: bigint) => Number(`${millionths}e-6`);
export const dateOf = (day: number) => new Date(day * 86_400_000).toISOString().slice(0, 10);

/** Writes minutes of the UTC day as a local time: "08:30:00+08:00". */
function timeOf(minutes: number, offset: number): string {
  const local = (minutes + offset * 60 + 1_440) % 1_440;
  const two = (number: number) => String(number).padStart(2, "0");
  const zone = offset === 0 ? "Z" : `${offset < 0 ? "-" : "+"}${two(Math.abs(offset))}:00`;
  return `${two(Math.floor(local / 60))}:${two(local % 60)}:00${zone}`;
}

function tableOf(table: Table): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(table).map(([name, { base, steps }]) => [
      name,
      steps.length === 0 ? usd(base) : {
        base: usd(base),
        tiers: steps.map(({ start, price }) => ({ start, price: usd(price) })),
      },
    ]),
  );
}

function constraintOf(when: When | undefined) {
  if (when === undefined) return {};
  if ("day" in when) return { constraint: { type: "start_date", start_date: dateOf(when.day) } };
  const { from, to, offset } = when;
  return {
    constraint: { type: "time_of_date", start_time: timeOf(from, offset), end_time: timeOf(to, offset) },
  };
}

/** Writes the file of genai-prices. */
export function genaiFile({ providers }: Spec): string {
  const entry = ({ when, table }: Entry) => ({ ...constraintOf(when), prices: tableOf(table) });
  return JSON.stringify(providers.map(({ id, offers, models }) => ({
    id,
    fallback_model_providers: offers,
    models: models.map(({ name, entries, variants }) => ({
      id: name,
      match: { or: [{ equals: name }, { equals: `${name}-other` }] },
      prices: entries.length === 1 && !entries[0]!.when ? tableOf(entries[0]!.table) : entries.map(entry),
      price_variants: variants.map((one) => ({ when: { [one.name]: one.value }, ...entry(one) })),
    })),
  })));
}

/** LiteLLM's names of the dimensions that it has. */
export const LITELLM: Partial<Record<Dim, string>> = {
  input_mtok: "input_cost_per_token",
  output_mtok: "output_cost_per_token",
  output_reasoning_mtok: "output_cost_per_reasoning_token",
  cache_read_mtok: "cache_read_input_token_cost",
  cache_write_mtok: "cache_creation_input_token_cost",
  cache_write_1h_mtok: "cache_creation_input_token_cost_above_1hr",
  input_audio_mtok: "input_cost_per_audio_token",
  output_audio_mtok: "output_cost_per_audio_token",
};

/** Writes LiteLLM's map: USD per token, with thresholds and tiers in the names. */
export function litellmFile({ second }: Spec): string {
  const perToken = (millionths: bigint) => Number(`${millionths}e-12`);
  const rates = (table: Table, end: string) =>
    Object.entries(table).flatMap(([name, { base, steps }]) => {
      const rate = LITELLM[name as Dim]!;
      return [
        [rate + end, perToken(base)],
        ...steps.map(({ start, price }) => [`${rate}_above_${start / 1000}k_tokens${end}`, perToken(price)]),
      ];
    });
  return JSON.stringify(Object.fromEntries(second.map(({ provider, model }) => [
    `${provider}/${model.name}`,
    Object.fromEntries([
      ["litellm_provider", provider],
      ["mode", "chat"],
      ...rates(model.entries[0]!.table, ""),
      ...model.variants.flatMap(({ value, table }) =>
        rates(table, value === "batch" ? "_batches" : `_${value}`)
      ),
    ]),
  ])));
}

/** The fields of the config. */
export const CONFIG: Partial<Record<Dim, keyof PriceOverride>> = {
  input_mtok: "input_usd_per_million",
  output_mtok: "output_usd_per_million",
  output_reasoning_mtok: "reasoning_usd_per_million",
  cache_read_mtok: "cache_read_usd_per_million",
  cache_write_mtok: "cache_write_usd_per_million",
  cache_write_1h_mtok: "cache_write_1h_usd_per_million",
  cache_write_12h_mtok: "cache_write_12h_usd_per_million",
  input_audio_mtok: "input_audio_usd_per_million",
  cache_audio_read_mtok: "cache_read_audio_usd_per_million",
  output_audio_mtok: "output_audio_usd_per_million",
  input_image_mtok: "input_image_usd_per_million",
  output_image_mtok: "output_image_usd_per_million",
  input_video_mtok: "input_video_usd_per_million",
  web_searches_kcount: "web_searches_usd_per_thousand",
  requests_kcount: "requests_usd_per_thousand",
};

/** Writes the rows of the config. */
export function configRows({ rows }: Spec): PriceOverride[] {
  return rows.map(({ provider, model, table, day, tier }) => ({
    provider,
    model,
    ...Object.fromEntries(Object.entries(table).map(([name, { base }]) => [CONFIG[name as Dim]!, usd(base)])),
    ...day !== undefined && { from: dateOf(day) },
    ...tier !== undefined && { service_tier: tier },
  } as PriceOverride));
}
