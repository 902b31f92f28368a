import { FORECAST_FROM_PART, FORECAST_PERIODS } from "../../contract/limits.ts";
import { startSql, windowSql } from "../../contract/windows.ts";
import {
  atMost64Bits,
  columnOf,
  COUNTED_COLUMNS,
  idInScope,
  scopeValuesOf,
  STORED,
  windowEnd,
} from "../../ledger/mod.ts";
import { ORDERED_JOIN, type SqlValue, type Statement } from "../../store/mod.ts";
import { FORECAST } from "../budget_fields.ts";
import { type CallScopes, toCallRow } from "../call_to_decide.ts";
import { LOOKED_UP } from "../standings.ts";
import { CALL_COLUMNS, CALL_INTEGERS, CEILING, shareOf, SPENT_IN_ALL, standingsOf } from "./standing_sql.ts";

/*
 * The warnings of budgets: alerts of a budget's id, once for each window and share of the limit. They are decided in the
 * commit that books a call, on the counters with that call. Like those of rules they are rows of `alerts`, whose triggers
 * claim the window and write the deliveries: see alerts/firing/firing_logic.ts.
 */

/** A call that was booked in the same commit, or before it. */
export interface BookedScopes {
  scopes: CallScopes;
  at: number;
  /** Its reservation, which the commit frees later: it knows how much may be spent before a budget is near a limit. */
  reservationId: string | null;
}

const COLUMNS = [...CALL_COLUMNS, "reserved_id", "alert_prefix", "channels"];

// Where all calls since can't have brought a budget near a limit, the counters need not be read; by the windows of another
// day, or of a clock that was set back, more may be spent.
const MAY_BE_NEAR = `FROM each_row v WHERE v.reserved_id IS NULL OR NOT EXISTS (SELECT 1 FROM reservations h
    WHERE h.reservation_id = v.reserved_id AND h.at >= v.day AND h.at <= v.at AND h.spent_nano_usd < 9223372036854775807
    AND ${SPENT_IN_ALL} - h.spent_nano_usd < h.headroom_nano_usd)`;
const BOOKED = `r AS MATERIALIZED (
  SELECT ${COLUMNS.map((column) => `v.${column} AS ${column}`).join(", ")} ${MAY_BE_NEAR}
)`;

/** SQL for a share of the limit at which a budget `s` warns. */
const SHARE = "CAST(w.value AS NUMERIC)";
const OTHER_SHARE = "CAST(o.value AS NUMERIC)";

/** As an integer, whose division gives one: in PostgreSQL that of a `wide()` sum has fractions. */
const LIMIT = atMost64Bits(CEILING);

/** SQL for the end of the window of a counter `s`, of the periods that have a forecast. */
const ENDS = `CASE WHEN s.calendar IS NOT NULL THEN ${
  windowEnd("s.calendar", "s.per", "r.at")
} ELSE CASE s.per ${
  FORECAST_PERIODS.map((per) => `WHEN '${per}' THEN ${windowSql(per, "s.starts").to}`).join(" ")
} END END`;

const real = (value: string) => `CAST(${value} AS DOUBLE PRECISION)`;

/**
 * SQL for whether the limit will be reached before the window ends at its mean pace so far. Time passes by the clock of the process,
 * not by those of its calls: one that is reported late is no faster pace.
 */
const IS_AHEAD = `s.settled < ${LIMIT} AND (r.at - s.starts) * ${FORECAST_FROM_PART} >= ${ENDS} - s.starts
    AND ${real("s.settled")} * (${ENDS} - s.starts) >= ${real(LIMIT)} * (r.at - s.starts)`;

const REACHED = (share: string) =>
  `CASE WHEN ${share} = ${FORECAST} THEN ${IS_AHEAD} ELSE s.settled >= ${shareOf(LIMIT, share)} END`;

/** The claim of a window and of all shares up to this one. For a rolling hour, the claim names the hour of the clock. */
const WINDOW = `s.scope || '@' || CASE s.counted_by WHEN 'minute' THEN ${
  startSql("hour", "r.at")
} ELSE s.starts END || '#'`;
const CLAIM = `${WINDOW} || substr(CAST(10000 + CAST(round(${SHARE} * 1000) AS BIGINT) AS TEXT), 2)`;

/** The run above that of the call whose budget it is, and the scopes that its row has. */
const OF_RUNS: readonly string[] = ["agent", "session", "run"];
const RUN_ABOVE = `runs u ON s.per = 'run' AND s.scope <> r.run AND u.run_id = ${
  idInScope("run", "s.scope")
}`;

/** The scopes of a warning: those of that run where it is its budget, else those of the call. */
const SCOPES = STORED.map((kind) => [kind, idInScope(kind, `r.${kind}`)] as const)
  .map(([kind, id]) => OF_RUNS.includes(kind) ? `coalesce(${columnOf(kind, "u")}, ${id})` : id);

const WARN =
  `INSERT INTO alerts (alert_id, rule_id, rule_name, threshold_type, threshold_nano_usd, severity, value_nano_usd,
  ${COUNTED_COLUMNS}, "window", window_start, triggered_at, channels, budget_limit_nano_usd, call_position, calendar)
${standingsOf(BOOKED)}
SELECT r.alert_prefix || lower(hex(randomblob(6))), s.budget_id, s.name, 'budget_per_' || s.per || '_usd',
  CASE WHEN ${SHARE} = ${FORECAST} THEN ${LIMIT} ELSE ${
    shareOf(LIMIT, SHARE)
  } END, CASE WHEN ${SHARE} >= 1 THEN 'critical' ELSE 'warning' END, s.settled,
  ${SCOPES}, ${CLAIM},
  CASE WHEN s.per IN ('run', 'session') OR s.starts = 0 THEN NULL ELSE s.starts END, r.at, r.channels, ${LIMIT},
  (SELECT max(position) FROM calls), s.calendar
FROM r ${ORDERED_JOIN} s ON s.n = r.n CROSS JOIN json_each(s.warn_at) w LEFT JOIN ${RUN_ABOVE}
WHERE s.budget_id IS NOT NULL AND ${REACHED(SHARE)}
  AND ${SHARE} = (SELECT max(${OTHER_SHARE}) FROM json_each(s.warn_at) o WHERE ${REACHED(OTHER_SHARE)})
  AND NOT EXISTS (SELECT 1 FROM alert_claims c
    WHERE c.rule_id = s.budget_id AND c."window" >= ${CLAIM} AND c."window" < ${WINDOW} || '~')`;

/**
 * Returns the statement that writes the warnings of the budgets that count booked calls. `channels` is encoded as the trigger
 * `alerts_fire` takes it.
 */
export function warningsOf(
  booked: readonly BookedScopes[],
  { alertPrefix, channels }: { alertPrefix: string; channels: string },
): Statement {
  const rows = new Map<string, SqlValue[]>();
  for (const { scopes, at, reservationId } of booked) {
    const { model, provider, source, billing, tags } = scopes.subjects ?? {};
    const counted = [...scopeValuesOf(scopes), model, provider, source, billing, tags];
    rows.set(booked.length === 1 ? "" : JSON.stringify(counted), [
      ...toCallRow({ ...LOOKED_UP, scopes, at }, rows.size),
      reservationId,
      alertPrefix,
      channels,
    ]);
  }
  const each = { columns: COLUMNS, integers: CALL_INTEGERS, rows: [...rows.values()] };
  return { sql: WARN, each, onlyIf: { sql: `SELECT 1 ${MAY_BE_NEAR}`, each } };
}
