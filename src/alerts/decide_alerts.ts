import type { ModelCall } from "../ledger/mod.ts";
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

/** The windows of ?1 that meet a condition; they are not even parsed where no scope of ?2 has a rule of that index. */
const touchedWhere = (condition: string, { index, flag }: { index: string; flag: string }) =>
  `touched AS MATERIALIZED (
  SELECT t.key AS n, t.value ->> 0 AS type, t.value ->> 1 AS scope, t.value ->> 2 AS id, t.value ->> 3 AS starts,
    t.value ->> 4 AS ends, t.value ->> 5 AS claim, CAST(t.value ->> 6 AS INTEGER) AS added,
    t.value ->> 7 AS agent_id, t.value ->> 8 AS session_id, t.value ->> 9 AS run_id
  FROM (SELECT 1 FROM json_each(?2) s CROSS JOIN alert_rules r INDEXED BY ${index}
    WHERE r.${flag} = 1 AND r.scope = s.value LIMIT 1)
  CROSS JOIN json_each(?1) t WHERE ${condition}
)`;

/**
 * Arms the rules whose rest is over. After a clock was set back, a rule that fired in the future counts as fired now.
 */
const ARM = `UPDATE alert_rules SET
  cooldown_from = min(cooldown_from, ?1),
  rests_until = CASE WHEN cooldown_from > ?1 THEN ?1 + cooldown_ms ELSE rests_until END,
  is_armed = is_over = 0 AND CASE WHEN cooldown_from > ?1 THEN cooldown_ms = 0 ELSE 1 END
WHERE rule_id IN (
  SELECT rule_id FROM alert_rules INDEXED BY alert_rules_fired WHERE enabled = 1 AND cooldown_from > ?1
  UNION ALL
  SELECT rule_id FROM alert_rules INDEXED BY alert_rules_resting
  WHERE is_armed = 0 AND enabled = 1 AND is_over = 0 AND rests_until <= ?1
)`;

/** Rules that told of this hour and were to wait until it has fallen below: without these calls, has it? */
const FALL_BELOW = `WITH ${
  touchedWhere(
    "t.value ->> 0 = 'per_hour_usd' AND EXISTS (SELECT 1 FROM alert_rules r WHERE r.is_over = 1 AND r.scope = t.value ->> 1)",
    { index: "alert_rules_over", flag: "is_over" },
  )
}, spent AS MATERIALIZED (
  SELECT t.scope, ${sure} + ${hourEdge("t.scope", "t.starts")} - t.added AS before FROM touched t
)
UPDATE alert_rules SET is_over = 0, is_armed = enabled AND coalesce(rests_until, 0) <= ?3 FROM spent s
WHERE alert_rules.is_over = 1 AND alert_rules.scope = s.scope AND alert_rules.threshold_nano_usd > s.before`;

const ARMED = (scope: string, type: string) =>
  `alert_rules r INDEXED BY alert_rules_armed WHERE r.is_armed = 1 AND r.scope = ${scope} AND r.threshold_type = ${type}`;

// A rule that may not fire again, for its cooldown or because it was told of this window, is turned down by a trigger.
const FIRE = `WITH ${
  touchedWhere(`EXISTS (SELECT 1 FROM ${ARMED("t.value ->> 1", "t.value ->> 0")})`, {
    index: "alert_rules_armed",
    flag: "is_armed",
  })
},
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
)
INSERT INTO alerts (alert_id, rule_id, rule_name, threshold_type, threshold_nano_usd, severity, value_nano_usd,
  agent_id, session_id, run_id, window, window_start, triggered_at, channels)
SELECT ?4 || lower(hex(randomblob(6))), r.rule_id, r.name, r.threshold_type, r.threshold_nano_usd, r.severity,
  min(s.value, 9223372036854775807), s.agent_id, s.session_id, s.run_id, s.claim,
  CASE s.type
    WHEN 'per_run_usd' THEN (SELECT first_at FROM spend_runs WHERE run_id = s.id)
    WHEN 'per_session_usd' THEN (SELECT first_at FROM spend_sessions WHERE session_id = s.id)
    ELSE s.starts
  END, ?3, ?5
FROM spent s CROSS JOIN alert_rules r INDEXED BY alert_rules_armed
  ON r.is_armed = 1 AND r.scope = s.scope AND r.threshold_type = s.type AND r.threshold_nano_usd <= s.value
RETURNING alert_id`;

/**
 * The statements that decide which rules fire for calls that were booked before them in the same unit, and write
 * the alerts. What firing means (the claim, the rest, the outbox) is the trigger `alerts_fire`. `readFired` understands their results.
 */
export function decideAlerts(
  ctx: Pick<AlertContext, "clock" | "ids" | "outboxChannels" | "rules">,
  calls: readonly ModelCall[],
): Statement[] {
  if (!ctx.rules.mayExist) return [];
  const now = ctx.clock.now();
  const windows = touchedWindows(calls, now);
  const touched = encodeWindows(windows);
  const scopes = JSON.stringify([...new Set(windows.map(({ scope }) => scope))]);
  const channels = encodeChannels(ctx.outboxChannels);
  return [
    { sql: ARM, args: [now] },
    { sql: FALL_BELOW, args: [touched, scopes, now] },
    { sql: FIRE, args: [touched, scopes, now, ctx.ids.next("alert"), channels] },
  ];
}

/**
 * The ids of the alerts that a unit fired, from the results of these statements. A hint, which a connection that broke
 * may lose: the dispatcher looks into the outbox anyway.
 */
export function readFired(results: readonly ResultSet[]): string[] {
  return (results.at(-1)?.rows ?? []).map(([alertId]) => alertId as string);
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
