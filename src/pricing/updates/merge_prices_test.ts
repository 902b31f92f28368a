import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { silentLog } from "../../kernel/log.ts";
import { createCatalog } from "../catalog.ts";
import { bundledPrices } from "../catalog/bundled_prices.ts";
import type { GenaiPrices, ModelPrices } from "../catalog/price_data.ts";
import type { Rates } from "../rates.ts";
import { genaiOf, inOut, litellmOf, modelOf } from "../../../tests/harness/updated_prices.ts";
import { type Accepted, mergePrices } from "./merge_prices.ts";
import { cases } from "../../../tests/harness/thorough.ts";

const now = Date.parse("2026-11-22T12:00:00.000Z");

function merge(
  before: GenaiPrices,
  after: GenaiPrices,
  accepted: Accepted = new Set(),
  litellm = litellmOf({}),
) {
  return mergePrices({ genai: before, litellm }, after, accepted, { now });
}

const A = inOut(1, 4);
const dated = (day: string, prices = inOut(10, 40)) => [
  { prices: A },
  { constraint: { type: "start_date", start_date: day } as const, prices },
];
const flex = (input: number) => ({
  price_variants: [{ when: { service_tier: "flex" }, prices: { input_mtok: input } }],
});

/** One model before and after, and whether the change is taken. */
const RULES: [name: string, before: ModelPrices[], after: ModelPrices[], held: string[]][] = [
  ["the same prices", [modelOf("a", A)], [modelOf("a", A)], []],
  ["three times", [modelOf("a", A)], [modelOf("a", inOut(3, 12))], []],
  ["over three times", [modelOf("a", A)], [modelOf("a", inOut(3.000001, 4))], ["a"]],
  ["a third", [modelOf("a", inOut(3, 12))], [modelOf("a", A)], []],
  ["below a third", [modelOf("a", inOut(3, 12))], [modelOf("a", inOut(0.999999, 12))], ["a"]],
  ["free from now on", [modelOf("a", A)], [modelOf("a", inOut(0, 4))], ["a"]],
  ["no longer free", [modelOf("a", inOut(0, 0))], [modelOf("a", inOut(0, 0.001))], ["a"]],
  ["free as before", [modelOf("a", inOut(0, 0))], [modelOf("a", inOut(0, 0))], []],
  ["a new model", [modelOf("a", A)], [modelOf("a", A), modelOf("b", inOut(900, 900))], []],
  ["a new model that costs nothing", [modelOf("a", A)], [modelOf("a", A), modelOf("b", inOut(0, 0))], ["b"]],
  ["a model that is gone", [modelOf("a", A), modelOf("b", A)], [modelOf("a", A)], ["b"]],
  [
    "a model of another id with its name",
    [modelOf("a", A)],
    [{ ...modelOf("b", A), match: { equals: "a" } }],
    ["a"],
  ],
  ["a new rate", [modelOf("a", A)], [modelOf("a", { ...A, web_searches_kcount: 10 })], []],
  ["a rate that is gone", [modelOf("a", A)], [modelOf("a", { input_mtok: 1 })], ["a"]],
  ["a first cache price, far below that of input", [modelOf("a", A)], [
    modelOf("a", { ...A, cache_read_mtok: 0.01 }),
  ], []],
  ["a first cache price of 0", [modelOf("a", A)], [modelOf("a", { ...A, cache_read_mtok: 0 })], ["a"]],
  ["a first cache price over three times that of input", [modelOf("a", A)], [
    modelOf("a", { ...A, cache_write_mtok: 3.1 }),
  ], ["a"]],
  ["first prices of reasoning, images and the longer cache", [modelOf("a", A)], [
    modelOf("a", {
      ...A,
      output_reasoning_mtok: 0.5,
      input_image_mtok: 0.2,
      cache_write_mtok: 1.25,
      cache_write_1h_mtok: 2,
    }),
  ], []],
  ["a cache price that falls below a third", [modelOf("a", { ...A, cache_read_mtok: 0.5 })], [
    modelOf("a", { ...A, cache_read_mtok: 0.1 }),
  ], ["a"]],
  ["a cache price that is gone", [modelOf("a", { ...A, cache_read_mtok: 0.1 })], [modelOf("a", A)], ["a"]],
  ["a first long-context tier", [modelOf("a", A)], [
    modelOf("a", { ...A, input_mtok: { base: 1, tiers: [{ start: 200_000, price: 2 }] } }),
  ], []],
  ["a first long-context tier at ten times", [modelOf("a", A)], [
    modelOf("a", { ...A, input_mtok: { base: 1, tiers: [{ start: 200_000, price: 10 }] } }),
  ], ["a"]],
  ["ten times from a day in the past on", [modelOf("a", A)], [modelOf("a", dated("2026-01-01"))], ["a"]],
  ["ten times from a day in the future on", [modelOf("a", A)], [modelOf("a", dated("2027-01-01"))], ["a"]],
  [
    "twice from a day in the future on",
    [modelOf("a", A)],
    [modelOf("a", dated("2027-01-01", inOut(2, 8)))],
    [],
  ],
  ["ten times at an hour of the day", [modelOf("a", A)], [modelOf("a", [
    { prices: A },
    {
      constraint: { type: "time_of_date", start_time: "01:00:00Z", end_time: "02:00:00Z" },
      prices: inOut(10, 40),
    },
  ])], ["a"]],
  ["ten times for a service tier", [modelOf("a", A, flex(0.5))], [modelOf("a", A, flex(5))], ["a"]],
  ["a service tier that is gone", [modelOf("a", A, flex(0.4))], [modelOf("a", A)], []],
  ["a service tier where the provider's rule held", [modelOf("a", A)], [modelOf("a", A, flex(0.1))], ["a"]],
];

