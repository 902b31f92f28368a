import { BY, COUNTED_COLUMNS, countedOf, counterValue, isShaped } from "../../ledger/mod.ts";
import { indexedBy, type Logic, ORDERED_JOIN, rowTrigger } from "../../store/mod.ts";

/*
 * The firing of rules of subjects other than agents: their scopes are `by SHAPE VALUE …`, and the view `call_scopes` has those of a
 * call. Such a rule has one counter, and is armed as any other is; or one for each value of a part of a call, by its shape. Then
 * each counter has its own cooldown, in `alert_rule_counters`, and the rule itself is never armed. Without
 * such a rule, all of this is left out.
 */

/** The window of a threshold type, for one call. */
export interface SubjectWindow {
  type: string;
  isTouched: string;
  /** SQL for the spend in it, in nano-USD, of a scope `s` that a rule measures. */
  value: string;
  claim: string;
  start: string;
}

/** Without an end, so that SQLite computes the rows of a subquery once. */
export const ALL = "LIMIT 9223372036854775807";

/** SQL for the scopes of the call that is decided. */
export const SCOPES_OF_SUBJECTS = "call_scopes s WHERE s.position = NEW.position AND s.scope IS NOT NULL";

/** SQL for whether an entry `c` of the ledger is in the scope of subjects. */
export const isOfSubjects = (scope: string) => isShaped("c", scope);

/** The rules with one counter, and those with one for each value, of a scope and its shape. */
export const SINGLE = {
  index: indexedBy("alert_rules_armed"),
  // The first condition is that of the index, the range the one of scopes by a shape.
  exists: `r.is_armed = 1 AND r.scope >= '${BY} ' AND r.scope < '${BY}!'`,
  matches: (of: string) => `r.is_armed = 1 AND r.scope = ${of}.scope`,
};
export const EACH = {
  index: indexedBy("alert_rules_each"),
  exists: "r.enabled = 1 AND r.shape IS NOT NULL",
  matches: (of: string) => `r.enabled = 1 AND r.shape IS NOT NULL AND r.shape = ${of}.shape`,
};
const KINDS = [SINGLE, EACH];

/** SQL for whether a rule with one counter for each value measures the call in a window: it has no rule of its own. */
const MEASURES_EACH = `(r.scope IN ('', NEW.agent_id) OR EXISTS (SELECT 1 FROM call_scopes o
    WHERE o.position = NEW.position AND o.scope = r.scope))
  AND (r.each IS NULL OR NOT EXISTS (SELECT 1 FROM alert_rules o ${indexedBy("alert_rules_named")}
    WHERE o.enabled = 1 AND o.shape IS NULL AND o.threshold_type = r.threshold_type
      AND o.scope = CASE NEW.shape WHEN 'agent' THEN NEW.agent_id ELSE NEW.scope END))`;

const anyRule = (index: string, condition: string) =>
  `EXISTS (SELECT 1 FROM alert_rules r ${indexedBy(index)} WHERE ${condition})`;

/** SQL for whether there is such a rule. */
export const HAS_SUBJECT_RULES = `(${anyRule("alert_rules_armed", SINGLE.exists)}
  OR ${anyRule("alert_rules_each", EACH.exists)}
  OR ${anyRule("alert_rules_over", `r.is_over = 1 AND r.scope >= '${BY} ' AND r.scope < '${BY}!'`)})`;

/** SQL for whether a rule for the rolling hour, or a counter of one, has fired for a scope `s` and waits until that has fallen below. */
const IS_OVER = `(${anyRule("alert_rules_over", "r.is_over = 1 AND r.scope = s.scope")}
    OR EXISTS (SELECT 1 FROM alert_rule_counters o ${indexedBy("alert_rule_counters_over")}
      WHERE o.is_over = 1 AND o.scope = s.scope))`;

const ofType = ({ matches }: typeof SINGLE, type: string) =>
  `${matches("s")} AND r.threshold_type = ${type} AND r.calendar IS NULL`;

/** SQL for the spend of the hour of a scope `s`: where no rule can have reached it, that is never read exactly, and -1. */
export const hourOf = (atMost: string, exactly: string): string =>
  `CASE WHEN ${IS_OVER} OR ${atMost} >= min(${
    KINDS.map((kind) =>
      `coalesce((SELECT min(r.threshold_nano_usd) FROM alert_rules r ${kind.index} WHERE ${
        ofType(kind, "'per_hour_usd'")
      }), 9223372036854775807)`
    )
  }) THEN ${exactly} ELSE -1 END`;

/** The window of a rule per session: all calls of a session that are of the subjects. */
const SESSION: SubjectWindow = {
  type: "per_session_usd",
  isTouched: "NEW.session_id IS NOT NULL",
  value: counterValue("lifetime", "s.scope"),
  claim: "'per_session_usd'",
  start:
    "(SELECT f.first_at FROM spend_counters f WHERE f.kind = 'lifetime' AND f.scope = s.scope AND f.start = 0)",
};

