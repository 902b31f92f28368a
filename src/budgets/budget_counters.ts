import {
  atMost64Bits,
  columnOf,
  type Counted,
  counterSum,
  counterValue,
  DECIDED_POSITION,
  entityOf,
  idInScope,
  isScopeOf,
  rangeOf,
  scopeSql,
  sumOfCalls,
  sumOfKind,
  sumOfTail,
  TOTALS_POSITION,
} from "../ledger/mod.ts";
import { nameSql } from "../keys/mod.ts";
import type { BudgetCounter } from "../contract/budgets/budget_state.ts";
import { calendarIn, daysOf } from "../contract/windows.ts";
import type { CounterSort } from "../contract/values.ts";
import { BUDGETED } from "../contract/costs/dimensions.ts";
import {
  DATABASE_NOW,
  indexedBy,
  isAfter,
  NOT_INDEXED,
  type SqlValue,
  type Statement,
} from "../store/mod.ts";
import { type BudgetRow, subjectsOfScope } from "./budget_fields.ts";
import { DEFINED } from "./known_scopes.ts";

/*
 * The counters of a budget that has many, for its state: a budget `each`, or per run or session. Those with the most
 * spending are found in the counters of the ledger; their exact standing is read afterwards.
 */

/** Returns whether a budget has many counters. */
export const hasCounters = (row: BudgetRow): boolean => row.shape !== null || countersOf(row) !== undefined;

/**
 * Returns the dimension of the counters of a budget that has many; undefined for one with a single counter, and for one whose counters
 * are those of a shape.
 */
export function countersOf({ per, each, scope, shape }: BudgetRow): Counted | undefined {
  if (shape !== null) return undefined;
  if (per === "run") return "run";
  if (each !== null) return each as Counted;
  // A budget per session that names one has one counter.
  return per === "session" && entityOf(scope)?.kind !== "session" ? "session" : undefined;
}

/** The number of counters whose exact standing is read. */
const READ_EXACTLY = 8;

/** The number of newest runs or sessions, of newest calls, and of agents or keys, among which they are searched. */
const NEWEST = 1_000;
const AGENTS = 5_000;

/** The fields of a budget or a rule by which its counters are selected. */
export type Counting = Pick<BudgetRow, "per" | "scope" | "each" | "shape" | "calendar">;

/** SQL for whether no budget of the same `per` names the counter itself: such a budget takes the place of the one with `each`. */
const notNamed = (scope: string, per: string) =>
  `NOT EXISTS (SELECT 1 FROM budgets o WHERE o.enabled = 1 AND o.scope = ${scope} AND o.per = ${per} AND o.each IS NULL)`;

/** The same of rules. */
const notRuled = (scope: string, per: string) =>
  `NOT EXISTS (SELECT 1 FROM alert_rules o ${
    indexedBy("alert_rules_named")
  } WHERE o.enabled = 1 AND o.shape IS NULL AND o.scope = ${scope}
    AND o.threshold_type = 'per_' || ${per} || '_usd')`;

/** SQL for whether a budget, or a rule, counts a scope: one per run, session or tree also where another one names it. */
const isCounted = ({ each }: Counting, scope: string, per: string, isUnnamed = notNamed) =>
  each === null ? `CAST(${per} AS TEXT) IS NOT NULL` : isUnnamed(scope, per);

/** SQL for the scopes of a dimension that calls in progress have. */
const reservedScopes = (kind: Counted) =>
  `SELECT DISTINCT scope FROM reservations WHERE ${isScopeOf(kind, "scope")} LIMIT ${NEWEST}`;

/** The counters to select. */
interface CounterQuery {
  /** The start of the window. */
  from: number;
  /** Only sessions of this agent; undefined for all. */
  owner?: string | undefined;
}

/** Returns the query for the scopes of the counters of a budget with the most spending since `from`. */
export function selectCounters(row: BudgetRow, { from, owner }: CounterQuery): Statement {
  const kind = countersOf(row);
  if (kind === "run" || kind === "session") return selectEntities(kind, row, owner);
  return mostSpent(kind === undefined ? selectShaped(row, from) : selectWindowed(kind, row, from));
}

/** A query for scopes, each with what it has spent, roughly; and SQL for the value that an `o.scope` is of. */
interface Selection {
  sql: string;
  args: readonly SqlValue[];
  value: string;
}

