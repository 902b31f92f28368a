import { BUDGETED, COUNTED } from "../../contract/costs/dimensions.ts";
import { startSql } from "../../contract/windows.ts";
import { MINUTE_MS } from "../../kernel/clock.ts";
import {
  ALL_CALLS,
  amountIn,
  atMost64Bits,
  BY,
  columnOf,
  counterSum,
  counterValue,
  daysIn,
  DECIDED_POSITION,
  idInScope,
  idOfScope,
  IN_WINDOWS,
  isShaped,
  kindOfScope,
  partsBy,
  shapedScopeOf,
  sumOfAmounts,
  sumOfCalls,
  sumOfCounters,
  sumOfKind,
  sumOfTail,
  windowEnd,
  windowStart,
} from "../../ledger/mod.ts";
import {
  byBytes,
  DATABASE_NOW,
  indexedBy,
  isAfter,
  NOT_INDEXED,
  ORDERED_JOIN,
  wide,
} from "../../store/mod.ts";

/*
 * The SQL of budgets, as common table expressions that build on each other:
 *
 *   r  the calls to decide on, with the starts of the windows that hold them
 *   g  the scopes of each call by the shapes of budgets, of which there are few
 *   b  the budgets that match each call, with the counter (scope and start) that it counts in
 *   k  their counters
 *   m  the runs below the run of a counter
 *   u  the calls after the counters of the ledger, by their scopes of shapes
 *   a  what each counter has settled and reserved
 *   s  the budgets b with those amounts
 *
 * Those with several uses are materialized, or end in a LIMIT, or SQLite would copy an expression into every use of it. Of a
 * single call, only b is: each table, and each index that SQLite makes for one, costs as much as what it holds. Budgets are
 * found by their scope, so the cost grows with those that match, not with those that exist.
 */

/** The columns of a call to decide on; `each_row v` has them. */
export const CALL_COLUMNS = [
  // Its number among those of the statement.
  "n",
  // The id of its reservation.
  "id",
  // The scopes that it counts in, by dimension; null for none.
  ...COUNTED,
  // The root of its tree; null without a session.
  "tree",
  // The other parts that budgets name; null where it isn't known. The tags are JSON.
  "model",
  "provider",
  "source",
  "billing",
  "tags",
  // The time under which it is booked, and the starts of the windows of UTC that hold it.
  "at",
  "hour",
  "day",
  "week",
  "month",
  "quarter",
  "days_30",
  "estimate",
  // Its bound; null if it has none.
  "worst",
  "is_unpriced",
  // The budgets of its run and of the runs above it, as JSON: [scope, limit in nano-USD, mode, allow unpriced].
  "runs",
  // The runs above its own, as JSON: [scope, agent].
  "ancestors",
  // The lease of its reservation in ms.
  "lease",
] as const;

/** Those that are integers. */
export const CALL_INTEGERS: readonly string[] = [
  ...["n", "at", "hour", "day", "week", "month", "quarter", "days_30"],
  ...["estimate", "worst", "is_unpriced", "lease"],
];

/** One call, whose columns are bound in their order. */
const ONE_CALL = `r AS NOT MATERIALIZED (SELECT ${
  CALL_COLUMNS.map((column, index) =>
    `CAST(?${index + 1} AS ${CALL_INTEGERS.includes(column) ? "BIGINT" : "TEXT"}) AS ${column}`
  ).join(", ")
})`;

const calls = (isOne: boolean) =>
  `r AS ${isOne ? "NOT " : ""}MATERIALIZED (SELECT ${
    CALL_COLUMNS.map((column) => `v.${column} AS ${column}`).join(", ")
  } FROM each_row v)`;

/** SQL for the scopes of calls `r` by the shapes of budgets. */
const SHAPED = `g AS MATERIALIZED (
  SELECT r.n, s.shape, ${
  shapedScopeOf({
    ...partsBy(({ part }) => {
      const kind = BUDGETED.find((name) => name === part);
      return kind ? idInScope(kind, `r.${part}`) : `r.${part}`;
    }),
    tags: "r.tags",
    isOf: (billing) => `${billing} = r.billing`,
  })
} AS scope FROM spend_shapes s CROSS JOIN r
)`;

const FOREVER = "9223372036854775807";

const sumOf = (amount: string, source: string) => `(SELECT ${sumOfAmounts(amount)} ${source})`;

/** SQL for the raises of the limit of a budget `x` for a counter that hold at a time. */
const extraOf = (counter: string, at: string) =>
  `CASE WHEN EXISTS (SELECT 1 FROM budget_raises e WHERE e.budget_id = x.budget_id) THEN ${
    sumOf(
      "e.extra_nano_usd",
      `FROM budget_raises e WHERE e.budget_id = x.budget_id AND (e.until IS NULL OR e.until > ${at})
      AND (e.scope IS NULL OR e.scope = ${counter})`,
    )
  } ELSE 0 END`;

