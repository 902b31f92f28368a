import type { CostForecast } from "../contract/costs/cost_forecast.ts";
import { type Calendar, dateIn, localDayAt, startOfLocalDay, UTC } from "../contract/calendars/zones.ts";
import { type ReportDays, reportDays, startOf } from "../contract/windows.ts";
import { DAY_MS, toIso } from "../kernel/clock.ts";
import { divideHalfEven, type NanoUsd, parseTotalUsd, toUsd } from "../kernel/money.ts";
import type { SqlValue, Store } from "../store/mod.ts";
import type { CostScope } from "./cost_filter.ts";
import { piecesOf } from "./cost_pieces.ts";
import { listCosts, readCostTotal } from "./list_costs.ts";

/**
 * Reads the spend of the month of a calendar that has `now`, and estimates that of the whole month in two ways: at the pace so far,
 * and by the weekdays of the last four weeks.
 */
export async function forecastCosts(
  store: Pick<Store, "readLong">,
  scope: Omit<CostScope, "from" | "to" | "compare">,
  now: number,
  calendar: Calendar = UTC,
): Promise<CostForecast> {
  const { timeZone } = calendar;
  const [from, to] = [startOf("month", now, 0, calendar), startOf("month", now, 1, calendar)];
  const total = await readCostTotal(store, { ...scope, from, to });
  const firstLabel = await readFirstDay(store, scope, calendar);
  const firstDay = firstLabel === null ? null : startOfLocalDay(timeZone, firstLabel);
  const paceFrom = firstDay === null ? null : Math.max(from, firstDay);
  const spent = total.cost_usd === null ? null : parseTotalUsd(total.cost_usd);
  const isKnown = spent !== null && firstDay !== null && now - firstDay >= MIN_DAYS * DAY_MS;
  const byPace = isKnown && now - paceFrom! >= DAY_MS
    ? extrapolate(spent, { from: paceFrom!, now, to })
    : null;
  const byWeekday = isKnown
    ? forecastByWeekday(spent, {
      days: await readDays(store, scope, { firstLabel: firstLabel!, calendar, now }),
      now: localDayAt(timeZone, now),
      to: localDayAt(timeZone, to),
    })
    : null;
  const known = [byPace, byWeekday].flatMap((amount) => amount ?? []);
  const usdOf = (amount: NanoUsd | null | undefined) => amount == null ? null : toUsd(amount);
  return {
    time_zone: timeZone,
    month: dateIn(timeZone, from).slice(0, 7),
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
  { firstLabel, calendar, now }: { firstLabel: number; calendar: Calendar; now: number },
): Promise<Days> {
  const today = localDayAt(calendar.timeZone, now);
  const first = Math.max(firstLabel, today - WEEKDAY_DAYS * DAY_MS);
  const [from, to] = [first, today + DAY_MS].map((label) => startOfLocalDay(calendar.timeZone, label));
  const filter = {
    ...scope,
    from,
    to,
    groupBy: "day",
    days: reportDays(calendar, from!, to!),
    limit: WEEKDAY_DAYS + 1,
    offset: 0,
  } as const;
  const rows = await listCosts(store, filter);
  const costs = new Map(rows.map(({ day, cost_usd }) => [Date.parse(day!), parseTotalUsd(cost_usd ?? 0)]));
  const before = Array.from(
    { length: (today - first) / DAY_MS },
    (_, index) => costs.get(today - (index + 1) * DAY_MS) ?? 0n,
  );
  return { before, today: costs.get(today) ?? 0n };
}

/**
 * Returns what a month will cost in all if each remaining day costs the median of the days before it that were the same
 * weekday, or of all days where there are none. What is spent today counts once. Of another zone than UTC, `now` and `to` are labels
 * of days.
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

/** Reads the label of the first local day with a call. */
async function readFirstDay(
  store: Pick<Store, "readLong">,
  scope: CostScope,
  calendar: Calendar,
): Promise<number | null> {
  const first = await readMinDay(store, scope);
  if (first === null || calendar.timeZone === UTC.timeZone) return first;
  // The first day of UTC is in the rollups by day; its first call is on the first local day.
  const [from, to] = [first, first + DAY_MS];
  return await readMinDay(store, { ...scope, from, to }, reportDays(calendar, from, to));
}

async function readMinDay(
  store: Pick<Store, "readLong">,
  scope: CostScope,
  days?: ReportDays,
): Promise<number | null> {
  const args: SqlValue[] = [];
  const rows = piecesOf(scope, { columns: ["day"], days }, args).join(" UNION ALL ");
  const day = (await store.readLong({ sql: `SELECT min(day) FROM (${rows}) days`, args })).rows[0]![0];
  return day === null ? null : Number(day);
}
