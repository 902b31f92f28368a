import type { BudgetPeriod } from "../contract/values.ts";
import { ROLLING_MS, startOf, startSql } from "../contract/windows.ts";
import { HOUR_MS, toIso } from "../kernel/clock.ts";
import { divideHalfEven, NANO_PER_USD, type NanoUsd, toUsd } from "../kernel/money.ts";
import { isAfter, NOT_INDEXED, ORDERED_JOIN, type Store } from "../store/mod.ts";
import { MAX_TIME } from "./cost_conditions.ts";
import {
  atMost64Bits,
  counterSum,
  DECIDED_POSITION,
  isInScope,
  isShaped,
  sumOfTail,
} from "./spend_counters.ts";
import { IN_WINDOWS } from "./scopes/mod.ts";

/*
 * The pace of spending towards a limit, and when the limit is reached at it. It is read from the counters of spend: of
 * short windows by minute, of longer ones also by day, which is two rows.
 */

/** The windows of limits whose spending has a pace. */
export type PacedWindow = "hour" | "day" | "longer";

/** Those of the periods; undefined for a run, a session or a tree. */
export const PACED_WINDOWS: Readonly<Record<BudgetPeriod, PacedWindow | undefined>> = {
  run: undefined,
  session: undefined,
  tree: undefined,
  hour: "hour",
  day: "day",
  week: "longer",
  month: "longer",
  quarter: "longer",
  "30d": "longer",
  lifetime: "longer",
};

/** The spending from a time to now, in nano-USD. */
export interface Pace {
  spentNanoUsd: NanoUsd;
  elapsedMs: number;
}

/** A span whose spending is a pace. */
interface Span {
  kind: "minute" | "day";
  from: number;
}

/**
 * Returns the spans whose paces are compared for a window, of which the faster one counts. A long window has two: the last
 * hour shows a burst, which the mean of yesterday and today hides for a day.
 */
function spansOf(window: PacedWindow, now: number): Span[] {
  if (window === "hour") return [{ kind: "minute", from: startOf("minute", now, -10) }];
  const hour: Span = { kind: "minute", from: startOf("minute", now - ROLLING_MS) };
  return window === "day" ? [hour] : [{ kind: "day", from: startOf("day", now, -1) }, hour];
}

/** Returns the faster of two paces. */
export function fasterOf(a: Pace, b: Pace): Pace {
  return a.spentNanoUsd * BigInt(b.elapsedMs) >= b.spentNanoUsd * BigInt(a.elapsedMs) ? a : b;
}

const inTail = sumOfTail(
  `c.at >= t.starts AND (${isInScope("t.scope", IN_WINDOWS)}
    OR ${isShaped("c", "t.scope")})`,
);
const FOREVER = "9223372036854775807";
const READ = `WITH t AS (
  SELECT CAST(key AS BIGINT) AS n, value ->> 0 AS kind, value ->> 1 AS scope, CAST(value ->> 2 AS BIGINT) AS starts
  FROM json_each(?)
)
SELECT ${
  atMost64Bits(`CASE WHEN t.kind = 'day' THEN ${counterSum("day", "t.scope", "t.starts", FOREVER)}
    ELSE ${counterSum("minute", "t.scope", "t.starts", FOREVER)} END + ${inTail}`)
} FROM t ORDER BY t.n`;

/** Reads the present paces of counters that have windows: of all calls, of an agent, or of a key. */
export async function readPaces(
  store: Pick<Store, "read">,
  counters: readonly { scope: string; window: PacedWindow }[],
  now: number,
): Promise<Pace[]> {
  if (counters.length === 0) return [];
  const spans = new Map(
    counters.flatMap(({ scope, window }) => spansOf(window, now).map((span) => ({ scope, ...span })))
      .map((span) => [keyOf(span), span]),
  );
  const args = [JSON.stringify([...spans.values()].map(({ kind, scope, from }) => [kind, scope, from]))];
  const { rows } = await store.read({ sql: READ, args });
  const paces = new Map([...spans].map(([key, { from }], index) => [key, {
    spentNanoUsd: rows[index]![0] as bigint,
    elapsedMs: now - from,
  }]));
  return counters.map(({ scope, window }) =>
    spansOf(window, now).map((span) => paces.get(keyOf({ scope, ...span }))!).reduce(fasterOf)
  );
}

