import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { PriceOverrides } from "../contract/price_override.ts";
import type { PriceOverride } from "../contract/price_override.ts";
import { createPriceBook } from "./prices.ts";
import { usageOf } from "./usage/usage.ts";

const AT = Date.parse("2026-11-10T12:00:00.000Z");
const CLAUDE = { provider: "anthropic", model: "claude-haiku-4-5", at: AT };

const inputRate = async (rows: PriceOverride[], query: object = {}) =>
  (await createPriceBook({ overrides: rows })).rates({ ...CLAUDE, ...query })!.tiers[0]!.input;
const contract = (change_percent: number, more: Partial<PriceOverride> = {}): PriceOverride => ({
  ...{ provider: "anthropic", model: "*", change_percent },
  ...more,
});

Deno.test("of several contracts the one with the most conditions counts, and of equals the latest", async () => {
  const listed = Number(await inputRate([]));
  const rows = [
    contract(-10),
    contract(-20, { from: "2026-10-01" }),
    contract(-30, { from: "2026-12-01" }),
    contract(-40, { model: "claude-haiku-*", until: "2026-11-12" }),
    contract(-50, { model: "claude-haiku-*", service_tier: "batch" }),
    contract(10, { region: "us" }),
  ];
  const share = async (query: object) => Number(await inputRate(rows, query)) / listed;
  const day = (text: string) => ({ at: Date.parse(`${text}T00:00:00.000Z`) });
  assert.equal(await share({}), 0.6);
  assert.equal(await share(day("2026-11-12")), 0.8);
  assert.equal(await share(day("2026-09-30")), 0.6);
  assert.equal(await share({ model: "claude-sonnet-4-5", at: day("2026-12-01").at }), 2.1);
  assert.equal(await share({ provider: "openai", model: "gpt-4o-mini" }), 0.15);
  const batch = Number(await inputRate([], { serviceTier: "batch" }));
  assert.equal(Number(await inputRate(rows, { serviceTier: "batch" })), batch / 2);
});

Deno.test("a contract changes every rate, also of tools and cached tokens, and no other row", async () => {
  const usage = {
    ...usageOf({ inputTokens: 3_000, cacheReadTokens: 1_000, cacheWriteTokens: 1_000, outputTokens: 1_000 }),
    details: { web_searches: 3 },
  };
  const priced = async (rows: PriceOverride[]) =>
    (await createPriceBook({ overrides: rows })).price({ ...CLAUDE, usage }).costNanoUsd!;
  assert.equal(await priced([contract(-50)]) * 2n, await priced([]));
  const own: PriceOverride = { ...CLAUDE, input_usd_per_million: 1, output_usd_per_million: 2 };
  delete (own as Partial<typeof CLAUDE>).at;
  assert.equal(await priced([own, contract(-50)]), await priced([own]));
});

Deno.test("a bound is never below the cost of a call, whatever contracts, tier and time it gets", async () => {
  const percent = fc.integer({ min: -99, max: 200 });
  const row = fc.record({
    model: fc.constantFrom("*", "claude-*", "claude-haiku-4-5", "claude-opus-*"),
    change_percent: percent,
    service_tier: fc.constantFrom(undefined, "batch", "priority"),
    region: fc.constantFrom(undefined, "us", "eu-*"),
    from: fc.constantFrom(undefined, "2026-11-10", "2026-11-11"),
    until: fc.constantFrom(undefined, "2026-11-12"),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(row, {
        maxLength: 4,
        selector: (one) => JSON.stringify({ ...one, change_percent: 0, until: 0 }),
      }),
      fc.constantFrom(undefined, "batch", "priority"),
      fc.constantFrom(undefined, "us", "eu-west1"),
      fc.constantFrom(0, 15 * 60_000),
      async (rows, serviceTier, inferenceGeo, delay) => {
        const at = Date.parse("2026-11-10T23:50:00.000Z");
        const overrides = rows.map((one) => ({ provider: "anthropic", ...one })) as PriceOverride[];
        const book = await createPriceBook({ overrides: JSON.parse(JSON.stringify(overrides)) });
        const tokens = { inputTokens: 10_000, outputTokens: 1_000 };
        const bound = book.worstCase({ ...CLAUDE, at, ...tokens })!;
        const { costNanoUsd } = book.price({
          ...{ ...CLAUDE, at: at + delay, serviceTier, inferenceGeo },
          usage: usageOf(tokens),
        });
        assert.ok(bound >= costNanoUsd!, `${bound} < ${costNanoUsd}`);
      },
    ),
    { numRuns: 60 },
  );
});

Deno.test("a row has the rates of a model or the change of a contract, and conditions of its kind", () => {
  const faultOf = (row: object) => {
    const [issue] = PriceOverrides.safeParse([{ provider: "a", model: "b", ...row }]).error?.issues ?? [];
    return issue && `${issue.path.join(".")} ${issue.message}`;
  };
  assert.equal(faultOf({ change_percent: -12, region: "eu-*", until: "2026-12-01" }), undefined);
  assert.match(
    faultOf({ change_percent: -12, input_usd_per_million: 1 })!,
    /^0\.input_usd_per_million cannot be/,
  );
  assert.match(faultOf({ input_usd_per_million: 1 })!, /^0\.output_usd_per_million must be a number of USD/);
  assert.match(
    faultOf({ input_usd_per_million: 1, output_usd_per_million: 1, region: "eu" })!,
    /^0\.region is a condition of a contract/,
  );
});
