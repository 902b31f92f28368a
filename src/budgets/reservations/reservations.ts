import { BUDGETED, dimension } from "../../contract/costs/dimensions.ts";
import { idInScope, isOfPlan, scopeSql } from "../../ledger/mod.ts";
import {
  DATABASE_NOW,
  ORDERED_JOIN,
  type SetWriter,
  type SqlValue,
  type Statement,
  type Store,
  wide,
} from "../../store/mod.ts";
import {
  CALL_COLUMNS,
  CALL_INTEGERS,
  CEILING,
  shareOf,
  SPENT_IN_ALL,
  WITH_STANDINGS,
} from "./standing_sql.ts";
import { type CallToDecide, toCallRow } from "../call_to_decide.ts";

/** The lease of a reservation: its process renews it while the call is in progress, see `BudgetGate.renew()`. */
export const RESERVATION_MS = 60_000;

/** SQL for the holder of a reservation, with which its id begins; '' for one of a call that is made elsewhere. */
const HOLDER = "substr(reservation_id, 1, instr(reservation_id, '/') - 1)";

/** Reads the instances that hold reservations with a lease. */
export const SELECT_RESERVING: Statement = {
  sql: `SELECT DISTINCT ${HOLDER} FROM reservations WHERE is_lost = 0 AND expires_at > 0`,
};

// The amounts that earlier calls of the same statement reserve in a scope. They count whether they fit or not, so that two
// calls that fit singly can't overshoot together, even if their rolling hours begin a millisecond apart. A call that is
// refused because of them is decided again.
const EARLIER = `e AS MATERIALIZED (
  SELECT n, scope, sum(estimate) OVER earlier AS estimate, sum(coalesce(worst, 0)) OVER earlier AS worst
  FROM (SELECT DISTINCT b.n, b.scope, r.estimate, r.worst FROM r ${ORDERED_JOIN} b ON b.n = r.n) matched
  WINDOW earlier AS (PARTITION BY scope ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
)`;

/** SQL for the amount at which a budget warns first, or its limit if it doesn't warn. Raises don't count, since they end. */
const NEAR = `CASE s.warn_at WHEN '[]' THEN s.amount ELSE ${
  shareOf("s.amount", "CAST(s.warn_at ->> 0 AS NUMERIC)")
} END`;

/** The calls, with whether each fits in every budget that refuses: `decideCall()` as a condition of the write. */
const verdicts = (standings: string, fitsStop: string, fitsStrict: string, group: string) =>
  `d AS MATERIALIZED (
  SELECT min(n) AS n, min(CASE WHEN fits THEN 1 ELSE 0 END) AS fits, max(strictness) AS strictness, min(until_near) AS headroom FROM (
    SELECT s.n, CASE WHEN s.mode = 'stop' THEN 0 WHEN s.action = 'watch' THEN 1 ELSE 2 END AS strictness, CASE WHEN ${
    isOfPlan("s.scope")
  } THEN -1 ELSE ${NEAR} - s.settled END AS until_near,
      s.action = 'watch' OR (s.settled < ${CEILING} AND (r.is_unpriced = 0 OR s.allow_unpriced = 1)
        AND CASE s.mode WHEN 'stop' THEN ${fitsStop}
          ELSE r.is_unpriced = 1 OR r.worst IS NOT NULL AND ${fitsStrict} <= ${CEILING} END) AS fits
    FROM ${standings}
  ) verdicts ${group}
)`;

const COLUMNS = `scope, at, reservation_id, worst_nano_usd, estimate_nano_usd, strictness, spent_nano_usd,
  headroom_nano_usd, expires_at, is_held, ${BUDGETED.map((kind) => dimension(kind).field).join(", ")}`;

/** SQL for whether a call `r` with the verdict `d` is held from now on. */
const IS_HELD_NOW = "d.strictness = 2 AND coalesce(r.worst, 0) > 0";