/** SQL for the windows of the call that such rules measure, those of time and that of a session, as rows of `WINDOW_COLUMNS`. */
export function windowsOfSubjects(ofTime: readonly SubjectWindow[], isDecided: string): string {
  const windows = [SESSION, ...ofTime];
  const byType = (column: "value" | "claim" | "start") =>
    `CASE t.type ${windows.map((one) => `WHEN '${one.type}' THEN ${one[column]}`).join(" ")} END`;
  const touched = windows.map(({ type, isTouched }) => `SELECT '${type}' AS type WHERE ${isTouched}`);
  return `SELECT t.type, s.scope, s.shape, NULL AS calendar, s.cost_nano_usd AS amount, ${
    byType("value")
  } AS value,
    s.scope || '@' || ${byType("claim")} AS claim, ${byType("start")} AS start
  FROM (SELECT s.scope, s.shape, s.cost_nano_usd FROM ${SCOPES_OF_SUBJECTS} AND ${isDecided} ${ALL}) s
  ${ORDERED_JOIN} (${touched.join(" UNION ALL ")}) t ON ${
    KINDS.map((kind) => `EXISTS (SELECT 1 FROM alert_rules r ${kind.index} WHERE ${ofType(kind, "t.type")})`)
      .join(" OR ")
  } OR t.type = 'per_hour_usd' AND ${IS_OVER}`;
}

/** The columns of a window of the call besides those of the call itself. */
export const WINDOW_COLUMNS = ["type", "scope", "shape", "calendar", "amount", "value", "claim", "start"];

/** SQL for the rules that fire for a window of the call. */
const FIRED = [[SINGLE, "true"] as const, [EACH, MEASURES_EACH] as const].map((
  [{ index, matches }, measures],
) =>
  `SELECT NEW.alert_prefix || lower(hex(randomblob(6))), r.rule_id, r.name, r.threshold_type, r.threshold_nano_usd, r.severity,
    NEW.value, ${countedOf("NEW")}, NEW.claim, NEW.start, NEW.now, NEW.channels, NEW.position,
    CASE WHEN NEW.shape IS NULL THEN NULL ELSE NEW.scope END, NEW.calendar
  FROM alert_rules r ${index} WHERE ${matches("NEW")} AND r.threshold_type = NEW.type
    AND r.calendar IS NOT DISTINCT FROM NEW.calendar AND r.threshold_nano_usd <= NEW.value AND ${measures}`
);

/**
 * SQL that decides a window of the call: it ends the wait of the rules for the rolling hour that fired and are below again without this
 * call, and fires those whose threshold is reached.
 */
export const DECIDE_WINDOW = `UPDATE alert_rules SET is_over = 0,
    is_armed = CASE WHEN coalesce(rests_until, 0) <= NEW.now THEN 1 ELSE 0 END
  WHERE is_over = 1 AND enabled = 1 AND scope = NEW.scope AND NEW.type = 'per_hour_usd'
    AND threshold_nano_usd > NEW.value - coalesce(NEW.amount, 0);
  UPDATE alert_rule_counters SET is_over = 0
  WHERE is_over = 1 AND scope = NEW.scope AND NEW.type = 'per_hour_usd'
    AND EXISTS (SELECT 1 FROM alert_rules r WHERE r.rule_id = alert_rule_counters.rule_id AND r.enabled = 1
      AND r.threshold_nano_usd > NEW.value - coalesce(NEW.amount, 0));
  INSERT INTO alerts (alert_id, rule_id, rule_name, threshold_type, threshold_nano_usd, severity, value_nano_usd,
    ${COUNTED_COLUMNS}, "window", window_start, triggered_at, channels, call_position, scope, calendar)
  ${FIRED.join("\n  UNION ALL ")};`;

/** SQL for whether the counter of a rule `r` with many has fired, and its cooldown has not passed. */
export const IS_COUNTER_RESTING = `r.shape IS NOT NULL AND EXISTS (SELECT 1 FROM alert_rule_counters c
  WHERE c.rule_id = r.rule_id AND c.scope = NEW.scope
    AND (c.is_over = 1 OR c.cooldown_from + r.cooldown_ms > NEW.triggered_at))`;

/** SQL that starts the cooldown of the counter that fired. */
export const REST_COUNTER = `INSERT INTO alert_rule_counters (rule_id, scope, cooldown_from, is_over)
  SELECT rule_id, NEW.scope, NEW.triggered_at,
    CASE WHEN repeat = 'once_per_window' AND threshold_type = 'per_hour_usd' THEN 1 ELSE 0 END
  FROM alert_rules WHERE rule_id = NEW.rule_id AND shape IS NOT NULL
  ON CONFLICT (rule_id, scope) DO UPDATE SET cooldown_from = excluded.cooldown_from, is_over = excluded.is_over;`;

/** After a clock was set back, a counter that fired in the future counts as fired now, as its rule does. */
export const counterClockLogic: readonly Logic[] = rowTrigger({
  name: "alert_rules_noticed",
  event: "AFTER UPDATE ON alert_rules",
  when: "OLD.cooldown_from > NEW.cooldown_from AND NEW.shape IS NOT NULL",
  body: `UPDATE alert_rule_counters SET cooldown_from = NEW.cooldown_from
  WHERE rule_id = NEW.rule_id AND cooldown_from > NEW.cooldown_from;`,
});
