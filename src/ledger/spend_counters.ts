import { NANO_PER_USD } from "../kernel/money.ts";
import { startSql } from "../contract/windows.ts";
import { type Clock, DAY_MS } from "../kernel/clock.ts";
import { RULED } from "../contract/costs/dimensions.ts";
import {
  indexedBy,
  isAfter,
  NOT_INDEXED,
  ORDERED_JOIN,
  type Statement,
  type Store,
  wide,
} from "../store/mod.ts";
import { ALL_CALLS, AS_WHOLE, columnOf, type Counted, IN_WINDOWS, scopeSql } from "./scopes/mod.ts";

/*
 * The counters on which alert rules and budgets are decided: the spend of each run and session, and of each agent, of each
 * key and of all agents by minute, day and lifetime. Like the totals they are rolled up to a position of the ledger; while
 * there are rules or budgets, in the commit of each booking. Weeks and months are sums of days. Calls are also counted by the
 * shapes that budgets have, by minute, day and lifetime: see spend_shapes.ts; and by the days of time zones: see calendars.ts.
 */

/** SQL for the position of the ledger up to which the counters are rolled up. */
export const DECIDED_POSITION = "(SELECT position FROM rollup_positions WHERE name = 'decisions')";

/** SQL for the counters that one entry adds to, as rows `(kind, scope, start, cost, at)`; `entry` is an alias of it. */
export function countersOf(entry: string): string {
  const at = `${entry}.at`;
  const [minute, day] = [startSql("minute", at), startSql("day", at)];
  const cost = `coalesce(${entry}.cost_nano_usd, 0)`;
  const row = (kind: string, scope: string, start: string, where: string) =>
    `SELECT '${kind}' AS kind, ${scope} AS scope, ${start} AS start, ${cost} AS cost, ${at} AS at WHERE ${where}`;
  // Calls without a cost add nothing to minutes and days; a run or session keeps the time of its first call.
  const costs = `${entry}.cost_nano_usd <> 0`;
  const scopes: [scope: string, where: string][] = [
    [`'${ALL_CALLS}'`, costs],
    ...IN_WINDOWS.map((kind): [string, string] => {
      const id = columnOf(kind, entry);
      return [scopeSql(kind, id), `${costs} AND ${id} IS NOT NULL`];
    }),
  ];
  return [
    ...AS_WHOLE.map((kind) => {
      const id = columnOf(kind, entry);
      return row(kind, id, "0", `${id} IS NOT NULL`);
    }),
    ...scopes.flatMap(([scope, where]) => [
      row("minute", scope, minute, where),
      row("day", scope, day, where),
      row("lifetime", scope, "0", where),
    ]),
    // The view once, since all that books a call compiles this.
    `SELECT w.kind, shaped.scope, w.start, shaped.cost_nano_usd, ${at} FROM call_scopes shaped ${ORDERED_JOIN} (${
      WINDOW_KINDS.map((kind) => `SELECT '${kind}' AS kind, ${startsOf(kind, at)} AS start`).join(
        " UNION ALL ",
      )
    }) w ON true WHERE shaped.position = ${entry}.position AND shaped.scope IS NOT NULL AND shaped.cost_nano_usd <> 0`,
  ].join("\nUNION ALL ");
}

/** The kinds of counters that have windows. */
const WINDOW_KINDS = ["minute", "day", "lifetime"] as const;
const startsOf = (kind: typeof WINDOW_KINDS[number], at: string) =>
  kind === "lifetime" ? "0" : startSql(kind, at);

/** The conflict clause that adds to an existing counter. */
export const ADD_TO_COUNTER =
  `ON CONFLICT (kind, scope, start) DO UPDATE SET whole_usd = spend_counters.whole_usd + excluded.whole_usd,
  rest_nano_usd = spend_counters.rest_nano_usd + excluded.rest_nano_usd,
  first_at = min(spend_counters.first_at, excluded.first_at)`;

/** SQL for a cost as the two columns of a counter. */
export const COST_COLUMNS = `cost / ${NANO_PER_USD}, cost % ${NANO_PER_USD}`;

const MAX_NANO_USD = "9223372036854775807";

/**
 * SQL for an amount in nano-USD, saturated at 64 bits, which is above any limit. The rest is normalized below one USD first:
 * adjustments may leave a large rest of the other sign.
 */
