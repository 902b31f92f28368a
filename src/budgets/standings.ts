import type { BudgetAction, BudgetMode, BudgetPeriod } from "../contract/values.ts";
import { calendarIn, daysOf, windowOf } from "../contract/windows.ts";
import type { NanoUsd } from "../kernel/money.ts";
import type { SqlValue, Store } from "../store/mod.ts";
import { type CallToDecide, toCallRow } from "./call_to_decide.ts";
import type { Standing } from "./decide_call.ts";
import { READ_COUNTERS, READ_STANDINGS } from "./reservations/standing_sql.ts";

/** The fields of a call that only a reservation needs, for a call whose budgets are looked up. */
export const LOOKED_UP = {
  reservationId: "",
  amounts: { estimateNanoUsd: 0n, worstNanoUsd: null },
  isUnpriced: false,
  leaseMs: 0,
};

/** Reads the budgets that count a call, with their states. */
export async function readStandingsOf(
  { store }: { store: Pick<Store, "read"> },
  { scopes, at }: Pick<CallToDecide, "scopes" | "at">,
): Promise<Standing[]> {
  const { rows } = await store.read({
    sql: READ_STANDINGS,
    args: toCallRow({ ...LOOKED_UP, scopes, at }, 0),
  });
  return rows.map((row) => toStanding(row, at));
}

function toStanding(row: SqlValue[], at: number): Standing {
  const [
    budgetId,
    name,
    per,
    scope,
    from,
    mode,
    action,
    allowUnpriced,
    limit,
    extra,
    settled,
    estimated,
    worst,
    lost,
    calendar,
    end,
    part,
  ] = row;
  return {
    budgetId: budgetId as string | null,
    name: name as string | null,
    per: per as BudgetPeriod,
    scope: scope as string,
    part: part as string | null,
    from: Number(from),
    resetsAt: calendar === null
      ? windowOf(per as BudgetPeriod, at).resetsAt
      : end == null
      ? null
      : Number(end),
    calendar: calendar as string | null,
    mode: mode as BudgetMode,
    action: action as BudgetAction,
    allowUnpriced: Number(allowUnpriced) !== 0,
    limitNanoUsd: limit as bigint,
    extraNanoUsd: extra as bigint,
    settledNanoUsd: settled as bigint,
    estimatedNanoUsd: estimated as bigint,
    worstNanoUsd: worst as bigint,
    lostNanoUsd: lost as bigint,
  };
}

/** A counter: a scope and the start of a window. */
export interface Counter {
  scope: string;
  per: BudgetPeriod;
  calendar: string | null;
  from: number;
}

/** The state of a counter. */
export interface CounterState {
  settledNanoUsd: NanoUsd;
  estimatedNanoUsd: NanoUsd;
  worstNanoUsd: NanoUsd;
  lostNanoUsd: NanoUsd;
  /** The calls whose cost is not known, which no amount has. */
  unpricedCalls: number;
}

/** Reads the states of counters, in the given order, in one read of the database. */
export async function readStandings(
  { store }: { store: Pick<Store, "read"> },
  counters: readonly Counter[],
): Promise<CounterState[]> {
  const keyOf = (scope: unknown, from: unknown, countedBy: unknown) => `${from} ${countedBy} ${scope}`;
  const wanted = counters.map((
    { scope, per, calendar, from },
  ): [string, number, string] => [
    scope,
    from,
    per === "hour" ? "minute" : daysOf(calendarIn(calendar)) ?? "day",
  ]);
  const distinct = new Map(wanted.map((counter) => [keyOf(...counter), counter]));
  const { rows } = await store.read({ sql: READ_COUNTERS, args: [JSON.stringify([...distinct.values()])] });
  const states = new Map(rows.map(([scope, from, countedBy, settled, estimated, worst, lost, unpriced]) => [
    keyOf(scope, from, countedBy),
    {
      settledNanoUsd: settled as bigint,
      estimatedNanoUsd: estimated as bigint,
      worstNanoUsd: worst as bigint,
      lostNanoUsd: lost as bigint,
      unpricedCalls: Number(unpriced),
    },
  ]));
  return wanted.map((counter) => states.get(keyOf(...counter))!);
}
