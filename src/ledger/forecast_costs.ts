import type { CostForecast } from "../contract/costs/cost_forecast.ts";
import { startOf } from "../contract/windows.ts";
import { DAY_MS, toIso } from "../kernel/clock.ts";
import { divideHalfEven, type NanoUsd, parseTotalUsd, toUsd } from "../kernel/money.ts";
import type { SqlValue, Store } from "../store/mod.ts";
import type { CostScope } from "./cost_filter.ts";
import { piecesOf } from "./cost_pieces.ts";
import { listCosts, readCostTotal } from "./list_costs.ts";

/**
 * Reads the spend of the month of `now` (UTC), and estimates that of the whole month in two ways: at the pace so far, and
 * by the weekdays of the last four weeks.
 */
export async function forecastCosts(
  store: Pick<Store, "readLong">,
  scope: Omit<CostScope, "from" | "to" | "compare">,
  now: number,
): Promise<CostForecast> {
  const [from, to] = [startOf("month", now), startOf("month", now, 1)];
  const total = await readCostTotal(store, { ...scope, from, to });
  const firstDay = await readFirstDay(store, scope);
  const paceFrom = firstDay === null ? null : Math.max(from, firstDay);
  const spent = total.cost_usd === null ? null : parseTotalUsd(total.cost_usd);
  const isKnown = spent !== null && firstDay !== null && now - firstDay >= MIN_DAYS * DAY_MS;
  const byPace = isKnown && now - paceFrom! >= DAY_MS
    ? extrapolate(spent, { from: paceFrom!, now, to })
    : null;
  const byWeekday = isKnown
    ? forecastByWeekday(spent, { days: await readDays(store, scope, firstDay, now), now, to })
    : null;
  const known = [byPace, byWeekday].flatMap((amount) => amount ?? []);
  const usdOf = (amount: NanoUsd | null | undefined) => amount == null ? null : toUsd(amount);
  return {
    month: toIso(from).slice(0, 7),
    from: toIso(from),
    to: toIso(to),
    as_of: toIso(now),
    pace_from: paceFrom === null ? null : toIso(paceFrom),
    unpriced_calls: total.unpriced_calls,
    partly_priced_calls: total.partly_priced_calls,
    cost_usd: total.cost_usd,
    forecast_usd: usdOf(byPace),
    weekday_forecast_usd: usdOf(byWeekday),
    low_usd: usdOf(known.reduce<NanoUsd | undefined>((a, b) => a === undefined || b < a ? b : a, undefined)),
    high_usd: usdOf(known.reduce<NanoUsd | undefined>((a, b) => a === undefined || b > a ? b : a, undefined)),
  };
}

/** The days of calls before which there is no forecast. */
const MIN_DAYS = 3;

/** The days whose medians are taken. */
const WEEKDAY_DAYS = 28;

/** The spending of the days before today, the newest first, and so far today. */
export interface Days {
  before: readonly NanoUsd[];
  today: NanoUsd;
}

/** Reads the spend of today and of the four weeks before, as far as there are calls. */
async function readDays(
  store: Pick<Store, "readLong">,
  scope: CostScope,
  firstDay: number,
  now: number,
): Promise<Days> {
  const today = startOf("day", now);
  const from = Math.max(firstDay, today - WEEKDAY_DAYS * DAY_MS);
  const filter = {
    ...scope,
    from,
    to: today + DAY_MS,
    groupBy: "day",
    limit: WEEKDAY_DAYS + 1,
    offset: 0,
  } as const;
  const rows = await listCosts(store, filter);
  const costs = new Map(rows.map(({ day, cost_usd }) => [Date.parse(day!), parseTotalUsd(cost_usd ?? 0)]));
  const before = Array.from(
    { length: (today - from) / DAY_MS },
    (_, index) => costs.get(today - (index + 1) * DAY_MS) ?? 0n,
  );
  return { before, today: costs.get(today) ?? 0n };
}

/**
 * Returns what a month will cost in all if each remaining day costs the median of the days before it that were the same
 * weekday, or of all days where there are none. What is spent today counts once.
 */
export function forecastByWeekday(
  spent: NanoUsd,
  { days: { before, today }, now, to }: { days: Days; now: number; to: number },
): NanoUsd {
  const start = startOf("day", now);
  let whole = spent - today;
  for (let day = start; day < to; day += DAY_MS) {
    const ahead = (day - start) / DAY_MS;
    const same = before.filter((_, index) => (index + 1 + ahead) % 7 === 0);
    const usual = median(same.length > 0 ? same : before);
    whole += day === start && today > usual ? today : usual;
  }
  return whole;
}

/** Returns the median, of an even number the mean of both in the middle; 0 of none. */
function median(amounts: readonly NanoUsd[]): NanoUsd {
  const sorted = amounts.toSorted((a, b) => a < b ? -1 : a > b ? 1 : 0);
  const middle = sorted.length / 2;
  if (sorted.length === 0) return 0n;
  if (sorted.length % 2 === 1) return sorted[Math.floor(middle)]!;
  return divideHalfEven(sorted[middle - 1]! + sorted[middle]!, 2n);
}

/** Returns what a span will cost in all, at the pace from its start to now, rounded half to even. */
export function extrapolate(
  spent: NanoUsd,
  { from, now, to }: { from: number; now: number; to: number },
): NanoUsd {
  return divideHalfEven(spent * BigInt(to - from), BigInt(now - from));
}

/** Reads the start of the first UTC day with a call. */
async function readFirstDay(store: Pick<Store, "readLong">, scope: CostScope): Promise<number | null> {
  const args: SqlValue[] = [];
  const days = piecesOf(scope, { columns: ["day"] }, args).join(" UNION ALL ");
  const day = (await store.readLong({ sql: `SELECT min(day) FROM (${days}) days`, args })).rows[0]![0];
  return day === null ? null : Number(day);
}