const keyOf = ({ kind, from, scope }: Span & { scope: string }) => `${kind} ${from} ${scope}`;

/** A limit, and how much of it is left. */
export interface PacedLimit {
  leftNanoUsd: NanoUsd;
  /** The end of its window; null where there is none. */
  endsAt: number | null;
  /** Of a rolling window: what it may spend in its length. */
  rolling?: { limitNanoUsd: NanoUsd; lengthMs: number };
}

/**
 * Returns when a limit is reached at a pace, in whole milliseconds; null where it is reached already, where its window
 * ends before, and where nothing, or in a rolling window not enough, is spent.
 */
export function timeToLimit(
  { leftNanoUsd, endsAt, rolling }: PacedLimit,
  { spentNanoUsd, elapsedMs }: Pace,
  now: number,
): number | null {
  if (leftNanoUsd <= 0n || spentNanoUsd <= 0n || elapsedMs <= 0) return null;
  const elapsed = BigInt(elapsedMs);
  // What a rolling window holds at a constant pace never exceeds the pace times its length.
  if (rolling && spentNanoUsd * BigInt(rolling.lengthMs) < rolling.limitNanoUsd * elapsed) return null;
  const reachesAt = BigInt(now) + (leftNanoUsd * elapsed + spentNanoUsd - 1n) / spentNanoUsd;
  return reachesAt >= BigInt(endsAt ?? MAX_TIME) ? null : Number(reachesAt);
}

/** Converts the pace towards a limit to wire form; without a pace, the fields are null. */
export function describePace(
  limit: PacedLimit,
  pace: Pace | undefined,
  now: number,
): { usd_per_hour: number | null; reaches_at: string | null } {
  if (!pace || pace.elapsedMs <= 0) return { usd_per_hour: null, reaches_at: null };
  const reachesAt = timeToLimit(limit, pace, now);
  return {
    usd_per_hour: toUsd(divideHalfEven(pace.spentNanoUsd * BigInt(HOUR_MS), BigInt(pace.elapsedMs))),
    reaches_at: reachesAt === null ? null : toIso(reachesAt),
  };
}

const MINUTES = `WITH j AS MATERIALIZED (SELECT value AS scope FROM json_each(?1))
SELECT s.scope, s.start, s.whole_usd, s.rest_nano_usd FROM j ${ORDERED_JOIN} spend_counters s ON s.kind = 'minute' AND s.scope = j.scope AND s.start >= ?2
UNION ALL SELECT j.scope, ${startSql("minute", "c.at")}, sum(c.cost_nano_usd / ${NANO_PER_USD}),
  sum(c.cost_nano_usd % ${NANO_PER_USD})
FROM calls c ${NOT_INDEXED} ${ORDERED_JOIN} j ON ${isInScope("j.scope")}
WHERE ${isAfter(DECIDED_POSITION, "c.position")} AND +c.at >= ?2 AND c.cost_nano_usd <> 0 GROUP BY 1, 2`;

/** Reads the spending of all agents ('') or of agents by minute, from a minute on. */
export async function readMinutes(
  store: Pick<Store, "read">,
  scopes: readonly string[],
  from: number,
): Promise<Map<string, Map<number, NanoUsd>>> {
  const { rows } = await store.read({ sql: MINUTES, args: [JSON.stringify([...new Set(scopes)]), from] });
  const minutes = new Map<string, Map<number, NanoUsd>>();
  for (const [scope, start, whole, rest] of rows) {
    const of = minutes.get(scope as string) ?? new Map<number, NanoUsd>();
    const amount = (whole as bigint) * NANO_PER_USD + (rest as bigint);
    of.set(Number(start), (of.get(Number(start)) ?? 0n) + amount);
    minutes.set(scope as string, of);
  }
  return minutes;
}
