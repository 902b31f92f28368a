import type { Served, Usage } from "../../src/pricing/mod.ts";
import type { Amount, Dim, Entry, Model, Provider, Spec, Table, When } from "./price_spec.ts";

/** A second calculation of what a call costs, after the documentation, in whole numbers and without code of the program. */

/** The quantities of a call, each billed at one rate. */
export const LEAVES = [
  "input_tokens",
  "input_audio_tokens",
  "input_image_tokens",
  "input_video_tokens",
  "cache_read_tokens",
  "cache_read_audio_tokens",
  "cache_read_image_tokens",
  "cache_write_tokens",
  "cache_write_1h_tokens",
  "cache_write_12h_tokens",
  "output_tokens",
  "reasoning_tokens",
  "output_audio_tokens",
  "output_image_tokens",
  "output_video_tokens",
  "web_searches",
  "file_searches",
  "code_executions",
] as const;
export type Leaf = typeof LEAVES[number];
export type Leaves = Record<Leaf, number>;

const INPUTS = LEAVES.slice(0, 10);

export const inputTokensOf = (leaves: Leaves) => INPUTS.reduce((sum, name) => sum + leaves[name], 0);

/** Writes the quantities as the usage of a call, whose totals include their parts. */
export function usageOfLeaves(leaf: Leaves): Usage {
  return {
    inputTokens: inputTokensOf(leaf),
    outputTokens: leaf.output_tokens + leaf.reasoning_tokens + leaf.output_audio_tokens +
      leaf.output_image_tokens + leaf.output_video_tokens,
    cacheReadTokens: leaf.cache_read_tokens + leaf.cache_read_audio_tokens + leaf.cache_read_image_tokens,
    cacheWriteTokens: leaf.cache_write_tokens + leaf.cache_write_1h_tokens + leaf.cache_write_12h_tokens,
    cacheWrite1hTokens: leaf.cache_write_1h_tokens,
    reasoningTokens: leaf.reasoning_tokens,
    details: {
      cache_write_12h_tokens: leaf.cache_write_12h_tokens,
      input_audio_tokens: leaf.input_audio_tokens + leaf.cache_read_audio_tokens,
      cache_read_audio_tokens: leaf.cache_read_audio_tokens,
      input_image_tokens: leaf.input_image_tokens + leaf.cache_read_image_tokens,
      cache_read_image_tokens: leaf.cache_read_image_tokens,
      input_video_tokens: leaf.input_video_tokens,
      output_audio_tokens: leaf.output_audio_tokens,
      output_image_tokens: leaf.output_image_tokens,
      output_video_tokens: leaf.output_video_tokens,
      web_searches: leaf.web_searches,
      file_searches: leaf.file_searches,
      code_executions: leaf.code_executions,
    },
  };
}

/** The bill of a call; null if nothing of it has a price. */
export interface Bill {
  nano: bigint | null;
  unpriced: string[];
  source: string;
}

/** A call of the oracle: the provider is an id, not an alias. */
export interface OracleCall {
  provider: string;
  model: string;
  at: number;
  served: Served;
  leaves: Leaves;
}

type Rates = Partial<Record<Leaf | "request", bigint>>;

/** Divides and rounds half to even. */
function halfEven(numerator: bigint, denominator: bigint): bigint {
  const [whole, rest] = [numerator / denominator, numerator % denominator];
  return rest * 2n > denominator || (rest * 2n === denominator && whole % 2n === 1n) ? whole + 1n : whole;
}

function holds(when: When | undefined, at: number): boolean {
  if (when === undefined) return true;
  if ("day" in when) return at >= when.day * 86_400_000;
  const minute = (at % 86_400_000) / 60_000;
  const isAfter = minute >= when.from;
  const isBefore = minute < when.to;
  return when.from > when.to ? isAfter || isBefore : isAfter && isBefore;
}

/** The price of an amount in a call: the step with the highest start under the input tokens. */
function priceAt(amount: Amount | undefined, inputTokens: number): bigint | undefined {
  if (amount === undefined) return undefined;
  return amount.steps.filter(({ start }) => inputTokens > start).at(-1)?.price ?? amount.base;
}

/** The rates of a table, in millionths of a USD per million tokens, and the same of counts. */
function ratesOf(table: Table, inputTokens: number, isClaude: boolean, isGoogle: boolean): Rates {
  const of = (name: Dim) => priceAt(table[name], inputTokens);
  const each = (name: Dim) => {
    const thousand = of(name);
    return thousand === undefined ? undefined : thousand * 1_000n;
  };
  const input = of("input_mtok")!;
  const read = of("cache_read_mtok") ?? input;
  const write = of("cache_write_5m_mtok") ?? of("cache_write_mtok") ??
    (isClaude ? halfEven(input * 5n, 4n) : input);
  const audio = of("input_audio_mtok");
  return {
    input_tokens: input,
    input_audio_tokens: audio ?? (isGoogle ? input : undefined),
    input_image_tokens: of("input_image_mtok") ?? input,
    input_video_tokens: of("input_video_mtok") ?? input,
    cache_read_tokens: read,
    cache_read_audio_tokens: of("cache_audio_read_mtok") ?? audio ?? (isGoogle ? read : undefined),
    cache_read_image_tokens: of("cache_image_read_mtok") ?? of("input_image_mtok") ?? read,
    cache_write_tokens: write,
    cache_write_1h_tokens: of("cache_write_1h_mtok") ?? (isClaude ? input * 2n : write),
    cache_write_12h_tokens: of("cache_write_12h_mtok"),
    output_tokens: of("output_mtok"),
    reasoning_tokens: of("output_reasoning_mtok") ?? of("output_mtok"),
    output_audio_tokens: of("output_audio_mtok"),
    output_image_tokens: of("output_image_mtok"),
    output_video_tokens: of("output_video_mtok"),
    web_searches: each("web_searches_kcount"),
    file_searches: each("storage_searches_kcount"),
    code_executions: each("code_executions_kcount"),
    request: each("requests_kcount"),
  };
}