for (const [name, before, after, held] of RULES) {
  Deno.test(`mergePrices() ${held.length > 0 ? "holds back" : "takes"} ${name}`, async () => {
    const merged = await merge(genaiOf(before), genaiOf(after));
    assert.deepEqual(
      merged.held.map(({ model }) => model).filter((one) => held.includes(one.slice(7))).length,
      held.length,
    );
    assert.equal(merged.held.length > 0, held.length > 0, JSON.stringify(merged.held));
    const all = await merge(genaiOf(before), genaiOf(after), "all");
    assert.deepEqual(all.held, []);
    assert.deepEqual(all.data, genaiOf(after));
    for (const id of held) {
      const kept = (merged.data as GenaiPrices).providers[0]!.models.find((model) => model.id === id);
      assert.deepEqual(kept, before.find((model) => model.id === id));
    }
  });
}

Deno.test("mergePrices() takes what is accepted by name, and lists each rate before and after", async () => {
  const before = genaiOf([modelOf("a", A), modelOf("b", A), modelOf("c", A)]);
  const after = genaiOf([modelOf("a", inOut(10, 4)), modelOf("b", inOut(10, 4)), modelOf("d", A)]);
  const merged = await merge(before, after, new Set(["openai:a"]));
  const change = { rate: "input_mtok", before: 1, after: 10 };
  assert.deepEqual(merged.added, ["openai:d"]);
  assert.deepEqual(merged.changed, [{ model: "openai:a", rates: [change] }]);
  assert.deepEqual(merged.removed, []);
  assert.deepEqual(merged.held.map(({ model, change }) => [model, change]), [
    ["openai:b", "changed"],
    ["openai:c", "removed"],
  ]);
  assert.deepEqual(merged.held[0], {
    model: "openai:b",
    change: "changed",
    rates: [change],
    reason: "openai:b input 1 -> 10",
  });
});

Deno.test("mergePrices() holds back a name that moves to a model of another price, and both of their entries", async () => {
  const latest = (id: string, prices: ModelPrices["prices"], ...names: string[]): ModelPrices => ({
    id,
    match: { or: [id, ...names].map((equals) => ({ equals })) },
    prices,
  });
  const before = genaiOf([latest("old", inOut(10, 10), "best"), latest("new", A)]);
  const after = genaiOf([latest("old", inOut(10, 10)), latest("new", A, "best")]);
  const merged = await merge(before, after);
  assert.deepEqual(merged.held.map(({ model }) => model), ["openai:new", "openai:old"]);
  assert.deepEqual(merged.data, before);
});