export const toNano = (whole: string, rest: string) =>
  `CASE WHEN ${whole} + ${rest} / ${NANO_PER_USD} > 9223372035 THEN ${MAX_NANO_USD}
    ELSE (${whole} + ${rest} / ${NANO_PER_USD}) * ${NANO_PER_USD} + ${rest} % ${NANO_PER_USD} END`;

/** SQL for a sum whose terms are of 64 bits each, saturated at 64 bits. */
export const atMost64Bits = (sum: string) => `CAST(min(${MAX_NANO_USD}, ${wide("0")} + ${sum}) AS BIGINT)`;

/** SQL for the sum of integers, 0 for none: each part of an amount is small enough that no sum of them passes 64 bits. */
const sumOfParts = (part: string) => `coalesce(CAST(sum(${part}) AS BIGINT), 0)`;

/** SQL for the sum of counters, in nano-USD. */
export const sumOfCounters = (counter: string) =>
  toNano(sumOfParts(`${counter}.whole_usd`), sumOfParts(`${counter}.rest_nano_usd`));

/** SQL for the sum of amounts in nano-USD. */
export const sumOfAmounts = (amount: string) =>
  toNano(sumOfParts(`${amount} / ${NANO_PER_USD}`), sumOfParts(`${amount} % ${NANO_PER_USD}`));

// `own_counter`: an alias that no caller has, whose column `scope` would be compared with itself.

/** SQL for one counter, in nano-USD; 0 if it does not exist. */
export function counterValue(kind: string, scope: string, start = "0"): string {
  return `coalesce((SELECT ${
    toNano("own_counter.whole_usd", "own_counter.rest_nano_usd")
  } FROM spend_counters own_counter
    WHERE own_counter.kind = '${kind}' AND own_counter.scope = ${scope} AND own_counter.start = ${start}), 0)`;
}

/** SQL for the sum of the counters of a kind that begin in [from, to). */
export const counterSum = (kind: "minute" | "day", scope: string, from: string, to: string): string =>
  sumOfKind(`'${kind}'`, scope, from, to);

/** The same, by SQL for the kind. */
export function sumOfKind(kind: string, scope: string, from: string, to: string): string {
  return `(SELECT ${sumOfCounters("own_counter")} FROM spend_counters own_counter
    WHERE own_counter.kind = ${kind} AND own_counter.scope = ${scope} AND own_counter.start >= ${from} AND own_counter.start < ${to})`;
}

/** SQL for the total cost of the entries of a source, in nano-USD; or for that of other amounts of theirs. */
export function sumOfCalls(source: string, amount = "c.cost_nano_usd"): string {
  return `(SELECT ${sumOfAmounts(`(${amount})`)} FROM calls c ${source})`;
}

/** SQL for whether an entry `c` is in a scope of all calls, or of one of some dimensions; by default those of alert rules. */
export const isInScope = (scope: string, kinds: readonly Counted[] = RULED) =>
  `(${
    [`${scope} = '${ALL_CALLS}'`, ...kinds.map((kind) => `${scopeSql(kind, columnOf(kind))} = ${scope}`)]
      .join(" OR ")
  })`;

/** SQL for whether an entry of `calls` is in a scope of subjects. */
export const isShaped = (entry: string, scope: string) =>
  `EXISTS (SELECT 1 FROM call_scopes shaped WHERE shaped.position = ${entry}.position AND shaped.scope = ${scope})`;

/** SQL for the total cost of the calls after the counters that meet a condition: they are few. */
export const sumOfTail = (condition: string) =>
  sumOfCalls(`${NOT_INDEXED} WHERE ${isAfter(DECIDED_POSITION, "c.position")} AND ${condition}`);

/** SQL for the settled cost of a run, in nano-USD, on which budgets are decided. */
export const runCost = (runId: string) =>
  atMost64Bits(`${counterValue("run", runId)} + ${sumOfTail(`c.run_id = ${runId}`)}`);

/** SQL for whether there is an enabled rule; then the counters are advanced call by call, see alerts/. */
const HAS_RULES = `EXISTS (SELECT 1 FROM alert_rules ${indexedBy("alert_rules_fired")} WHERE enabled = 1)`;

const isAfterIf = (rules: string, none: string) =>
  isAfter(`CASE WHEN ${HAS_RULES} THEN ${rules} ELSE ${none} END`, "c.position");

/** SQL for the calls after the counters: all of them if there is an enabled rule. */
export const TAIL_WITH_RULES = `FROM calls c ${NOT_INDEXED} WHERE ${
  isAfterIf(DECIDED_POSITION, MAX_NANO_USD)
}`;
/** SQL for whether a call `c` is after the counters, and there is no enabled rule. */
const UNCOUNTED_WITHOUT_RULES = isAfterIf(MAX_NANO_USD, DECIDED_POSITION);

