import { DAY_MS } from "../../kernel/clock.ts";
import { isList, pricesAt } from "./prices_at.ts";
import { mapRates, type ModelPrices, type PriceTable } from "./price_data.ts";

/**
 * DeepSeek bills the double price at peak hours, from the 17th of August 2026 (Beijing time) on: 9 to 12 and 14 to 18 o'clock
 * in Beijing, Monday to Friday; not at weekends from the 23rd on, nor at Chinese public holidays. The data has one condition
 * for each price, so its peak hours also hold before that date and at weekends.
 * https://api-docs.deepseek.com/quick_start/pricing (2026-11), https://api-docs.deepseek.com/updates
 */
const PEAK_FROM = Date.parse("2026-08-16T16:00:00.000Z");
const WEEKENDS_FROM = Date.parse("2026-08-22T16:00:00.000Z");
const PEAK_HOURS: readonly (readonly [from: number, to: number])[] = [[9, 12], [14, 18]];
const PEAK_MODELS = /^deepseek-(?:v4-|flash$)/;
const HOUR_MS = 3_600_000;
const BEIJING_MS = 8 * HOUR_MS;

/** The days off on weekdays that are announced, as of 2026-11: State Council notice of November 2025, and the 1st of January. */
const HOLIDAYS = new Set([
  "2026-09-25",
  ...["01", "02", "05", "06", "07"].map((day) => `2026-10-${day}`),
  "2027-01-01",
]);

/** Returns whether a time is in DeepSeek's peak hours. */
export function isDeepseekPeak(at: number): boolean {
  if (at < PEAK_FROM) return false;
  const beijing = new Date(at + BEIJING_MS);
  const hour = beijing.getUTCHours();
  if (!PEAK_HOURS.some(([from, to]) => hour >= from && hour < to)) return false;
  if (at < WEEKENDS_FROM) return true;
  const day = beijing.getUTCDay();
  return day !== 0 && day !== 6 && !HOLIDAYS.has(beijing.toISOString().slice(0, 10));
}

function hasDeepseekPeak(providerId: string, model: ModelPrices): boolean {
  return providerId === "deepseek" && PEAK_MODELS.test(model.id) && isList(model.prices) &&
    model.prices.some(({ constraint }) => constraint?.type === "time_of_date");
}

/**
 * Tencent Cloud bills these models of DeepSeek's by the same hours. LiteLLM's map has their peak price, and half of it as
 * `off_peak_pricing` (2026-11-12).
 */
function hasTencentPeak(providerId: string, { id }: ModelPrices): boolean {
  return providerId === "tencent" && /^tencent\/deepseek-v4(?:-pro-0813|\.1-flash)$/.test(id);
}

/** Returns the standard prices of a model at a time, corrected. */
export function correctedPricesAt(providerId: string, model: ModelPrices, at: number): PriceTable {
  if (hasTencentPeak(providerId, model)) {
    const peak = pricesAt(model, at);
    return isDeepseekPeak(at) ? peak : mapRates(peak, (_, rate) => rate / 2);
  }
  if (!hasDeepseekPeak(providerId, model) || !isList(model.prices)) return pricesAt(model, at);
  const offPeak = pricesAt(
    { prices: model.prices.filter(({ constraint }) => constraint?.type !== "time_of_date") },
    at,
  );
  if (!isDeepseekPeak(at)) return offPeak;
  return Object.fromEntries(
    Object.entries(offPeak).map(([name, price]) => [name, typeof price === "number" ? price * 2 : price]),
  );
}

/** Returns the times of the UTC day at which corrected prices change. */
export function correctedCuts(providerId: string, model: ModelPrices): number[] {
  if (!hasDeepseekPeak(providerId, model) && !hasTencentPeak(providerId, model)) return [];
  return PEAK_HOURS.flat().map((hour) => (hour * HOUR_MS - BEIJING_MS + DAY_MS) % DAY_MS).sort((a, b) =>
    a - b
  );
}