Deno.test("mergePrices() holds back a model that the other source prices otherwise", async () => {
  const litellm = litellmOf({ a: { input_cost_per_token: 1e-6, output_cost_per_token: 4e-6 } });
  const before = genaiOf([modelOf("b", A)]);
  const merged = await merge(
    before,
    genaiOf([modelOf("b", A), modelOf("a", inOut(100, 400))]),
    new Set(),
    litellm,
  );
  assert.deepEqual(merged.held.map(({ model, change }) => [model, change]), [["openai:a", "added"]]);
  assert.deepEqual(merged.data, before);
});

Deno.test("mergePrices() keeps what a provider offers of another one's models", async () => {
  const providers = (fallback: string[]) => [
    { id: "openai", models: [modelOf("a", A)] },
    { id: "azure", fallback_model_providers: fallback, models: [] },
  ];
  const before = genaiOf([], { providers: providers(["openai"]) });
  const merged = await merge(before, genaiOf([], { providers: providers([]) }));
  assert.deepEqual(merged.data, before);
});

Deno.test("mergePrices() compares LiteLLM's map by its keys", async () => {
  const price = (input: number) => ({ input_cost_per_token: input, output_cost_per_token: 4e-6 });
  const used = { genai: genaiOf([]), litellm: litellmOf({ a: price(1e-6), b: price(1e-6), c: price(1e-6) }) };
  const next = litellmOf({ a: price(2e-6), b: price(2e-5) });
  const merged = await mergePrices(used, next, new Set(), { now });
  assert.deepEqual(merged.changed.map(({ model }) => model), ["a"]);
  assert.deepEqual(merged.held.map(({ model }) => model), ["b", "c"]);
  assert.deepEqual(merged.data, { ...next, models: { ...used.litellm.models, a: next.models.a } });
});

Deno.test("mergePrices() holds back a price that many updates move away from the release's by over three times", async () => {
  const at = (input: number) => genaiOf([modelOf("a", inOut(input, 4))]);
  const litellm = litellmOf({});
  const release = { genai: at(1), litellm };
  let used = release;
  const update = async (input: number, accepted: Accepted = new Set()) => {
    const { data, held } = await mergePrices(used, at(input), accepted, { now, release });
    used = { genai: data as GenaiPrices, litellm };
    return held.map(({ model, reason }) => `${model}: ${reason}`);
  };
  assert.deepEqual(await update(2), []);
  assert.deepEqual(await update(3), []);
  assert.deepEqual(await update(3.5), ["openai:a: openai:a input 1 -> 3.5 since the release"]);
  assert.deepEqual(used.genai, at(3));
  // What was accepted stays, may fall, and may not rise again.
  assert.deepEqual(await update(9, new Set(["openai:a"])), []);
  assert.deepEqual(await update(9), []);
  assert.deepEqual(await update(10), ["openai:a: openai:a input 1 -> 10 since the release"]);
  assert.deepEqual(await update(8), []);
  assert.deepEqual(await update(0.2), ["openai:a: openai:a input 8 -> 0.2"]);
});

Deno.test("mergePrices() says why an entry of the file was left out", async () => {
  const before = genaiOf([modelOf("a", A), modelOf("b", A)]);
  const refused = new Map([["openai:b", "its price is of another unit"]]);
  const { held } = await mergePrices(
    { genai: before, litellm: litellmOf({}) },
    genaiOf([modelOf("a", A)]),
    new Set(),
    {
      now,
      refused,
    },
  );
  assert.deepEqual(held.map(({ model, reason }) => [model, reason]), [[
    "openai:b",
    "its price is of another unit",
  ]]);
});

Deno.test("mergePrices() of the same prices changes nothing, over all models of the release", async () => {
  const used = await bundledPrices();
  for (const next of [used.genai, used.litellm]) {
    const { data, ...difference } = await mergePrices(used, next, new Set(), { now });
    assert.deepEqual(difference, { added: [], changed: [], removed: [], held: [] });
    assert.equal(JSON.stringify(data), JSON.stringify(next));
  }
});

