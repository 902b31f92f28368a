import { MAX_AHEAD_MS, type ModelCall } from "../ledger/mod.ts";
import type { ResultSet, Statement } from "../store/mod.ts";
import type { AlertContext } from "./context.ts";
import { encodeChannels } from "./outbox.ts";
import { type TouchedWindow, touchedWindows } from "./touched_windows.ts";
import { hourEdge, hourParts, sumOfWindows } from "./window_sql.ts";

/*
 * The decision of DESIGN.md §10 as SQL, so that it is part of the commit that books the calls, over a remote
 * database too. Rules that can't fire cost nothing: only armed ones are in the index that is looked into, from the
 * lowest threshold up to what was spent. A rule that has fired rests until its cooldown has passed.
 *
 * `_decision_model.ts` says the same as a plain function; a property test compares the two.
 */

const { sure, edge } = hourParts("t.scope", "t.starts", "t.ends");

const touchedWhere = (condition: string) =>
  `touched AS MATERIALIZED (
  SELECT t.key AS n, t.value ->> 0 AS type, t.value ->> 1 AS scope, t.value ->> 2 AS id, t.value ->> 3 AS starts,
    t.value ->> 4 AS ends, t.value ->> 5 AS claim, CAST(t.value ->> 6 AS INTEGER) AS added,
    t.value ->> 7 AS agent_id, t.value ->> 8 AS session_id, t.value ->> 9 AS run_id
  FROM json_each(?1) t WHERE ${condition}
)`;

/** A clock that was set back: what fired in the future counts as fired now. */
const CLAMP = `UPDATE alert_rules SET cooldown_from = ?1, rests_until = ?1 + cooldown_ms,
  is_armed = is_over = 0 AND cooldown_ms = 0
WHERE enabled = 1 AND cooldown_from > ?1`;

/** Rules that told of this hour and were to wait until it has fallen below: without these calls, has it? */
const FALL_BELOW = `WITH ${
  touchedWhere(`t.value ->> 0 = 'per_hour_usd'
    AND EXISTS (SELECT 1 FROM alert_rules r WHERE r.is_over = 1 AND r.scope = t.value ->> 1)`)
}, spent AS MATERIALIZED (
  SELECT t.scope, ${sure} + ${hourEdge("t.scope", "t.starts")} - t.added AS before FROM touched t
)
UPDATE alert_rules SET is_over = 0 FROM spent s
WHERE alert_rules.is_over = 1 AND alert_rules.scope = s.scope AND alert_rules.threshold_nano_usd > s.before`;

const ARM = `UPDATE alert_rules SET is_armed = 1
WHERE is_armed = 0 AND enabled = 1 AND is_over = 0 AND rests_until <= ?1`;

const ARMED = (scope: string, type: string) =>
  `alert_rules r INDEXED BY alert_rules_armed WHERE r.is_armed = 1 AND r.scope = ${scope} AND r.threshold_type = ${type}`;

// Of the windows of a run or a session in one commit, one rule without a cooldown may fire for each.
const FIRE = `WITH ${touchedWhere(`EXISTS (SELECT 1 FROM ${ARMED("t.value ->> 1", "t.value ->> 0")})`)},
known AS MATERIALIZED (
  SELECT t.*,
    CASE t.type
      WHEN 'per_run_usd' THEN coalesce((SELECT cost_nano_usd FROM spend_runs WHERE run_id = t.id), 0)
      WHEN 'per_session_usd' THEN coalesce((SELECT cost_nano_usd FROM spend_sessions WHERE session_id = t.id), 0)
      WHEN 'per_hour_usd' THEN ${sure}
      ELSE ${sumOfWindows("t.scope", "day", "t.starts", "t.ends")}
    END AS sure,
    CASE t.type WHEN 'per_hour_usd' THEN ${edge} ELSE 0 END AS edge
  FROM touched t
),
spent AS MATERIALIZED (
  SELECT t.*, sure + CASE
      WHEN edge > 0 AND EXISTS (SELECT 1 FROM ${
  ARMED("t.scope", "t.type")
} AND r.threshold_nano_usd <= sure + edge)
      THEN ${hourEdge("t.scope", "t.starts")} ELSE 0 END AS value
  FROM known t
),
fired AS MATERIALIZED (
  SELECT s.*, r.*, row_number() OVER (PARTITION BY r.rule_id ORDER BY s.n) AS nth
  FROM spent s CROSS JOIN alert_rules r INDEXED BY alert_rules_armed
    ON r.is_armed = 1 AND r.scope = s.scope AND r.threshold_type = s.type AND r.threshold_nano_usd <= s.value
  WHERE (r.cooldown_from IS NULL OR r.cooldown_from + r.cooldown_ms <= ?3)
    AND (r.repeat = 'cooldown'
      OR NOT EXISTS (SELECT 1 FROM alert_claims c WHERE c.rule_id = r.rule_id AND c.window = s.claim))
)
INSERT INTO alerts (alert_id, rule_id, rule_name, threshold_type, threshold_nano_usd, severity, value_nano_usd,
  agent_id, session_id, run_id, window, window_start, triggered_at)
SELECT ?2 || printf('%05x', row_number() OVER (ORDER BY f.n, f.rule_id)), f.rule_id, f.name, f.threshold_type,
  f.threshold_nano_usd, f.severity, min(f.value, 9223372036854775807), f.agent_id, f.session_id, f.run_id, f.claim,
  CASE f.type
    WHEN 'per_run_usd' THEN (SELECT first_at FROM spend_runs WHERE run_id = f.id)
    WHEN 'per_session_usd' THEN (SELECT first_at FROM spend_sessions WHERE session_id = f.id)
    ELSE f.starts
  END, ?3
FROM fired f
WHERE f.nth = 1 OR (f.cooldown_ms = 0 AND f.type IN ('per_run_usd', 'per_session_usd'))
ORDER BY f.n, f.rule_id`;