/** SQL for whether a call `c` is after the counters, and for all that are. */
export const IS_UNDECIDED = isAfter(DECIDED_POSITION, "c.position");
export const UNDECIDED = `FROM calls c ${NOT_INDEXED} WHERE ${IS_UNDECIDED}`;

/** SQL for whether there is an enabled rule. */
export const HAS_ENABLED_RULES = HAS_RULES;

/**
 * The retention of the spend by minute. The longest window that is summed from minutes is an hour; the rest is for clocks
 * of two processes that are set a day ahead and a day back.
 */
const KEEP_MS = 3 * DAY_MS;

// Rows must be old compared with the newest minute too, so that a clock that is ahead removes nothing that is still needed.
const SINCE = `min(CAST(?1 AS BIGINT), max(start)) - ${KEEP_MS} FROM spend_counters
  WHERE kind = 'minute' AND scope = '${ALL_CALLS}'`;

/** SQL for the sums of a kind and scope over the minutes or the days. */
const ofSums = (kind: string, scope: string, start: string, from: string, where: string) =>
  `SELECT '${kind}' AS kind, ${scope} AS scope, ${start} AS start, whole_usd, rest_nano_usd, first_at FROM ${from} WHERE ${where}`;

const ofEntities = (kind: Counted, tail: string) => {
  const id = columnOf(kind);
  return `SELECT '${kind}', ${id}, 0, coalesce(sum(c.cost_nano_usd / ${NANO_PER_USD}), 0),
    coalesce(sum(c.cost_nano_usd % ${NANO_PER_USD}), 0), min(c.at)
  ${tail} AND ${id} IS NOT NULL GROUP BY ${id}`;
};

/** Calls of long ago, such as imported ones, have no minutes: the sweep would remove them. */
const IS_KEPT = `minute >= coalesce((SELECT ${SINCE}), 0)`;

/** SQL for the sums of calls `c` by the scopes of shapes and minute. */
const countShaped = (where: string) =>
  `SELECT c.scope, ${
    startSql("minute", "c.at")
  } AS minute, sum(c.cost_nano_usd / ${NANO_PER_USD}) AS whole_usd,
    sum(c.cost_nano_usd % ${NANO_PER_USD}) AS rest_nano_usd, min(c.at) AS first_at
  FROM call_scopes c WHERE ${where} AND c.cost_nano_usd <> 0 AND c.scope IS NOT NULL GROUP BY 1, 2`;

/** SQL for the counters of the sums in `shaped`. */
const SHAPED_COUNTERS = WINDOW_KINDS.map((kind) =>
  `SELECT '${kind}' AS kind, scope, ${
    startsOf(kind, "minute")
  } AS start, whole_usd, rest_nano_usd, first_at FROM shaped${kind === "minute" ? ` WHERE ${IS_KEPT}` : ""}`
).join("\n  UNION ALL ");

/** Counts the calls up to the counters by the shapes that were just added. */
export const COUNT_BY_NEW_SHAPES =
  `INSERT INTO spend_counters (kind, scope, start, whole_usd, rest_nano_usd, first_at)
WITH shaped AS MATERIALIZED (${countShaped(`c.position <= ${DECIDED_POSITION} AND c.is_filled = 0`)})
SELECT kind, scope, start, sum(whole_usd), sum(rest_nano_usd), min(first_at) FROM (
  ${SHAPED_COUNTERS}
) entries GROUP BY kind, scope, start ${ADD_TO_COUNTER}`;