/** The agent, session and key of a call, which are kept for one that is held. */
const CALLER = BUDGETED.map((kind) => `CASE WHEN ${IS_HELD_NOW} THEN ${idInScope(kind, `r.${kind}`)} END`)
  .join(
    ", ",
  );
const NO_CALLER = BUDGETED.map(() => "NULL").join(", ");

/**
 * Makes the reservations of calls that fit: one row for each scope with a budget, and one of the run, which frees it when it
 * ends. The reservation of a strict budget is held from now on, since the call may be sent at once: it ends when the call is
 * booked or released, or with its window, but not with its lease.
 */
const reserve = (isOne: boolean) => {
  const of = (row: string, other: string) => isOne ? "true" : `${row}.n = ${other}.n`;
  const earlier = (amount: string) => isOne ? "" : ` + coalesce(e.${amount}, 0)`;
  const row = (scope: string) =>
    `SELECT ${scope}, r.at, r.id, coalesce(r.worst, r.estimate), r.estimate, d.strictness, ${SPENT_IN_ALL}, d.headroom,
  ${DATABASE_NOW} + r.lease, CASE WHEN ${IS_HELD_NOW} THEN 1 ELSE 0 END, ${CALLER}
FROM d ${ORDERED_JOIN} r ON ${of("r", "d")}`;
  return `INSERT INTO reservations (${COLUMNS})
${isOne ? WITH_STANDINGS.one : `${WITH_STANDINGS.many}, ${EARLIER}`}, ${
    verdicts(
      `r ${ORDERED_JOIN} s ON ${of("s", "r")}${
        isOne ? "" : " LEFT JOIN e ON e.n = s.n AND e.scope = s.scope"
      }`,
      `${wide("s.settled")} + s.estimated${earlier("estimate")} < ${CEILING}`,
      `${wide("s.settled")} + s.worst${earlier("worst")} + r.worst`,
      isOne ? "" : "GROUP BY n",
    )
  }
${row("b.scope")} ${ORDERED_JOIN} b ON ${of("b", "d")} WHERE d.fits = 1
UNION ALL ${row("r.run")} WHERE d.fits = 1 AND r.run IS NOT NULL
ON CONFLICT DO NOTHING`; // two budgets may have the same scope
};

const RESERVE = { one: reserve(true), many: reserve(false) };

/** SQL for whether a reservation is of a call elsewhere: the ids of others begin with their process, which alone releases them. */
export const isElsewhere = (id: string) => `instr(${id}, '/') = 0`;

/**
 * Makes the reservation of a call elsewhere, if all of it fits in every budget: `decideElsewhere()` as a condition of the
 * write. It is made without any budget too, has one row of its agent, and ends with its time.
 */
const RESERVE_ELSEWHERE = `INSERT INTO reservations (${COLUMNS})
${WITH_STANDINGS.one}, ${
  verdicts(
    "r CROSS JOIN s",
    `${wide("s.settled")} + s.estimated < ${CEILING} AND ${
      wide("s.settled")
    } + s.estimated + r.estimate <= ${CEILING}`,
    `${wide("s.settled")} + s.worst + r.worst`,
    "",
  )
}
SELECT x.scope, r.at, r.id, coalesce(r.worst, r.estimate), r.estimate, coalesce(d.strictness, 0), ${SPENT_IN_ALL},
  coalesce(d.headroom, -1), ${DATABASE_NOW} + r.lease, 0, ${NO_CALLER}
FROM r CROSS JOIN d CROSS JOIN (SELECT scope FROM b UNION SELECT agent FROM r) x
WHERE coalesce(d.fits, 1) = 1`;

/** Reads the strictness of reservations, null for one that was not made. */
const READ_RESERVED =
  "SELECT v.id, (SELECT max(h.strictness) FROM reservations h WHERE h.reservation_id = v.id) FROM each_row v";

/** The outcome of a request to reserve. */
export interface Reserved {
  isReserved: boolean;
  /** True if a strict budget that refuses counts the call. */
  isStrict: boolean;
}

