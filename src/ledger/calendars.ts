import type { BudgetPeriod } from "../contract/values.ts";
import { calendarIn, daysOf, ROLLING_DAYS_MS, startsOf, type Window, windowOf } from "../contract/windows.ts";
import { type Clock, DAY_MS } from "../kernel/clock.ts";
import { NANO_PER_USD } from "../kernel/money.ts";
import {
  indexedBy,
  type Logic,
  NOT_INDEXED,
  ORDERED_JOIN,
  rowTrigger,
  type Statement,
  type Store,
} from "../store/mod.ts";
import { ALL_CALLS, columnOf, IN_WINDOWS, scopeSql } from "./scopes/mod.ts";
import { ADD_TO_COUNTER, DECIDED_POSITION } from "./spend_counters.ts";

/*
 * The calendars of budgets and rules whose windows are not those of UTC. The starts of their windows are rows, so that all processes
 * have the same ones, whatever their runtimes know of time zones; they are computed some time ahead. A calendar is in use while a
 * budget or a rule has it.
 *
 * The days of a zone are counted by counters of `spend_counters` whose kind is their calendar, such as `Europe/Berlin day`. The unit
 * that adds the first budget or rule in a zone counts the calls up to the position of the counters; from then on a trigger counts the
 * calls over which that position moves, in whatever process, also one of an earlier version.
 */

/** The span before now whose windows are known: more than the longest one, a quarter. */
const BACK_MS = 100 * DAY_MS;
/** The span after now whose windows are known at least, and that for which they are computed. */
const AHEAD_MS = 30 * DAY_MS;
const COMPUTED_MS = 60 * DAY_MS;

const ADD_STARTS = `INSERT INTO window_starts (calendar, start)
SELECT ?1, CAST(value AS BIGINT) FROM json_each(?2) WHERE CAST(value AS BIGINT) > coalesce(
  (SELECT until FROM calendars WHERE calendar = ?1), -1)`;
const ADD =
  "INSERT INTO calendars (calendar, is_counted, until, is_filled) VALUES (?1, ?2, ?3, 0) ON CONFLICT DO NOTHING";
const MOVE_UNTIL =
  `UPDATE calendars SET until = (SELECT max(w.start) FROM window_starts w WHERE w.calendar = calendars.calendar)
WHERE calendar = ?1`;
/** SQL for the start of the window of a calendar that holds a time; NULL before those that are known. */
export const startIn = (calendar: string, at: string) =>
  `(SELECT max(known.start) FROM window_starts known WHERE known.calendar = ${calendar} AND known.start <= ${at})`;

/** SQL for the parts of counters of calls `c`, as rows `(scope, at, cost)`. */
const shapedParts = (where: string) =>
  `SELECT c.scope, c.at, c.cost_nano_usd AS cost FROM call_scopes c WHERE ${where} AND c.cost_nano_usd <> 0 AND c.scope IS NOT NULL`;
const allParts = (source: string, where: string) =>
  [
    [`'${ALL_CALLS}'`, "true"] as const,
    ...IN_WINDOWS.map((kind) => [scopeSql(kind, columnOf(kind)), `${columnOf(kind)} IS NOT NULL`] as const),
  ].map(([scope, isIn]) =>
    `SELECT ${scope} AS scope, c.at, c.cost_nano_usd AS cost FROM calls c ${source} WHERE ${where} AND c.cost_nano_usd <> 0 AND ${isIn}`
  ).concat(shapedParts(where)).join("\n  UNION ALL ");

/** SQL that adds parts of counters to those of the days of calendars `k`. */
const countByDay = (parts: string, calendars: string) =>
  `INSERT INTO spend_counters (kind, scope, start, whole_usd, rest_nano_usd, first_at)
SELECT kind, scope, start, sum(cost / ${NANO_PER_USD}), sum(cost % ${NANO_PER_USD}), min(at) FROM (
  SELECT k.calendar AS kind, m.scope, m.cost, m.at, ${startIn("k.calendar", "m.at")} AS start
  FROM (${parts}) m ${ORDERED_JOIN} calendars k ON k.is_counted = 1 AND ${calendars}
) entries WHERE start IS NOT NULL GROUP BY kind, scope, start ${ADD_TO_COUNTER}`;

const SINCE_NEW = `c.position <= ${DECIDED_POSITION} AND c.at >= (
  SELECT min(w.start) FROM calendars n JOIN window_starts w ON w.calendar = n.calendar WHERE n.is_counted = 1 AND n.is_filled = 0)`;

/** Counts the calls up to the counters by the days of the calendars that were just added. */
const COUNT_BY_NEW_CALENDARS = countByDay(
  allParts(indexedBy("calls_by_time"), SINCE_NEW),
  "k.is_filled = 0",
);

/** The same by those in use, in the shapes that were just added. */
export const COUNT_NEW_SHAPES_BY_DAY: Statement = {
  sql: countByDay(shapedParts(`c.position <= ${DECIDED_POSITION} AND c.is_filled = 0`), "true"),
};

/** The trigger that counts calls by the days of zones once the counters are advanced over them. */
export const calendarLogic: readonly Logic[] = rowTrigger({
  name: "days_counted",
  event: "AFTER UPDATE ON rollup_positions",
  when:
    `NEW.name = 'decisions' AND NEW.position > OLD.position AND EXISTS (SELECT 1 FROM calendars WHERE is_counted = 1)`,
  body: `${
    countByDay(allParts(NOT_INDEXED, "c.position > OLD.position AND c.position <= NEW.position"), "true")
  };`,
});

const FILLED = "UPDATE calendars SET is_filled = 1 WHERE is_filled = 0";

/** Returns the calendars of a budget or rule: its own, and that of the days of its zone, by which spending is counted. */
const calendarsOf = (calendar: string) => [...new Set([daysOf(calendarIn(calendar)) ?? calendar, calendar])];

