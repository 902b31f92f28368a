import type { CostForecast } from "../contract/costs.ts";
import { DAY_MS, toIso } from "../kernel/clock.ts";
import { divideHalfEven, type NanoUsd, parseTotalUsd, toUsd } from "../kernel/money.ts";
import type { SqlValue, Store } from "../store/mod.ts";
import type { CostScope } from "./cost_filter.ts";
import { piecesOf } from "./cost_pieces.ts";
import { readCostTotal } from "./list_costs.ts";

/** Reads the spend of the month of `now` (UTC), and extrapolates it to the end of the month at the pace so far. */
export async function forecastCosts(
  store: Pick<Store, "read">,
  scope: Omit<CostScope, "from" | "to" | "compare">,
  now: number,
): Promise<CostForecast> {
  const date = new Date(now);
  const from = Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
  const to = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
  const total = await readCostTotal(store, { ...scope, from, to });
  const firstDay = await readFirstDay(store, scope);
  const paceFrom = firstDay === null ? null : Math.max(from, firstDay);
  const isKnown = total.cost_usd !== null && paceFrom !== null && now - paceFrom >= DAY_MS;
  return {
    month: toIso(from).slice(0, 7),
    from: toIso(from),
    to: toIso(to),
    as_of: toIso(now),
    pace_from: paceFrom === null ? null : toIso(paceFrom),
    unpriced_calls: total.unpriced_calls,
    partly_priced_calls: total.partly_priced_calls,
    cost_usd: total.cost_usd,
    forecast_usd: isKnown
      ? toUsd(extrapolate(parseTotalUsd(total.cost_usd!), { from: paceFrom, now, to }))
      : null,
  };
}

/** Returns what a span will cost in all, at the pace from its start to now, rounded half to even. */
export function extrapolate(
  spent: NanoUsd,
  { from, now, to }: { from: number; now: number; to: number },
): NanoUsd {
  return divideHalfEven(spent * BigInt(to - from), BigInt(now - from));
}

/** Reads the start of the first UTC day with a call. */
async function readFirstDay(store: Pick<Store, "read">, scope: CostScope): Promise<number | null> {
  const args: SqlValue[] = [];
  const days = piecesOf(scope, { columns: ["day"] }, args).join(" UNION ALL ");
  const day = (await store.read({ sql: `SELECT min(day) FROM (${days})`, args })).rows[0]![0];
  return day === null ? null : Number(day);
}