/** Writes the reservations of all requests that wait at the same time, by two statements. */
export const reservationWriter: SetWriter<CallToDecide, Reserved> = {
  sizeOf: () => 500,
  mayLose: ({ mayLose }) => mayLose === true,
  plan(calls) {
    const each = {
      columns: CALL_COLUMNS,
      integers: CALL_INTEGERS,
      rows: calls.map((call, n) => toCallRow(call, n)),
    };
    return {
      statements: [
        { sql: calls.length === 1 ? RESERVE.one : RESERVE.many, each },
        {
          sql: READ_RESERVED,
          each: { columns: ["id"], rows: calls.map(({ reservationId }) => [reservationId]) },
        },
      ],
      read([, outcomes]) {
        const byId = new Map(outcomes!.rows.map(([id, strictness]) => [id, strictness]));
        return calls.map(({ reservationId }) => toReserved(byId.get(reservationId)!));
      },
    };
  },
};

/** Writes the reservation of a call elsewhere, with further statements in its commit. Returns false if it doesn't fit. */
export async function writeElsewhere(
  store: Store,
  call: CallToDecide,
  more: readonly Statement[],
): Promise<boolean> {
  const each = { columns: CALL_COLUMNS, integers: CALL_INTEGERS, rows: [toCallRow(call, 0)] };
  const results = await store.write([
    { sql: RESERVE_ELSEWHERE, each },
    ...more,
    { sql: "SELECT 1 FROM reservations WHERE reservation_id = ? LIMIT 1", args: [call.reservationId] },
  ]);
  return results.at(-1)!.rows.length > 0;
}

function toReserved(strictness: SqlValue): Reserved {
  return { isReserved: strictness !== null, isStrict: strictness === 2n };
}

const FREE = "DELETE FROM reservations WHERE reservation_id IN (SELECT v.reservation_id FROM each_row v)";

/** Resets the headroom of all reservations, so that budgets are read again; a part of each commit that changes budgets or costs. */
export const FORGET_HEADROOM: Statement = { sql: "UPDATE reservations SET headroom_nano_usd = -1" };

const LOSE = `UPDATE reservations SET worst_nano_usd = v.lost_nano_usd, estimate_nano_usd = 0, is_lost = 1,
  expires_at = 9223372036854775807
FROM each_row v WHERE reservations.reservation_id = v.reservation_id`;
const RENEW = `UPDATE reservations SET expires_at = ${DATABASE_NOW} + ${RESERVATION_MS}
WHERE reservation_id IN (SELECT value FROM json_each(?)) AND is_lost = 0`;

// Includes reservations whose commit was reported as failed. Two amounts stay held in other windows: what a lost call may
// have cost, and what is held for a call that was sent and is not booked yet. The window of the run ends with the run.
const FREE_RUN = `DELETE FROM reservations WHERE is_lost = 0
  AND reservation_id IN (SELECT h.reservation_id FROM reservations h WHERE h.scope = ${scopeSql("run", "?1")})
  AND reservation_id NOT IN (SELECT value FROM json_each(?2))`;
const FREE_SCOPE = `DELETE FROM reservations WHERE scope = ${scopeSql("run", "?")}`;

/** Returns the statements that free reservations. */
export function freeStatements(reservationIds: readonly string[]): Statement[] {
  if (reservationIds.length === 0) return [];
  return [{ sql: FREE, each: { columns: ["reservation_id"], rows: reservationIds.map((id) => [id]) } }];
}

/** Returns the statements that reduce reservations to what their calls may have cost beyond the booked cost. */
export function loseStatements(lost: readonly { reservationId: string; lostNanoUsd: bigint }[]): Statement[] {
  if (lost.length === 0) return [];
  const rows = lost.map(({ reservationId, lostNanoUsd }) => [reservationId, lostNanoUsd]);
  return [{
    sql: LOSE,
    each: { columns: ["reservation_id", "lost_nano_usd"], integers: ["lost_nano_usd"], rows },
  }];
}