const mostSpent = ({ sql, args }: Selection): Statement => ({
  sql: `SELECT o.scope FROM (${sql}) o ORDER BY o.spent DESC, o.scope LIMIT ${READ_EXACTLY}`,
  args,
});

/** Returns the query for a page of the scopes of all counters of a budget: those with the most spending since `from` first, or else. */
export function selectAllCounters(
  row: BudgetRow,
  { limit, offset, sort = "used", now, ...query }: CounterQuery & {
    limit: number;
    offset: number;
    sort?: CounterSort;
    now: number;
  },
): Statement {
  const kind = countersOf(row);
  const isEntity = kind === "run" || kind === "session";
  const { sql, args, value } = kind === undefined
    ? selectShaped(row, query.from)
    : isEntity
    ? selectAllEntities(kind, row, query)
    : selectWindowed(kind, row, query.from, DEFINED[kind]);
  const [from, at, budgetId] = [1, 2, 3].map((index) => `?${args.length + index}`);
  const used = `o.spent DESC, o.scope${isEntity ? " DESC" : ""}`;
  const held = row.mode === "strict"
    ? `h.worst_nano_usd`
    : `CASE WHEN h.expires_at > ${DATABASE_NOW} THEN h.estimate_nano_usd END`;
  const name = nameSql(row.each ?? kind, value);
  const order: Record<CounterSort, string> = {
    used,
    left: `o.spent + (SELECT ${roughSum(held)} FROM reservations h
      WHERE h.scope = o.scope AND h.at >= ${from} AND (h.expires_at > ${DATABASE_NOW} OR h.is_held = 1))
      - (SELECT ${roughSum("e.extra_nano_usd")} FROM budget_raises e WHERE e.budget_id = ${budgetId}
      AND e.scope = o.scope AND (e.until IS NULL OR e.until > ${at})) DESC, o.scope`,
    name: name === undefined ? "o.scope" : `lower(coalesce(${name}, ${value})), o.scope`,
  };
  const more = sort === "left" ? [query.from, now, row.budgetId] : [];
  return {
    sql: `SELECT o.scope FROM (${sql}) o ORDER BY ${order[sort]} LIMIT ${limit} OFFSET ${offset}`,
    args: [...args, ...more],
  };
}

/** The end of no time. */
const FOREVER = "9223372036854775807";

/** SQL for a sum by which rows are ordered; one beyond 64 bits is no error. */
const roughSum = (amount: string) => `coalesce(sum(CAST(${amount} AS DOUBLE PRECISION)), 0)`;

/** SQL for the spending since `?2` by which scopes `s` are ordered. */
const spentSince = ({ per, calendar }: Pick<BudgetRow, "per" | "calendar">, from: number) =>
  per === "hour"
    ? counterSum("minute", "s.scope", "CAST(?2 AS BIGINT) - 59999", FOREVER)
    : from === 0
    ? counterValue("lifetime", "s.scope")
    : sumOfKind(`'${daysOf(calendarIn(calendar)) ?? "day"}'`, "s.scope", "?2", FOREVER);

/** Returns the condition of the scopes of a budget whose counters are those of a shape; its arguments are `?1`, `?2` and `?3`. */
export function scopesOfShape(
  row: Counting,
  scope: string,
): { where: string; args: [string, string, string] } {
  const { from, before, end } = rangeOf(row.shape!, subjectsOfScope(row.scope), row.each ?? row.per);
  return {
    where: `${scope} >= ?1 AND ${scope} < ?2 AND substr(${scope}, length(${scope}) - length(?3) + 1) = ?3`,
    args: [from, before, end],
  };
}

/** Returns the query for the scopes of the counters of a rule that has many, with the most spending since `from`. */
export function selectRuled(row: Counting, from: number): Statement {
  return mostSpent(selectShaped(row, from, notRuled));
}