/** The alerts of this commit: five digits after what their ids begin with. */
const OF_UNIT = (prefix: string) =>
  `a.alert_id > ${prefix} AND a.alert_id < ${prefix} || '~' AND length(a.alert_id) = length(${prefix}) + 5`;

// A rule that is told once a day or month need not be looked at before that has ended; a little before, since
// calls may be ahead of the clock.
const REST = `UPDATE alert_rules SET last_fired_at = ?2, cooldown_from = ?2, rests_until = f.until,
  is_over = f.is_over, is_armed = f.is_over = 0 AND f.until <= ?2
FROM (
  SELECT r.rule_id, r.repeat = 'once_per_window' AND r.threshold_type = 'per_hour_usd' AS is_over,
    max(?2 + r.cooldown_ms, CASE WHEN r.repeat = 'cooldown' THEN 0 ELSE
      CASE r.threshold_type
        WHEN 'per_day_usd' THEN a.window_start + 86400000 - ${MAX_AHEAD_MS}
        WHEN 'per_month_usd' THEN
          unixepoch(a.window_start / 1000, 'unixepoch', '+1 month') * 1000 - ${MAX_AHEAD_MS}
        ELSE 0
      END END) AS until
  FROM alerts a JOIN alert_rules r ON r.rule_id = a.rule_id WHERE ${OF_UNIT("?1")}
) f WHERE alert_rules.rule_id = f.rule_id`;

const CLAIM = `INSERT OR IGNORE INTO alert_claims (rule_id, window)
SELECT a.rule_id, a.window FROM alerts a JOIN alert_rules r ON r.rule_id = a.rule_id
WHERE ${OF_UNIT("?1")} AND a.window IS NOT NULL AND r.repeat = 'once_per_window'`;

const PUT_OUT = `INSERT INTO deliveries (delivery_id, subject_id, channel, kind, due_at, created_at)
SELECT 'dlv_' || substr(a.alert_id, 7) || '_' || (c.key + 1), a.alert_id, c.value ->> 0, c.value ->> 1, ?2, ?2
FROM alerts a CROSS JOIN json_each(?3) c
WHERE ${
  OF_UNIT("?1")
} AND CASE a.severity WHEN 'info' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END >= c.value ->> 2`;

const READ = `SELECT a.alert_id FROM alerts a WHERE ${OF_UNIT("?1")} ORDER BY a.position`;

/**
 * The statements that decide which rules fire for calls that were booked before them in the same unit, and write
 * the alerts, their claims and their outbox rows. `readFired` understands their results.
 */
export function decideAlerts(
  ctx: Pick<AlertContext, "clock" | "ids" | "outboxChannels">,
  calls: readonly ModelCall[],
): Statement[] {
  const now = ctx.clock.now();
  const touched = encodeWindows(touchedWindows(calls, now));
  const prefix = ctx.ids.next("alert");
  return [
    { sql: CLAMP, args: [now] },
    { sql: FALL_BELOW, args: [touched] },
    { sql: ARM, args: [now] },
    { sql: FIRE, args: [touched, prefix, now] },
    { sql: REST, args: [prefix, now] },
    { sql: CLAIM, args: [prefix] },
    { sql: PUT_OUT, args: [prefix, now, encodeChannels(ctx.outboxChannels)] },
    { sql: READ, args: [prefix] },
  ];
}

/** The ids of the alerts that a unit fired, from the results of these statements. */
export function readFired(results: readonly ResultSet[]): string[] {
  return results.at(-1)!.rows.map(([alertId]) => alertId as string);
}

function encodeWindows(windows: readonly TouchedWindow[]): string {
  return JSON.stringify(windows.map(({ type, scope, id, from, to, claim, addedNanoUsd, call }) => [
    type,
    scope,
    id,
    from,
    to,
    claim,
    String(addedNanoUsd),
    call.agentId,
    call.sessionId,
    call.runId,
  ]));
}