/** SQL for the part of a call that a budget `x` has a counter for each value of; NULL for one counter: `hasCounters()`. */
const PART = `CASE WHEN x.per = 'run' THEN 'run' WHEN x.each IS NOT NULL THEN x.each
  WHEN x.shape IS NOT NULL OR x.per = 'session' AND x.scope NOT LIKE 'session %' THEN x.per END`;

const ofBudget = (n: string, counter: string, at: string) =>
  `${n}, x.budget_id, x.name, x.per, x.mode, x.action, x.allow_unpriced,
  x.limit_nano_usd AS amount, ${
    extraOf(counter, at)
  } AS extra, x.warn_at, ${PART} AS part, ${counter} AS scope`;

/** The calls, each with one of the scopes that budgets name. */
const COUNTED_CALL = ["n", ...COUNTED, "at", "hour", "day", "week", "month", "quarter", "days_30"]
  .map((column) => `r.${column}`).join(", ");
const NAMED = [`SELECT ${COUNTED_CALL}, '${ALL_CALLS}' AS named FROM r`]
  .concat(BUDGETED.map((kind) => `SELECT ${COUNTED_CALL}, r.${kind} FROM r WHERE r.${kind} IS NOT NULL`))
  .concat(`SELECT ${COUNTED_CALL}, g.scope FROM g ${ORDERED_JOIN} r ON r.n = g.n WHERE g.scope IS NOT NULL`)
  .join(" UNION ALL ");

/** SQL for the value that a budget `x` has a counter for, or the scope that it names. */
const VALUE =
  `CASE WHEN x.shape IS NOT NULL THEN (SELECT g.scope FROM g WHERE g.n = r.n AND g.shape = x.shape)
      WHEN x.each IS NULL THEN x.scope ELSE CASE x.each ${
    BUDGETED.map((kind) => `WHEN '${kind}' THEN r.${kind}`).join(" ")
  } END END`;

/** The budgets of calls, each with its value. */
const VALUED = `SELECT r.*, x.*, ${VALUE} AS value FROM (${NAMED} LIMIT ${FOREVER}) r
      ${ORDERED_JOIN} budgets x ${
  indexedBy("budgets_enabled")
} ON x.scope = r.named WHERE x.enabled = 1 LIMIT ${FOREVER}`;

const COUNTER =
  `CASE WHEN x.shape IS NULL AND x.per IN ('run', 'session') THEN CASE x.per WHEN 'run' THEN x.run ELSE x.session END
      ELSE x.value END`;

const START = `CASE WHEN x.calendar IS NOT NULL THEN ${windowStart("x.calendar", "x.per", "x.at")} ELSE
      CASE x.per WHEN 'day' THEN x.day WHEN 'month' THEN x.month WHEN 'week' THEN x.week WHEN 'hour' THEN x.hour
      WHEN 'quarter' THEN x.quarter WHEN '30d' THEN x.days_30 WHEN 'lifetime' THEN coalesce(x.counts_from, 0) ELSE 0 END END`;

// With `each`, a budget stands aside where another names that very value for the same period.
const BUDGETS = `b AS MATERIALIZED (
  SELECT ${ofBudget("x.n", COUNTER, "x.at")}, ${START} AS starts,
    CASE x.per WHEN 'hour' THEN 'minute' ELSE ${daysIn("x.calendar")} END AS counted_by, x.calendar
  FROM (${VALUED}) x
  WHERE ${COUNTER} IS NOT NULL AND (x.each IS NULL OR NOT EXISTS (SELECT 1 FROM budgets o ${
  indexedBy("budgets_enabled")
}
    WHERE o.enabled = 1 AND o.scope = x.value AND o.per = x.per AND o.each IS NULL))
  UNION ALL
  SELECT ${ofBudget("r.n", "(a.value ->> 0)", "r.at")}, 0, 'day', NULL
  FROM r CROSS JOIN json_each(r.ancestors) a CROSS JOIN budgets x ${indexedBy("budgets_enabled")}
  WHERE x.enabled = 1 AND x.scope IN ('', a.value ->> 1) AND x.per = 'run' AND r.ancestors <> '[]'
  UNION ALL
  SELECT r.n, NULL, NULL, 'run', j.value ->> 2, 'refuse', CAST(j.value ->> 3 AS BIGINT), CAST(j.value ->> 1 AS BIGINT), 0, '[]', NULL, j.value ->> 0, 0, 'day', NULL
  FROM r CROSS JOIN json_each(r.runs) j WHERE r.runs <> '[]'
)`;

/** SQL for the dimension of a scope, and for the id in it. */
const ENTITY = `${kindOfScope("scope")} AS kind, ${idOfScope("scope")} AS id`;

