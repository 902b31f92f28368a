import fc from "#dev/fast_check.ts";
import type { Served } from "../../src/pricing/mod.ts";
import { inputTokensOf, type Leaf, LEAVES, type Leaves, type OracleCall } from "./price_oracle.ts";
import {
  type Amount,
  CONFIG,
  COUNTS,
  type Dim,
  LITELLM,
  type Model,
  type Provider,
  type Row,
  type Spec,
  type Table,
  TOKENS,
  type Variant,
  type When,
} from "./price_spec.ts";

/** Names of each provider of the random prices, its id first. */
export const PROVIDER_NAMES: Record<string, string[]> = {
  openai: ["openai", "OpenAI", "open-ai"],
  anthropic: ["anthropic", "Anthropic"],
  google: ["google", "gemini", "vertex_ai"],
  mistral: ["mistral", "mistral-ai"],
  azure: ["azure", "azure-openai"],
  acme: ["acme"],
};
const IDS = Object.keys(PROVIDER_NAMES);

const DAY_MS = 86_400_000;

/** Days around which prices change, and a call may fall. */
const DAYS = [20_000, 20_400, 20_454, 20_736];
const STARTS = [1_000, 100_000, 128_000, 200_000, 272_000];
const MINUTES = [0, 30, 60, 240, 600, 990, 1_439];

/** A value in one of six cases, else none. */
const rarely = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value });

const anyRate = fc.oneof(fc.bigInt(0n, 40n), fc.bigInt(1n, 200_000_000n));

const anyAmount = (maxSteps: number): fc.Arbitrary<Amount> =>
  fc.record({
    base: anyRate,
    steps: fc.uniqueArray(fc.record({ start: fc.constantFrom(...STARTS), price: anyRate }), {
      maxLength: maxSteps,
      selector: ({ start }) => start,
    }).map((steps) => steps.sort((a, b) => a.start - b.start)),
  });

/** A table with some of the dimensions; `needed` are in each. */
function anyTable(dims: readonly Dim[], needed: readonly Dim[], maxSteps = 2): fc.Arbitrary<Table> {
  return fc.uniqueArray(fc.constantFrom(...dims), { maxLength: 9 }).chain((chosen) =>
    fc.record(Object.fromEntries(
      [...new Set([...needed, ...chosen])].map((dim) => [
        dim,
        (COUNTS as readonly Dim[]).includes(dim) ? anyAmount(0) : anyAmount(maxSteps),
      ]),
    ))
  ) as fc.Arbitrary<Table>;
}

const ALL: readonly Dim[] = [...TOKENS, ...COUNTS];
const anyDay = fc.constantFrom(...DAYS).map((day): When => ({ day }));
const anyTime = fc.record({
  from: fc.constantFrom(...MINUTES),
  to: fc.constantFrom(...MINUTES),
  offset: fc.constantFrom(0, 8, -5),
});
const anyWhen: fc.Arbitrary<When> = fc.oneof(anyDay, anyTime);

const anyVariant: fc.Arbitrary<Variant> = fc.record({
  kind: fc.constantFrom(
    ["processing", "batch"] as const,
    ["service_tier", "flex"] as const,
    ["service_tier", "priority"] as const,
    ["service_tier", "fast"] as const,
    ["speed", "fast"] as const,
  ),
  when: fc.option(anyWhen, { nil: undefined }),
  table: anyTable(ALL, []),
}).map(({ kind: [name, value], when, table }) => ({ name, value, when, table }));

const anyModel = (names: readonly string[]): fc.Arbitrary<Model> =>
  fc.record({
    name: fc.constantFrom(...names),
    first: fc.record({
      when: rarely(anyWhen),
      table: anyTable(ALL, ["input_mtok"]),
    }),
    more: fc.array(fc.record({ when: anyWhen, table: anyTable(ALL, ["input_mtok"]) }), { maxLength: 3 }),
    variants: fc.array(anyVariant, { maxLength: 4 }),
  }).map(({ name, first, more, variants }) => ({ name, entries: [first, ...more], variants }));

const MODELS: Record<string, string[]> = {
  anthropic: ["claude-opus-4-5", "claude-opus-4-6", "claude-sonnet-5", "other"],
};
const modelsOf = (id: string) => MODELS[id] ?? ["alpha", "beta", "claude-sonnet-5"];

const anyProvider = (id: string): fc.Arbitrary<Provider> =>
  fc.record({
    id: fc.constant(id),
    offers: id === "azure" ? fc.subarray(["openai", "anthropic"]) : fc.constant([]),
    models: fc.uniqueArray(anyModel(modelsOf(id)), {
      minLength: 1,
      maxLength: 2,
      selector: ({ name }) => name,
    }),
  });

const LITELLM_DIMS = Object.keys(LITELLM) as Dim[];
const withoutZero = (amount: Amount) => ({ ...amount, base: amount.base || 1n });

/** Models of LiteLLM have neither dates nor times, and need a price that isn't 0. */
const anySecond = fc.record({
  provider: fc.constantFrom("mistral", "acme"),
  table: anyTable(LITELLM_DIMS, ["input_mtok"]).map((table) => ({
    ...table,
    input_mtok: withoutZero(table.input_mtok!),
  })),
  variants: fc.uniqueArray(
    fc.record({
      value: fc.constantFrom("flex", "priority", "batch"),
      table: anyTable(LITELLM_DIMS, ["input_mtok"]),
    }),
    { maxLength: 2, selector: ({ value }) => value },
  ),
}).map(({ provider, table, variants }) => ({
  provider,
  model: {
    name: "second",
    entries: [{ table }],
    variants: variants.map((one): Variant => ({
      ...one,
      name: one.value === "batch" ? "processing" : "service_tier",
    })),
  },
}));

