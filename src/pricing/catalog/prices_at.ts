import { DAY_MS } from "../../kernel/clock.ts";
import type { ModelPrices, PriceConstraint, PriceTable } from "./price_data.ts";

/** Returns whether a constraint holds at a time. */
export function holdsAt(constraint: PriceConstraint | undefined, at: number): boolean {
  if (constraint === undefined) return true;
  if (constraint.type === "start_date") return at >= Date.parse(`${constraint.start_date}T00:00:00.000Z`);
  const start = timeOfDayMs(constraint.start_time);
  const end = timeOfDayMs(constraint.end_time);
  const time = ((at % DAY_MS) + DAY_MS) % DAY_MS;
  return end < start ? time >= start || time < end : time >= start && time < end;
}

/** Converts "00:30:00Z" or "08:30:00+08:00" to milliseconds of the UTC day. */
function timeOfDayMs(time: string): number {
  const epochMs = Date.parse(`1970-01-02T${time}`);
  return ((epochMs % DAY_MS) + DAY_MS) % DAY_MS;
}

/** Returns the standard prices at a time: the last of the list that holds, else the first. */
export function pricesAt({ prices }: Pick<ModelPrices, "prices">, at: number): PriceTable {
  if (!isList(prices)) return prices;
  for (let i = prices.length - 1; i >= 0; i--) {
    if (holdsAt(prices[i]!.constraint, at)) return prices[i]!.prices;
  }
  return prices[0]!.prices;
}

export function isList<T extends object, L>(prices: T | readonly L[]): prices is readonly L[] {
  return Array.isArray(prices);
}

/** Returns the prices that a model lists for calls that were served in a context; undefined without any. */
export function variantAt(
  { price_variants = [] }: Pick<ModelPrices, "price_variants">,
  context: Readonly<Record<string, string>>,
  at: number,
): PriceTable | undefined {
  let listed: Record<string, PriceTable[string]> | undefined;
  for (const { when, constraint, prices } of price_variants) {
    if (!holdsAt(constraint, at)) continue;
    if (!Object.entries(when).every(([name, value]) => context[name] === value)) continue;
    listed ??= {};
    for (const [name, price] of Object.entries(prices)) listed[name] ??= price;
  }
  return listed;
}

/** Returns the times of the UTC day at which prices change, such as DeepSeek's peak hours, ascending. */
export function dailyCutsOf({ prices, price_variants = [] }: ModelPrices): number[] {
  const cuts = new Set<number>();
  for (const { constraint } of [...isList(prices) ? prices : [], ...price_variants]) {
    if (constraint?.type !== "time_of_date") continue;
    cuts.add(timeOfDayMs(constraint.start_time)).add(timeOfDayMs(constraint.end_time));
  }
  return [...cuts].sort((a, b) => a - b);
}