const isCounted = (calendar: string) => calendar === daysOf(calendarIn(calendar));

/** Returns the statements by which the calendar of a budget or rule comes into use. One that is in use already stays as it is. */
export function addCalendar(calendar: string | null, now: number): Statement[] {
  if (calendar === null) return [];
  return [
    ...calendarsOf(calendar).flatMap((text): Statement[] => {
      const starts = startsOf(text, now - BACK_MS, now + COMPUTED_MS);
      return [
        { sql: ADD_STARTS, args: [text, JSON.stringify(starts)] },
        { sql: ADD, args: [text, Number(isCounted(text)), starts.at(-1)!] },
        { sql: MOVE_UNTIL, args: [text] },
      ];
    }),
    { sql: COUNT_BY_NEW_CALENDARS },
    { sql: FILLED },
  ];
}

/** SQL for the name of the time zone of a calendar, with a blank. */
const zoneOf = (calendar: string) => `substr(${calendar}, 1, instr(${calendar}, ' '))`;
const isUsedBy = (table: string) =>
  `EXISTS (SELECT 1 FROM ${table} b WHERE b.calendar = k.calendar OR k.is_counted = 1 AND b.calendar IS NOT NULL
    AND ${zoneOf("b.calendar")} = ${zoneOf("k.calendar")})`;
const UNUSED = `SELECT k.calendar FROM calendars k WHERE NOT ${isUsedBy("budgets")} AND NOT ${
  isUsedBy("alert_rules")
}`;

/** The statements that remove the calendars that no budget and no rule has any more, with their windows and counters. */
export const DROP_CALENDARS: readonly Statement[] = [
  ...["window_starts WHERE calendar", "spend_counters WHERE kind", "calendars WHERE calendar"].map((
    from,
  ) => ({
    sql: `DELETE FROM ${from} IN (${UNUSED})`,
  })),
];

/** SQL for the end of the windows that are known of all calendars; NULL where none is in use. */
export const KNOWN_UNTIL = "(SELECT min(until) FROM calendars)";

/** Returns whether more windows have to be computed, by the time until which they are known. */
export const hasToExtend = (until: number | null, now: number) => until !== null && until < now + AHEAD_MS;

const READ_UNTIL: Statement = { sql: "SELECT calendar, until FROM calendars WHERE until < ?1" };

/** Computes the windows of the calendars in use some time ahead. Any process may do this at any time. */
export async function extendCalendars(
  { store, clock }: { store: Pick<Store, "read" | "write">; clock: Pick<Clock, "now"> },
): Promise<void> {
  const now = clock.now();
  const { rows } = await store.read({ ...READ_UNTIL, args: [now + AHEAD_MS] });
  if (rows.length === 0) return;
  await store.write(rows.flatMap(([calendar, until]): Statement[] => {
    const starts = startsOf(calendar as string, Number(until), now + COMPUTED_MS);
    return [
      { sql: ADD_STARTS, args: [calendar!, JSON.stringify(starts)] },
      { sql: MOVE_UNTIL, args: [calendar!] },
    ];
  }));
}

/** SQL for the start of the window of a calendar, of a period, that holds a time; 0 before those that are known. */
export const windowStart = (calendar: string, per: string, at: string) =>
  `coalesce(${startIn(calendar, `${at} - CASE ${per} WHEN '30d' THEN ${ROLLING_DAYS_MS} ELSE 0 END`)}, 0)`;

/** SQL for the start of the window of a calendar after that; NULL for a period that moves with the clock. */
export const windowEnd = (calendar: string, per: string, at: string) =>
  `CASE ${per} WHEN '30d' THEN NULL ELSE (SELECT min(next.start) FROM window_starts next
    WHERE next.calendar = ${calendar} AND next.start > ${at}) END`;

/** SQL for the kind of the counters of days of a calendar, which may be NULL. */
export const daysIn = (calendar: string) =>
  `CASE WHEN coalesce(${zoneOf(calendar)}, 'UTC ') = 'UTC ' THEN 'day' ELSE ${zoneOf(calendar)} || 'day' END`;

/** The fields of a budget or a rule on which its window depends. */
interface Windowed {
  per: BudgetPeriod;
  countsFrom?: number | null;
  calendar: string | null;
}

const READ_WINDOWS = `SELECT ${windowStart("v.calendar", "v.per", "CAST(?2 AS BIGINT)")}, ${
  windowEnd("v.calendar", "v.per", "CAST(?2 AS BIGINT)")
}
FROM (SELECT CAST(key AS BIGINT) AS n, value ->> 0 AS per, value ->> 1 AS calendar FROM json_each(?1)) v ORDER BY v.n`;

/** Reads the window of each at a time, in the given order. */
export async function readWindows(
  store: Pick<Store, "read">,
  all: readonly Windowed[],
  at: number,
): Promise<Window[]> {
  const zoned = new Map<string, [BudgetPeriod, string]>();
  const keyOf = ({ per, calendar }: Windowed) => `${per} ${calendar}`;
  for (const one of all) if (one.calendar !== null) zoned.set(keyOf(one), [one.per, one.calendar]);
  const { rows } = zoned.size === 0
    ? { rows: [] }
    : await store.read({ sql: READ_WINDOWS, args: [JSON.stringify([...zoned.values()]), at] });
  const read = new Map([...zoned.keys()].map((key, index) => [key, rows[index]!]));
  return all.map((one) => {
    if (one.calendar === null) return windowOf(one.per, at, one.countsFrom ?? null);
    const [start, end] = read.get(keyOf(one))!;
    const resetsAt = end == null ? null : Number(end);
    return { from: Number(start), to: resetsAt ?? at + 1, resetsAt };
  });
}