const anyRow: fc.Arbitrary<Row> = fc.record({
  provider: fc.constantFrom(...IDS),
  model: fc.constantFrom("alpha", "second", "claude-sonnet-5", "unlisted"),
  table: anyTable(Object.keys(CONFIG) as Dim[], ["input_mtok", "output_mtok"], 0),
  day: fc.option(fc.constantFrom(...DAYS), { nil: undefined }),
  tier: fc.option(fc.constantFrom("flex", "scale"), { nil: undefined }),
});

/** Prices of both sources and of the config. */
export const anySpec: fc.Arbitrary<Spec> = fc.record({
  providers: fc.tuple(...IDS.map(anyProvider)).map((all) => all as Provider[]),
  second: fc.uniqueArray(anySecond, { minLength: 1, maxLength: 2, selector: ({ provider }) => provider }),
  rows: fc.uniqueArray(anyRow, { maxLength: 9, selector: (row) => JSON.stringify({ ...row, table: 0 }) }),
});

/** A time at the boundary of a day or an hour, a millisecond beside it, or anywhere. */
const anyAt = fc.oneof(
  fc.tuple(fc.constantFrom(...DAYS), fc.constantFrom(0, 0, ...MINUTES), fc.constantFrom(-1, 0, 0, 1)).map(
    ([day, minute, beside]) => day * DAY_MS + minute * 60_000 + beside,
  ),
  fc.integer({ min: 19_900 * DAY_MS, max: 20_800 * DAY_MS }),
);

const anyServed: fc.Arbitrary<Served> = fc.record({
  serviceTier: fc.option(
    fc.constantFrom("default", "auto", "flex", "ON_DEMAND_FLEX", "priority", "fast", "batch", "scale"),
    { nil: undefined, freq: 2 },
  ),
  speed: rarely(fc.constantFrom("fast", "slow")),
  inferenceGeo: rarely(fc.constantFrom("us", "us", "eu")),
});

/** True three times of four. */
const anyChance = fc.nat(3).map((number) => number > 0);

const anyCount = fc.oneof(fc.constant(0), fc.nat(20), fc.nat(150_000));

/** Some of the quantities; often so many input tokens that the threshold of a tier is met, or missed by one. */
const anyLeaves: fc.Arbitrary<Leaves> = fc.record({
  some: fc.array(fc.tuple(fc.constantFrom<Leaf>(...LEAVES), anyCount), { maxLength: 6 }),
  start: fc.option(fc.constantFrom(...STARTS), { nil: undefined }),
  beside: fc.constantFrom(-1, 0, 1),
}).map(({ some, start, beside }) => {
  const leaves = Object.fromEntries(LEAVES.map((name) => [name, 0])) as Leaves;
  for (const [name, count] of some) leaves[name] = count;
  const lacking = start === undefined ? 0 : start + beside - inputTokensOf(leaves);
  if (lacking > 0) leaves.input_tokens += lacking;
  return leaves;
});

/** A call, with another name of its provider, and the cost that the provider states. */
export interface AnyCall {
  name: string;
  call: OracleCall;
  stated: bigint | undefined;
}

/** The provider, day and service of most calls of one test case, so that they meet at the same prices. */
const anyFocus = fc.record({
  provider: fc.constantFrom(...IDS, "mistral", "acme"),
  day: fc.constantFrom(...DAYS),
  served: anyServed,
});

const anySeed = fc.record({
  isFocused: fc.record({ provider: anyChance, day: anyChance, served: anyChance }),
  provider: fc.constantFrom(...IDS),
  alias: fc.nat(2),
  model: fc.nat(19),
  at: anyAt,
  served: anyServed,
  leaves: anyLeaves,
  stated: rarely(fc.bigInt(0n, 10n ** 12n)),
});

/** Returns the names of a provider's models that a call may have: mostly those of the prices. */
function namesOf(spec: Spec, provider: string): string[] {
  const { offers = [], models = [] } = spec.providers.find(({ id }) => id === provider) ?? {};
  const offered = spec.providers.filter(({ id }) => offers.includes(id)).flatMap((one) => one.models);
  const listed = [...models, ...offered].map(({ name }) => name);
  const second = spec.second.filter((one) => one.provider === provider).map(({ model }) => model.name);
  const rows = spec.rows.filter((row) => row.provider === provider).map(({ model }) => model);
  const known = [...listed, ...second, ...rows, ...rows];
  return [...known, ...known, ...listed.map((name) => `${name}-other`), "second", "unlisted"];
}

/** Random prices and calls. */
export const anyCase = (calls: number) =>
  fc.record({
    spec: anySpec,
    focus: anyFocus,
    seeds: fc.array(anySeed, { minLength: calls, maxLength: calls }),
  }).map(({ spec, focus, seeds }) => ({
    spec,
    calls: seeds.map(({ isFocused, alias, model, leaves, stated, ...own }): AnyCall => {
      const provider = (isFocused.provider ? focus : own).provider;
      const served = (isFocused.served ? focus : own).served;
      const at = isFocused.day ? focus.day * DAY_MS + own.at % DAY_MS : own.at;
      const [names, models] = [PROVIDER_NAMES[provider]!, namesOf(spec, provider)];
      const call = { provider, model: models[model % models.length]!, at, served, leaves };
      return { name: names[alias % names.length]!, call, stated };
    }),
  }));
