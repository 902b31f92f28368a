import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { silentLog } from "../src/kernel/log.ts";
import { createCatalog } from "../src/pricing/catalog.ts";
import { createPriceBook } from "../src/pricing/prices.ts";
import { type GenaiPrices, type LitellmPrices } from "../src/pricing/catalog/price_data.ts";
import { parsePriceData } from "../src/pricing/catalog/parse_price_data.ts";
import { type AnyCall, anyCase, PROVIDER_NAMES } from "./harness/any_prices.ts";
import { oracleBill, usageOfLeaves } from "./harness/price_oracle.ts";
import { configRows, genaiFile, litellmFile, type Spec } from "./harness/price_spec.ts";

/** Calls that are priced by each random set of prices. */
const CALLS = 50;
const CASES = Number(Deno.env.get("PURSER_PRICE_CASES") ?? 2_500);

const IDS = new Map(Object.entries(PROVIDER_NAMES).flatMap(([id, names]) => names.map((name) => [name, id])));
const idOf = (name: string) => IDS.get(name) ?? name;

/** Reads the published forms of random prices. */
function openBook(spec: Spec) {
  const genai = parsePriceData(genaiFile(spec), { date: "2026-11-10" });
  const litellm = spec.second.length === 0
    ? undefined
    : parsePriceData(litellmFile(spec), { date: "2026-11-12" });
  assert.deepEqual([genai.skipped, litellm?.skipped ?? []], [[], []]);
  const catalog = createCatalog({
    genai: genai.data as GenaiPrices,
    litellm: litellm?.data as LitellmPrices | undefined,
  }, silentLog);
  const names = Object.values(PROVIDER_NAMES).flat();
  const statesCost = { field: "nano", unit: "nano_usd" } as const;
  const providers = Object.fromEntries(names.map((name) => [name, { statesCost }]));
  return createPriceBook({ overrides: configRows(spec), catalog, providers });
}

/** A stated cost is the bill, unless a row of the config has the price, or it is 0 beside what is billed. */
function expectedOf(spec: Spec, { call, stated }: AnyCall, hasRow: boolean) {
  const bill = oracleBill(spec, idOf, call);
  const isEmpty = Object.values(call.leaves).every((count) => count === 0);
  if (stated === undefined) return bill;
  if (hasRow || (stated === 0n && !isEmpty)) return { ...bill, beside: stated };
  const list = bill.nano === null || bill.unpriced.length > 0 ? {} : { list: bill.nano };
  return { nano: stated, unpriced: [], source: "provider", ...list };
}

Deno.test(`${CASES} random calls cost what a second calculation says, at random prices`, async () => {
  const property = fc.asyncProperty(
    anyCase(CALLS),
    async ({ spec, calls }) => {
      const book = await openBook(spec);
      for (const one of calls) {
        const { model, at, served, leaves } = one.call;
        const usage = usageOfLeaves(leaves);
        const price = book.price({
          provider: one.name,
          model,
          at,
          ...served,
          usage,
          ...one.stated !== undefined && { statement: { usage: { nano: String(one.stated) } } },
        });
        const { costNanoUsd, unpricedParts = [], priceSource, listCostNanoUsd, statedNanoUsd } = price;
        const hasRow = book.rates({ provider: one.name, model, at, ...served })?.source === "config";
        const actual = {
          nano: costNanoUsd,
          unpriced: [...unpricedParts].sort(),
          source: priceSource.replace(/@.*/, ""),
          ...listCostNanoUsd !== undefined && { list: listCostNanoUsd },
          ...statedNanoUsd !== undefined && { beside: statedNanoUsd },
        };
        assert.deepEqual(actual, expectedOf(spec, one, hasRow), JSON.stringify(one, asText));
      }
    },
  );
  await fc.assert(property, { numRuns: Math.ceil(CASES / CALLS) });
});

const asText = (_: string, value: unknown) => typeof value === "bigint" ? String(value) : value;