/** Selects the scopes of the shape of a budget. Parameters: 1 to 3 those of `scopesOfShape()`, 4 per, 5 from, 6 the shape. */
function selectShaped(
  row: Counting,
  from: number,
  isUnnamed = notNamed,
): Selection {
  const { where, args } = scopesOfShape(row, "scope");
  return {
    sql: `WITH tail(scope, cost) AS MATERIALIZED (
  SELECT c.scope, ${roughSum("CASE WHEN c.at >= ?5 THEN c.cost_nano_usd END")} FROM call_scopes c
  WHERE c.shape = ?6 AND c.scope IS NOT NULL AND ${isAfter(DECIDED_POSITION, "c.position")} GROUP BY 1
)
SELECT s.scope, ${spentSince(row, from).replaceAll("?2", "?5")} + coalesce(tail.cost, 0) AS spent FROM (
  SELECT scope FROM (SELECT scope FROM spend_counters WHERE kind = 'lifetime' AND ${where}
    ORDER BY whole_usd DESC LIMIT ${AGENTS}) dearest
  UNION SELECT scope FROM tail WHERE ${where}
  UNION SELECT scope FROM (SELECT DISTINCT scope FROM reservations WHERE ${where} LIMIT ${NEWEST}) reserved
) s LEFT JOIN tail ON tail.scope = s.scope WHERE ${isCounted(row, "s.scope", "?4", isUnnamed)}`,
    args: [...args, row.per, from, row.shape],
    value: "substr(o.scope, length(?1) + 1, length(o.scope) - length(?1) - length(?3))",
  };
}

/** Selects agents, keys and others that have counters by window. Parameters: 1 per, 2 from. */
function selectWindowed(
  kind: Exclude<Counted, "run" | "session">,
  row: BudgetRow,
  from: number,
  defined?: string,
): Selection {
  const isOfKind = isScopeOf(kind, "scope");
  return {
    // The calls after the counters are read once, whatever the number of scopes.
    sql: `WITH tail(scope, cost) AS MATERIALIZED (
  SELECT ${scopeSql(kind, columnOf(kind))}, ${
      roughSum("CASE WHEN c.at >= ?2 THEN c.cost_nano_usd END")
    } FROM calls c ${NOT_INDEXED}
  WHERE ${isAfter(DECIDED_POSITION, "c.position")} AND ${columnOf(kind)} IS NOT NULL GROUP BY 1
)
SELECT s.scope, ${spentSince(row, from)} + coalesce(tail.cost, 0) AS spent FROM (
  SELECT scope FROM (SELECT scope FROM spend_counters WHERE kind = 'lifetime' AND ${isOfKind}
    ORDER BY whole_usd DESC LIMIT ${AGENTS}) dearest
  UNION SELECT scope FROM tail
  UNION SELECT scope FROM (SELECT DISTINCT scope FROM reservations WHERE ${isOfKind} LIMIT ${NEWEST}) reserved
  ${defined === undefined ? "" : `UNION ${defined}`}
) s LEFT JOIN tail ON tail.scope = s.scope WHERE ${notNamed("s.scope", "?1")}`,
    args: [row.per, from],
    value: idInScope(kind, "o.scope"),
  };
}

/** SQL for the agent of a session; NULL for one that is unknown, or of several agents. */
export const sessionOwner = (id: string) =>
  `coalesce((SELECT o.agent_id FROM sessions o WHERE o.session_id = ${id}),
  (SELECT CASE WHEN min(o.agent_id) = max(o.agent_id) THEN min(o.agent_id) END FROM calls o WHERE o.session_id = ${id}))`;

/** SQL for whether the viewer may see a session. Every run is its agent's own; a session may be another agent's. */
const isOwned = (kind: "run" | "session") =>
  `(CAST(?3 AS TEXT) IS NULL OR ${kind === "run" ? "true" : `${sessionOwner("s.id")} = ?3`})`;

/**
 * Selects sessions with calls since `from`, or runs. Parameters: 1 per, 2 the id of the named agent, session or key, 3 the
 * owner, 4 from.
 */