/** The counters of matching budgets; `counted_by`: the kind of the counters that are added up, by minute or by the days of a zone. */
const COUNTERS = `k AS MATERIALIZED (
  SELECT scope, starts, counted_by, ${ENTITY}
  FROM (SELECT DISTINCT scope, starts, counted_by FROM b) counters
)`;

/** Those of a single call, of which there are few: each budget by itself. */
const ITS_COUNTERS = `k AS NOT MATERIALIZED (SELECT *, ${ENTITY} FROM b LIMIT ${FOREVER})`;

/** Given counters, as a JSON array of [scope, start, counted by]. */
const GIVEN_COUNTERS = `k AS MATERIALIZED (
  SELECT scope, starts, counted_by, ${ENTITY}
  FROM (SELECT value ->> 0 AS scope, CAST(value ->> 1 AS BIGINT) AS starts, value ->> 2 AS counted_by FROM json_each(?1)) counters
)`;

const RUNS = `m(scope, run_id) AS MATERIALIZED (
  SELECT ${byBytes("k.scope")}, c.run_id FROM k ${ORDERED_JOIN} runs c ${
  indexedBy("runs_by_parent")
} ON c.parent_run_id = k.id WHERE k.kind = 'run'
  UNION SELECT m.scope, c.run_id FROM m ${ORDERED_JOIN} runs c ${
  indexedBy("runs_by_parent")
} ON c.parent_run_id = m.run_id
)`;

const SHAPED_TAIL = `u AS MATERIALIZED (
  SELECT c.at, c.scope, c.cost_nano_usd AS cost FROM call_scopes c
  WHERE ${
  isAfter(DECIDED_POSITION, "c.position")
} AND c.cost_nano_usd <> 0 AND EXISTS (SELECT 1 FROM k WHERE k.kind = '${BY}')
)`;

const FIRST_MINUTE_ENDS = startSql("minute", `k.starts + ${MINUTE_MS - 1}`);
const IS_COUNTED = `c.position <= ${DECIDED_POSITION}`;
const IS_OF = `CASE k.kind WHEN '' THEN true
  WHEN '${BY}' THEN ${isShaped("c", "k.scope")} ${
  IN_WINDOWS.map((kind) => `WHEN '${kind}' THEN ${columnOf(kind)} = k.id`).join(" ")
} END`;

/** The minutes of the rolling hour, and the calls in the part of its first minute that is within it. */
const HOUR = atMost64Bits(`${counterSum("minute", "k.scope", FIRST_MINUTE_ENDS, FOREVER)} + ${
  sumOfCalls(
    `${
      indexedBy("calls_by_time")
    } WHERE c.at >= k.starts AND c.at < ${FIRST_MINUTE_ENDS} AND ${IS_COUNTED} AND ${IS_OF}`,
    amountIn("k.scope", "c"),
  )
}`);

// A session that began in the window has a counter; of an older one the calls are added up.
const SESSION = `CASE WHEN k.starts <= coalesce((SELECT z.first_at FROM spend_counters z
    WHERE z.kind = 'session' AND z.scope = k.id AND z.start = 0), k.starts)
  THEN ${counterValue("session", "k.id")}
  ELSE ${
  sumOfCalls(
    `${indexedBy("calls_by_session")} WHERE c.session_id = k.id AND c.at >= k.starts AND ${IS_COUNTED}`,
  )
} END`;

/** SQL for whether a run has others below it, without which `m` isn't made. */
const HAS_RUNS = `EXISTS (SELECT 1 FROM runs c ${indexedBy("runs_by_parent")} WHERE c.parent_run_id = k.id)`;
const RUN = atMost64Bits(
  `${counterValue("run", "k.id")} + CASE WHEN ${HAS_RUNS} THEN (SELECT ${sumOfCounters("z")} FROM m
    ${ORDERED_JOIN} spend_counters z ON z.kind = 'run' AND z.scope = m.run_id AND z.start = 0
    WHERE m.scope = k.scope) ELSE 0 END`,
);

const SETTLED = `CASE WHEN k.kind = 'run' THEN ${RUN}
    WHEN k.kind = 'session' THEN ${SESSION}
    WHEN k.counted_by = 'minute' THEN ${HOUR}
    WHEN k.starts = 0 THEN ${counterValue("lifetime", "k.scope")}
    ELSE ${sumOfKind("k.counted_by", "k.scope", "k.starts", FOREVER)} END`;

/** SQL for whether an entry `c` of the ledger counts in the counter `k`; `shaped`: the branch for the scopes of shapes. */
const isOfCounter = (shaped = "") =>
  `CASE k.kind WHEN '' THEN true ${shaped}${
    BUDGETED.map((kind) => `WHEN '${kind}' THEN ${columnOf(kind)} = k.id`).join(" ")
  } ELSE c.run_id = k.id OR ${HAS_RUNS} AND EXISTS (SELECT 1 FROM m WHERE m.scope = k.scope AND m.run_id = c.run_id) END`;