const anyPrice = fc.constantFrom(0, 0.1, 0.5, 1, 2, 2.9, 3, 3.1, 10, 30);
const anyRate = fc.oneof(
  anyPrice,
  fc.record({
    base: anyPrice,
    tiers: fc.array(fc.record({ start: fc.constantFrom(1_000, 200_000), price: anyPrice }), { maxLength: 1 }),
  }),
);
const anyTable = fc.record(
  { input_mtok: anyRate, output_mtok: anyRate, cache_read_mtok: anyRate, web_searches_kcount: anyPrice },
  { requiredKeys: ["input_mtok"] },
);
const anyPrices = fc.oneof(
  anyTable,
  fc.tuple(anyTable, anyTable, fc.constantFrom("2026-06-01", "2027-01-01")).map(([first, later, day]) => [
    { prices: first },
    { constraint: { type: "start_date" as const, start_date: day }, prices: later },
  ]),
);
const NAMES = ["a", "b", "c", "a-latest", "b-2026-01-01"];
const anyModel = fc.record({
  id: fc.constantFrom("a", "b", "c", "d"),
  match: fc.subarray(NAMES, { minLength: 1 }).map((names) => ({ or: names.map((equals) => ({ equals })) })),
  prices: anyPrices,
  price_variants: fc.option(
    fc.tuple(anyTable).map(([prices]) => [{ when: { service_tier: "flex" }, prices }]),
    { nil: undefined },
  ),
});
const anyFile = fc.uniqueArray(anyModel, { selector: ({ id }) => id, minLength: 1, maxLength: 4 })
  .map((models) => genaiOf(models as ModelPrices[]));
const anyLitellm = fc.dictionary(
  fc.constantFrom(...NAMES),
  fc.record({ input_cost_per_token: fc.constantFrom(1e-6, 1e-5) }),
)
  .map((models) => litellmOf(models));

Deno.test("an update never changes a rate by over three times without confirmation", async () => {
  const times = ["2026-01-01", "2026-11-22", "2027-06-01"].map((day) => Date.parse(day));
  await fc.assert(
    fc.asyncProperty(anyFile, anyFile, anyLitellm, async (genai, next, litellm) => {
      const { data } = await mergePrices({ genai, litellm }, next, new Set(), { now });
      const before = createCatalog({ genai, litellm }, silentLog);
      const after = createCatalog({ genai: data as GenaiPrices, litellm }, silentLog);
      for (const model of [...NAMES, "d", "c-2026-02-02", "d-latest"]) {
        for (const at of times) {
          for (const serviceTier of [undefined, "flex", "batch"]) {
            const query = { provider: "openai", model, at, serviceTier };
            assertPlausible(before.rates(query), after.rates(query), `${model} ${at} ${serviceTier}`);
          }
        }
      }
    }),
    { numRuns: cases(60) },
  );
});

/** Compares two cards by the cost of a call, without the code under test. */
function assertPlausible(before: Rates | null, after: Rates | null, name: string): void {
  if (before === null || before.unknown) return;
  assert.ok(after !== null, `${name} has no price any more`);
  const rateAt = ({ tiers }: Rates, inputTokens: number) =>
    tiers.filter((tier) => inputTokens > tier.aboveInputTokens).at(-1)!;
  for (const inputTokens of [1, 1_001, 200_001]) {
    const [old, now] = [rateAt(before, inputTokens), rateAt(after, inputTokens)];
    for (const part of ["input", "output", "cacheRead"] as const) {
      const [from, to] = [old[part], now[part]];
      if (from === null) continue;
      // A cache without a price of its own costs as much as the input: a first one may be far below that, but not 0.
      if (part === "cacheRead" && from === old.input && to !== 0n && to! < from) continue;
      assert.ok(to !== null && to <= 3n * from && from <= 3n * to, `${name}: ${part} ${from} -> ${to}`);
    }
  }
}