/**
 * Returns the statements that end the reservations of calls booked in the same unit: they are freed, but for what a strict
 * call may have cost beyond its booked cost.
 */
export function settleReservations(
  grants: readonly { reservationId: string; lostNanoUsd?: bigint }[],
): Statement[] {
  const lost = grants.flatMap(({ reservationId, lostNanoUsd }) =>
    lostNanoUsd ? [{ reservationId, lostNanoUsd }] : []
  );
  const freed = grants.filter(({ lostNanoUsd }) => !lostNanoUsd).map(({ reservationId }) => reservationId);
  return [...loseStatements(lost), ...freeStatements(freed)];
}

/** Returns the statement that renews the leases of reservations. */
export function renewStatement(reservationIds: readonly string[]): Statement {
  return { sql: RENEW, args: [JSON.stringify(reservationIds)] };
}

/** Returns the statements that free the reservations of a run, without those that are held. */
export function freeRunStatements(runId: string, held: Iterable<string>): Statement[] {
  return [
    { sql: FREE_RUN, args: [runId, JSON.stringify([...held])] },
    { sql: FREE_SCOPE, args: [runId] },
  ];
}

// A reservation elsewhere has a row of its agent: that of another agent isn't freed.
const FREE_REPORTED = `DELETE FROM reservations WHERE is_lost = 0 AND reservation_id IN (
  SELECT h.reservation_id FROM reservations h WHERE (h.reservation_id, h.scope) IN (
    SELECT v.reservation_id, v.agent_id FROM each_row v))`;

/** A reservation of a call that is made elsewhere, and its agent. */
export interface ReservedElsewhere {
  reservationId: string;
  agentId: string;
}

/** Returns the statements that free the reservations of reported calls: those of the same agent. */
export function freeReported(reported: readonly ReservedElsewhere[]): Statement[] {
  if (reported.length === 0) return [];
  const rows = reported.map(({ reservationId, agentId }) => [reservationId, agentId]);
  return [{ sql: FREE_REPORTED, each: { columns: ["reservation_id", "agent_id"], rows } }];
}

const OF_GONE = `is_lost = 0 AND ${HOLDER} IN (SELECT value FROM json_each(?))`;
const FREE_GONE = `DELETE FROM reservations WHERE is_held = 0 AND ${OF_GONE}`;
const END_LEASES = `UPDATE reservations SET expires_at = 0 WHERE is_held = 1 AND ${OF_GONE}`;

/**
 * Ends the leases of the reservations of instances that are known to be gone, at once: what strict budgets hold stays held,
 * others are freed. Reservations of other dead instances, such as those of another host, end with their lease.
 */
export async function freeGoneReservations(
  { store, instanceId }: { store: Store; instanceId: string },
): Promise<void> {
  if (store.kind !== "file") return; // others have no locks
  const { rows } = await store.read(SELECT_RESERVING);
  const gone: string[] = [];
  for (const [holder] of rows as [string][]) {
    if (holder !== "" && holder !== instanceId && await store.instances.isGone(holder)) gone.push(holder);
  }
  if (gone.length === 0) return;
  await store.write([FREE_GONE, END_LEASES].map((sql) => ({ sql, args: [JSON.stringify(gone)] })));
}

const OLD = `FROM reservations WHERE expires_at <= ${DATABASE_NOW} AND is_held = 0`;

/** Removes the reservations of dead processes. Any process may do this at any time. */
export async function sweepReservations(ctx: { store: Store; instanceId: string }): Promise<void> {
  await freeGoneReservations(ctx);
  // Read first: there is rarely anything to remove, and a commit costs a flush.
  const { rows } = await ctx.store.read({ sql: `SELECT 1 ${OLD} LIMIT 1` });
  if (rows.length > 0) await ctx.store.write([{ sql: `DELETE ${OLD}` }]);
}
