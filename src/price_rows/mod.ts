import { asc } from "drizzle-orm";
import { toOverride } from "./read/mod.ts";
import { priceName } from "../contract/price_name.ts";
import type { PriceOverride } from "../contract/price_override.ts";
import type { SetPrice } from "../contract/prices.ts";
import { type Clock, toIso } from "../kernel/clock.ts";
import { PurserError } from "../kernel/errors.ts";
import {
  type Author,
  type Check,
  defineAuthored,
  deriveId,
  type Edit,
  type Query,
  replaceState,
  type Store,
  tables,
} from "../store/mod.ts";

/** The prices that people set: rows like those of the config, which all instances of a database use. */

type Row = typeof tables.priceRows.$inferSelect;

function toSetPrice(row: Row): SetPrice {
  const { priceId, name, createdAt, updatedAt } = row;
  return {
    price_id: priceId,
    name,
    ...toOverride(row),
    created_at: toIso(createdAt),
    updated_at: toIso(updatedAt),
  };
}

/** The statements of prices. */
export const PRICES = defineAuthored(tables.priceRows, {
  what: "price",
  kind: "price",
  id: "priceId",
  show: (row) => ({ name: row.name, ...toOverride(row) }),
});

/** The parts of a process that prices use. */
interface PriceContext {
  store: Store;
  query: Query;
  clock: Pick<Clock, "now">;
  /** Who changes prices, for the audit log. */
  author: Author;
  /** The prices in use, which are read again. */
  prices: { refresh(): Promise<unknown> };
}

/** The most prices that a database has. */
const MOST = 1_000;

/** Returns the row of a price that was checked. */
export async function toPriceRow(input: PriceOverride, now: number): Promise<Row> {
  const { provider, model, service_tier = null, from = null, ...rates } = input;
  const name = priceName(input);
  return {
    priceId: await deriveId("prc", name),
    name,
    ...{
      provider,
      model,
      serviceTier: service_tier,
      fromDay: from,
      rates: rates as Record<string, number | string>,
    },
    ...{ createdAt: now, updatedAt: now },
  };
}

/**
 * Sets a price that was checked, and replaces the one of the same model, service tier and day as a whole; with a check, only one that
 * has passed it.
 *
 * @throws {PurserError} `invalid` if its provider has a price of that model under another name, or there are too many prices
 */
export async function setPrice(
  ctx: PriceContext,
  input: PriceOverride,
  check?: Check<SetPrice | undefined>,
): Promise<{ price: SetPrice; isNew: boolean }> {
  const edit: Edit = { author: ctx.author, now: ctx.clock.now() };
  const row = await toPriceRow(input, edit.now);
  const set = await replaceState(`price ${row.name}`, async () => {
    // Read before the write, whose answer may be lost.
    const before = await PRICES.find(ctx.query, row.priceId);
    await check?.(before && toSetPrice(before));
    if (!before) await refuseTwin(ctx, row);
    const { createdAt } = before ?? row;
    await ctx.store.write([
      PRICES.requireUnchanged(row.priceId, before),
      ...before ? PRICES.update(edit, before, row) : PRICES.insert(edit, row),
    ]);
    return { price: toSetPrice({ ...row, createdAt }), isNew: before === undefined };
  });
  await ctx.prices.refresh();
  return set;
}

/** Refuses a price that another spelling of its provider has: either could apply. */
async function refuseTwin({ query }: Pick<PriceContext, "query">, row: Row): Promise<void> {
  const { providerIdOf } = await import("../pricing/show/mod.ts");
  const all = await query.select().from(tables.priceRows);
  if (all.length >= MOST) {
    throw new PurserError(
      "invalid",
      `Cannot set the price of ${row.name}: there are ${MOST} prices; remove some`,
    );
  }
  const nameOf = (one: Row) => priceName({ ...toOverride(one), provider: providerIdOf(one.provider) });
  const twin = all.find((one) => nameOf(one) === nameOf(row));
  if (twin === undefined) return;
  throw new PurserError(
    "invalid",
    `Cannot set the price of ${row.name}: ${twin.provider} is the same provider, and has it as ${twin.name}; set that one`,
  );
}

/**
 * Removes a price: the model has those of the config or of the sources again.
 *
 * @throws {PurserError} `not_found`
 */
export async function removePrice(
  ctx: PriceContext,
  priceId: string,
  check?: Check<SetPrice>,
): Promise<void> {
  const edit: Edit = { author: ctx.author, now: ctx.clock.now() };
  const checkRow = check && ((row: Row) => check(toSetPrice(row)));
  await PRICES.remove(ctx.query, edit, priceId, checkRow, (statements) => ctx.store.write(statements));
  await ctx.prices.refresh();
}

/** Returns a price that is set. Throws `not_found`. */
export async function getPrice({ query }: Pick<PriceContext, "query">, priceId: string): Promise<SetPrice> {
  return toSetPrice(await PRICES.read(query, priceId));
}

/** Lists the prices that are set, by name. */
export async function listPrices({ query }: Pick<PriceContext, "query">): Promise<SetPrice[]> {
  const { name } = tables.priceRows;
  return (await query.select().from(tables.priceRows).orderBy(asc(name))).map(toSetPrice);
}