function billOf(rates: Rates, leaves: Leaves, unknown: string[], source: string): Bill {
  const used = LEAVES.filter((name) => leaves[name] > 0);
  const missing = used.filter((name) => rates[name] === undefined);
  if (used.length > 0 && missing.length === used.length && !rates.request) {
    return { nano: null, unpriced: [], source: "none" };
  }
  const pico = used.reduce(
    (sum, name) => sum + BigInt(leaves[name]) * (rates[name] ?? 0n),
    rates.request ?? 0n,
  );
  return { nano: halfEven(pico, 1_000n), unpriced: [...unknown, ...missing].sort(), source };
}

/** Multiplies the rates of tokens by a fraction, and no other. */
function scaled(rates: Rates, numerator: bigint, denominator: bigint): Rates {
  return Object.fromEntries(
    Object.entries(rates).map(([name, rate]) => [
      name,
      rate === undefined || !name.endsWith("_tokens") ? rate : halfEven(rate * numerator, denominator),
    ]),
  );
}

/** The service tiers by the names that providers report; undefined is the standard one. */
const TIERS: Record<string, string | undefined> = {
  default: undefined,
  standard: undefined,
  auto: undefined,
  ON_DEMAND: undefined,
  ON_DEMAND_FLEX: "flex",
  ON_DEMAND_PRIORITY: "priority",
};

const HALF: Record<string, string[]> = {
  openai: ["batch", "flex"],
  anthropic: ["batch"],
  google: ["batch"],
  mistral: ["batch"],
};

const IN_USA = ["claude-opus-4-6", "claude-sonnet-5"];

/** The table of a tier or a speed: what the variants list, the first of each first, over the standard one. */
function variantOf({ variants }: Model, standard: Table, name: string, value: string, at: number) {
  const found = variants.filter((one) => one.name === name && one.value === value && holds(one.when, at));
  return found.length === 0
    ? undefined
    : found.reduceRight<Table>((table, one) => ({ ...table, ...one.table }), {
      ...standard,
    });
}

function billOfModel(owner: Provider["id"], model: Model, call: OracleCall, source: string): Bill {
  const { at, leaves, served } = call;
  const isOwn = owner === call.provider;
  const isClaude = model.name.includes("claude");
  const standard =
    (model.entries.filter(({ when }) => holds(when, at)).at(-1) ?? model.entries[0] as Entry).table;
  const tier = served.serviceTier === undefined || served.serviceTier in TIERS
    ? TIERS[served.serviceTier ?? "default"]
    : served.serviceTier;
  const speed = served.speed;
  const unknown: string[] = [];
  const rates = (table: Table) =>
    ratesOf(table, inputTokensOf(leaves), isClaude, owner === "google" && !isClaude);
  let card = rates(standard);
  const isHalf = isOwn && tier !== undefined && HALF[owner]?.includes(tier) === true;
  let listed: Table | undefined;
  if (isOwn && tier !== undefined && speed === undefined) {
    const names = tier === "batch" ? ["processing"] : ["service_tier"];
    const values = tier === "fast"
      ? ["fast", "priority"]
      : tier === "priority"
      ? ["priority", "fast"]
      : [tier];
    for (const value of values) listed ??= variantOf(model, standard, names[0]!, value, at);
  }
  if (isOwn && tier === undefined && speed !== undefined) {
    listed = variantOf(model, standard, "speed", speed, at);
  }
  if (listed) card = rates(listed);
  else if (isHalf) card = scaled(card, 1n, 2n);
  else if (tier !== undefined) unknown.push("service_tier");
  if (speed !== undefined && (!listed || tier !== undefined)) unknown.push("speed");
  const isInUsa = served.inferenceGeo === "us" && owner === "anthropic" && IN_USA.includes(model.name);
  const isInVertexRegion = served.inferenceGeo !== undefined && owner === "google" && isClaude;
  if (isOwn && (isInUsa || isInVertexRegion)) {
    card = scaled(card, 11n, 10n);
  } else if (served.inferenceGeo !== undefined) unknown.push("inference_geo");
  return billOf(card, leaves, unknown, source);
}

/** Bills a call by the rows of the config, else by the first source, else by the second. */
export function oracleBill(spec: Spec, idOf: (name: string) => string, call: OracleCall): Bill {
  const rows = spec.rows.filter((row) =>
    idOf(row.provider) === call.provider && row.model === call.model &&
    (row.day === undefined || call.at >= row.day * 86_400_000)
  ).sort((a, b) => (b.day ?? -1) - (a.day ?? -1));
  const { serviceTier } = call.served;
  const row = (serviceTier === undefined ? undefined : rows.find(({ tier }) => tier === serviceTier)) ??
    rows.find(({ tier }) => tier === undefined);
  if (row) return billOf(ratesOf(row.table, 0, false, false), call.leaves, [], "config");
  const own = spec.providers.find(({ id }) => id === call.provider);
  for (const id of [call.provider, ...own?.offers ?? []]) {
    const models = spec.providers.find((one) => one.id === id)?.models ?? [];
    const model = models.find(({ name }) => [name, `${name}-other`].includes(call.model));
    if (model) return billOfModel(id, model, call, "genai-prices");
  }
  const second = spec.second.find(({ provider, model }) =>
    provider === call.provider && [model.name, `${provider}/${model.name}`].includes(call.model)
  );
  if (second) return billOfModel(second.provider, second.model, call, "litellm");
  return { nano: null, unpriced: [], source: "none" };
}
