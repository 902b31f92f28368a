import type { PriceOverride } from "../../src/contract/price_override.ts";
import type { Repricing, RepricingFilter } from "../../src/contract/repricings.ts";
import type { ModelCall } from "../../src/ledger/mod.ts";
import { type PriceBook } from "../../src/pricing/mod.ts";
import { createPriceBook } from "../../src/pricing/prices.ts";
import type { Store } from "../../src/store/mod.ts";
import type { TestBooking } from "./booking.ts";
import { modelCall } from "./model_calls.ts";

/** The time of the calls. */
export const AT = Date.parse("2026-11-21T09:30:00.000Z");
/** A filter that chooses them all. */
export const ALL: RepricingFilter = { from: "2026-11-01", to: "2026-12-01" };

const price = (model: string, input: number): PriceOverride => ({
  provider: "local",
  model,
  input_usd_per_million: input,
  output_usd_per_million: 2 * input,
});

const books = new Map<string, Promise<PriceBook>>();

/** A price book of some models, by their input price. */
export function bookOf(prices: Readonly<Record<string, number>>): Promise<PriceBook> {
  const key = JSON.stringify(prices);
  let book = books.get(key);
  if (!book) {
    const overrides = Object.entries(prices).map(([model, input]) => price(model, input));
    books.set(key, book = createPriceBook({ overrides }));
  }
  return book;
}

/** The context of one process with its own prices. */
export async function withPrices(
  ctx: TestBooking,
  prices: Readonly<Record<string, number>>,
): Promise<TestBooking> {
  return { ...ctx, prices: { ...ctx.prices, ...await bookOf(prices) } };
}

/** Prices a call as a booking does. */
export function priced(ctx: TestBooking, fields: Partial<ModelCall> & Pick<ModelCall, "callId">): ModelCall {
  const call = modelCall({ provider: "local", model: "a", ...fields });
  const { usage, provider, model, at } = call;
  return { ...call, ...ctx.prices.price({ usage, provider, model, at }) };
}

/** Returns calls of a session, over seven hours. */
export const manyCalls = (ctx: TestBooking, count: number, fields: Partial<ModelCall> = {}) =>
  Array.from({ length: count }, (_, index) =>
    priced(ctx, {
      callId: `call_${String(index).padStart(5, "0")}`,
      at: AT + index % 7 * 3_600_000,
      sessionId: "ses_1",
      ...fields,
    }));

/** Reads the totals of all calls. */
export async function total(store: Store): Promise<[nanoUsd: bigint, unpriced: number, partly: number]> {
  const { rows } = await store.read({
    sql:
      `SELECT coalesce(sum(whole_usd), 0), coalesce(sum(rest_nano_usd), 0), coalesce(sum(unpriced_calls), 0),
      coalesce(sum(partly_priced_calls), 0) FROM total_usage`,
  });
  const [whole, rest, unpriced, partly] = rows[0] as bigint[];
  return [whole! * 1_000_000_000n + rest!, Number(unpriced), Number(partly)];
}

/** Returns what a repricing sums. */
export const sums = (
  { repricing_id: _id, status: _status, created_at: _at, applied_at: _applied, ...rest }: Repricing,
) => rest;

/** Lists the entries of the ledger in order. */
export async function listEntries(store: Store): Promise<unknown[]> {
  return (await store.read({ sql: "SELECT call_id, adjusts FROM calls ORDER BY position" })).rows;
}

/** The context of a process that dies after so many commits. */
export function failingAfter(ctx: TestBooking, commits: number): TestBooking {
  let left = commits;
  const store = new Proxy(ctx.store, {
    get(target, key) {
      const value = Reflect.get(target, key);
      if (typeof value !== "function") return value;
      if (key !== "write") return value.bind(target);
      return (...args: unknown[]) =>
        left-- > 0 ? value.apply(target, args) : Promise.reject(new Error("The database is out of order"));
    },
  });
  return { ...ctx, store, rollUps: new (ctx.rollUps.constructor as new () => TestBooking["rollUps"])() };
}