function selectAllEntities(
  kind: "run" | "session",
  row: BudgetRow,
  { from, owner }: CounterQuery,
): Selection {
  const { per, scope } = row;
  const id = `${kind}_id`;
  const named = entityOf(scope);
  const isNamed = named === undefined
    ? "CAST(?2 AS TEXT) IS NOT NULL"
    : kind === "session"
    ? `EXISTS (SELECT 1 FROM calls c ${indexedBy("calls_by_session")} WHERE c.session_id = s.id AND ${
      columnOf(named.kind)
    } = ?2)`
    : `(EXISTS (SELECT 1 FROM run_usage u WHERE u.run_id = s.id AND u.agent_id = ?2)
      OR EXISTS (SELECT 1 FROM runs r WHERE r.run_id = s.id AND r.agent_id = ?2))`;
  const value = from === 0
    ? atMost64Bits(`${counterValue(kind, "s.id")} + coalesce(tail.cost, 0)`)
    : sumOfCalls(`${indexedBy("calls_by_session")} WHERE c.session_id = s.id AND c.at >= ?4`);
  return {
    sql: `WITH tail(id, cost) AS MATERIALIZED (
  SELECT c.${id}, ${roughSum("c.cost_nano_usd")} FROM calls c ${NOT_INDEXED}
  WHERE ${isAfter(DECIDED_POSITION, "c.position")} AND c.${id} IS NOT NULL GROUP BY 1
)
SELECT ${scopeSql(kind, "s.id")} AS scope, ${value} AS spent FROM (
  SELECT ${id} AS id FROM usage_${kind}s WHERE last_at >= ?4
  UNION SELECT c.${id} FROM calls c ${NOT_INDEXED} WHERE ${
      isAfter(TOTALS_POSITION, "c.position")
    } AND c.${id} IS NOT NULL AND +c.at >= ?4
  UNION SELECT ${idInScope(kind, "scope")} FROM (${reservedScopes(kind)}) reserved
) s LEFT JOIN tail ON tail.id = s.id
WHERE ${isCounted(row, scopeSql(kind, "s.id"), "?1")} AND ${isNamed}
  AND ${isOwned(kind)}`,
    args: [per, named?.id ?? "", owner ?? null, from],
    value: idInScope(kind, "o.scope"),
  };
}

/** Parameters: 1 per, 2 the id of the named agent, session or key, 3 the owner. */
function selectEntities(kind: "run" | "session", row: BudgetRow, owner?: string): Statement {
  const { per, scope } = row;
  const id = `${kind}_id`;
  const named = entityOf(scope);
  const isNamed = (alias: string, has: readonly string[]) =>
    named === undefined ? "true" : has.includes(named.kind) ? `${columnOf(named.kind, alias)} = ?2` : "false";
  const ofEntities = isNamed("u", kind === "run" ? ["agent", "session"] : ["agent"]);
  const ofCalls = isNamed("c", BUDGETED);
  return {
    sql: `SELECT ${scopeSql(kind, "s.id")} FROM (
  SELECT u.${id} AS id FROM (SELECT * FROM usage_${kind}s ORDER BY first_at DESC, ${id} DESC LIMIT ${NEWEST}) u
    WHERE ${ofEntities}
  UNION SELECT c.${id} FROM (SELECT * FROM calls ${NOT_INDEXED} ORDER BY position DESC LIMIT ${NEWEST}) c
    WHERE c.${id} IS NOT NULL AND ${ofCalls}
  UNION ${othersOf(kind, named)}
) s WHERE ${isCounted(row, scopeSql(kind, "s.id"), "?1")} AND CAST(?2 AS TEXT) IS NOT NULL
  AND ${isOwned(kind)}
ORDER BY ${
      atMost64Bits(`${counterValue(kind, "s.id")} + ${sumOfTail(`c.${id} = s.id`)}`)
    } DESC, s.id DESC LIMIT ${READ_EXACTLY}`,
    args: [per, named?.id ?? "", owner ?? null],
  };
}

/** Returns the query for the runs or sessions that are in progress, or the newest ones of the agent or session that is named. */
function othersOf(kind: "run" | "session", named: BudgetCounter | undefined): string {
  if (named === undefined) {
    return `SELECT ${idInScope(kind, "scope")} FROM (${reservedScopes(kind)}) reserved`;
  }
  if (named.kind !== "agent" && named.kind !== "session") return "SELECT NULL WHERE false";
  const [index, time] = kind === "run"
    ? [`runs_of_${named.kind}`, "started_at"]
    : ["sessions_of_agent", "updated_at"];
  return `SELECT * FROM (SELECT ${kind}_id FROM ${kind}s ${indexedBy(index)} WHERE ${named.kind}_id = ?2
    ORDER BY ${time} DESC LIMIT ${NEWEST}) newest`;
}