/** Counts calls `c` at once: first by minute and dimension, from there by day, and all other counters from these. */
function countAll(where: string): string {
  const tail = `FROM calls c ${NOT_INDEXED} WHERE ${where}`;
  const kinds = IN_WINDOWS.join(", ");
  return `INSERT INTO spend_counters (kind, scope, start, whole_usd, rest_nano_usd, first_at)
WITH shaped AS MATERIALIZED (${countShaped(where)}), minutes AS MATERIALIZED (
  SELECT ${IN_WINDOWS.map((kind) => `${columnOf(kind)} AS ${kind}`).join(", ")}, ${
    startSql("minute", "c.at")
  } AS minute, sum(c.cost_nano_usd / ${NANO_PER_USD}) AS whole_usd,
    sum(c.cost_nano_usd % ${NANO_PER_USD}) AS rest_nano_usd, min(c.at) AS first_at
  ${tail} AND c.cost_nano_usd <> 0 GROUP BY minute, ${IN_WINDOWS.map((kind) => columnOf(kind)).join(", ")}
), days AS MATERIALIZED (
  SELECT ${kinds}, ${startSql("day", "minute")} AS day, sum(whole_usd) AS whole_usd,
    sum(rest_nano_usd) AS rest_nano_usd, min(first_at) AS first_at
  FROM minutes GROUP BY day, ${kinds}
)
SELECT kind, scope, start, sum(whole_usd), sum(rest_nano_usd), min(first_at) FROM (
${
    [
      [`'${ALL_CALLS}'`, "true"] as const,
      ...IN_WINDOWS.map((kind) => [scopeSql(kind, kind), `${kind} IS NOT NULL`] as const),
    ].flatMap(([scope, where]) => [
      ofSums("minute", scope, "minute", "minutes", `${where} AND ${IS_KEPT}`),
      ofSums("day", scope, "day", "days", where),
      ofSums("lifetime", scope, "0", "days", where),
    ]).join("\n  UNION ALL ")
  }
  ${AS_WHOLE.map((kind) => `UNION ALL ${ofEntities(kind, tail)}`).join("\n  ")}
  UNION ALL ${SHAPED_COUNTERS}
) entries GROUP BY kind, scope, start ${ADD_TO_COUNTER}`;
}

const WITHOUT_RULES = countAll(UNCOUNTED_WITHOUT_RULES);

/** Counts all calls after the counters when there are no rules. */
export const countWithoutRules = (now: number): Statement => ({ sql: WITHOUT_RULES, args: [now] });

const MOVE =
  "UPDATE rollup_positions SET position = (SELECT coalesce(max(position), 0) FROM calls) WHERE name = 'decisions'";

/** Moves the position of the counters, after the statements of the unit that count up to it. */
export const MOVE_COUNTERS: Statement = { sql: MOVE };

const QUIET = "(SELECT position FROM rollup_positions WHERE name = 'quiet')";

/** SQL that inserts the row that `countQuiet()` needs, if a condition is true. */
export const markQuiet = (condition: string) =>
  `INSERT INTO rollup_positions (name, position) SELECT 'quiet', ${DECIDED_POSITION} WHERE ${condition}`;

const QUIET_CALLS = countAll(isAfter(`coalesce(${QUIET}, ${MAX_NANO_USD})`, "c.position"));

/** Counts all calls after the counters and moves their position, if the unit has marked them as those that fire no rule. */
export const countQuiet = (now: number): readonly Statement[] => [
  { sql: QUIET_CALLS, args: [now] },
  { sql: `${MOVE} AND ${QUIET} IS NOT NULL` },
  { sql: "DELETE FROM rollup_positions WHERE name = 'quiet'" },
];

/** Moves the position of the counters after the rules were evaluated. */
export const MOVE_DECIDED_COUNTERS: Statement = { sql: `${MOVE} AND ${HAS_RULES}` };

/** The limit of one commit, which must not block the database for long. */
const ROWS_PER_COMMIT = 5_000;

// Scope by scope, each by one index lookup, so that the remaining rows cost nothing.
const OLD = `WITH RECURSIVE scopes(scope) AS (
  SELECT min(scope) FROM spend_counters WHERE kind = 'minute'
  UNION ALL
  SELECT (SELECT min(w.scope) FROM spend_counters w WHERE w.kind = 'minute' AND w.scope > s.scope)
  FROM scopes s WHERE s.scope IS NOT NULL
), kept(since) AS MATERIALIZED (
  SELECT ${SINCE}
)
SELECT w.kind, w.scope, w.start FROM scopes s ${ORDERED_JOIN} spend_counters w
  ON w.kind = 'minute' AND w.scope = s.scope AND w.start < (SELECT since FROM kept)`;

const FIND = `${OLD} LIMIT 1`;
const REMOVE = `DELETE FROM spend_counters WHERE (kind, scope, start) IN (${OLD} LIMIT ${ROWS_PER_COMMIT})`;

/** Removes the spend by minute that is older than any window of a rule; days stay. Any instance may do this at any time. */
export async function sweepWindows(
  { store, clock }: { store: Store; clock: Pick<Clock, "now"> },
): Promise<void> {
  const args = [clock.now()];
  // Read first: there is rarely anything to remove, and a commit costs a flush.
  while ((await store.read({ sql: FIND, args })).rows.length > 0) await store.write([{ sql: REMOVE, args }]);
}