const OF_TAIL = `CASE WHEN k.kind = '${BY}' THEN ${
  sumOf("u.cost", "FROM u WHERE u.at >= k.starts AND u.scope = k.scope")
} ELSE ${sumOfTail(`c.at >= k.starts AND ${isOfCounter()}`)} END`;

/** A reservation whose call is in progress, as far as its lease says. */
const IN_PROGRESS = `h.expires_at > ${DATABASE_NOW}`;

const held = (amount: string, isCounted: string) =>
  sumOf(amount, `FROM reservations h WHERE h.scope = k.scope AND h.at >= k.starts AND ${isCounted}`);

/** `worst` includes the bounds of sent calls that are neither booked nor in progress, and what lost calls may have cost. */
const AMOUNTS = `${atMost64Bits(`${SETTLED} + ${OF_TAIL}`)} AS settled,
    ${held("h.estimate_nano_usd", IN_PROGRESS)} AS estimated,
    ${held("h.worst_nano_usd", `(${IN_PROGRESS} OR h.is_held = 1)`)} AS worst`;

const with_ = (...expressions: string[]) => `WITH RECURSIVE ${expressions.join(",\n")}`;

const standings = (more = "") => `s AS (SELECT k.*, ${AMOUNTS}${more} FROM k LIMIT ${FOREVER})`;

/** Up to `s`, of a single call. */
const ofOne = (call: string, more?: string) =>
  with_(call, SHAPED, BUDGETS, ITS_COUNTERS, RUNS, SHAPED_TAIL, standings(more));

/** Up to `s`, of the calls `r` that an expression selects. */
export const standingsOf = (calls: string) =>
  with_(
    ...[calls, SHAPED, BUDGETS, COUNTERS, RUNS, SHAPED_TAIL],
    `a AS MATERIALIZED (SELECT k.scope, k.starts, k.counted_by, ${AMOUNTS} FROM k)`,
    `s AS (SELECT b.*, a.settled, a.estimated, a.worst FROM b
  ${ORDERED_JOIN} a ON a.scope = b.scope AND a.starts = b.starts AND a.counted_by = b.counted_by)`,
  );

/** Up to `s`, of one call and of many. */
export const WITH_STANDINGS = { one: ofOne(calls(true)), many: standingsOf(calls(false)) };

/** SQL for the cost of all calls. */
export const SPENT_IN_ALL = atMost64Bits(
  `${counterValue("lifetime", "''")} + ${
    sumOfCalls(`${NOT_INDEXED} WHERE ${isAfter(DECIDED_POSITION, "c.position")}`)
  }`,
);

/** SQL for the limit of a budget `s` with its raises. */
export const CEILING = `(${wide("s.amount")} + s.extra)`;

/** SQL for a share of an amount, an integer, in thousandths, rounded down. */
export const shareOf = (amount: string, share: string) => {
  const thousandths = `CAST(round(${share} * 1000) AS BIGINT)`;
  return `(${amount} / 1000 * ${thousandths} + ${amount} % 1000 * ${thousandths} / 1000)`;
};

/** SQL for a reservation `h` that is held, though no call is in progress for it. */
export const IS_HELD = `(h.is_lost = 1 OR h.is_held = 1 AND NOT (${IN_PROGRESS}))`;

const LOST = `, ${held("h.worst_nano_usd", IS_HELD)} AS lost`;

/** Reads the budgets that match a call, with their counters. */
export const READ_STANDINGS = `${ofOne(ONE_CALL, LOST)}
SELECT s.budget_id, s.name, s.per, s.scope, s.starts, s.mode, s.action, s.allow_unpriced, s.amount, s.extra,
  s.settled, s.estimated, s.worst - s.lost, s.lost, s.calendar, ${
  windowEnd("s.calendar", "s.per", "r.at")
}, s.part
FROM r CROSS JOIN s`;

/** SQL for the number of calls of a counter whose cost is not known. */
const UNPRICED = `, (SELECT coalesce(sum(c.unpriced), 0) FROM calls c ${indexedBy("calls_unpriced")}
  WHERE c.unpriced <> 0 AND c.at >= k.starts AND ${
  isOfCounter(`WHEN '${BY}' THEN ${isShaped("c", "k.scope")} `)
}) AS unpriced`;

/** Reads given counters, in no certain order. */
export const READ_COUNTERS = `${with_(GIVEN_COUNTERS, RUNS, SHAPED_TAIL, standings(LOST + UNPRICED))}
SELECT s.scope, s.starts, s.counted_by, s.settled, s.estimated, s.worst - s.lost, s.lost, s.unpriced FROM s`;
