import { BY, counterValue, isShaped } from "../../ledger/mod.ts";
import { indexedBy, type Logic, ORDERED_JOIN, rowTrigger } from "../../store/mod.ts";

/*
 * The firing of rules of subjects other than agents: their scopes are `by SHAPE VALUE …`, and the view `call_scopes` has those of a
 * call. Such a rule has one counter, and is armed as any other is; or one for each value of a part of a call, by its shape. Then
 * each counter has its own cooldown, in `alert_rule_counters`, and the rule itself is never armed. Without
 * such a rule, all of this is left out.
 */

/** The window of a threshold type, for one call, as of rules in general. */
export interface SubjectWindow {
  type: string;
  isTouched: string;
  /** SQL for the spend in it, or for more than that, in nano-USD; and for the exact spend where that is dear to read. */
  atMost: (scope: string) => string;
  exactly?: (scope: string) => string;
  claim: string;
  start: string;
}

/** Without an end, so that SQLite computes the rows of a subquery once. */
export const ALL = "LIMIT 9223372036854775807";

/** SQL for the scopes of the call that is decided. */
export const SCOPES_OF_SUBJECTS = "call_scopes s WHERE s.position = NEW.position AND s.scope IS NOT NULL";
const SCOPES = `FROM ${SCOPES_OF_SUBJECTS}`;

/** SQL for whether an entry `c` of the ledger is in the scope of subjects. */
export const isOfSubjects = (scope: string) => isShaped("c", scope);

/** The rules with one counter `s`, and those with one for each value. */
export const SINGLE = {
  index: indexedBy("alert_rules_armed"),
  // The first condition is that of the index, the range the one of scopes by a shape.
  exists: `r.is_armed = 1 AND r.scope >= '${BY} ' AND r.scope < '${BY}!'`,
  matches: (type: string) => `r.is_armed = 1 AND r.scope = s.scope AND r.threshold_type = '${type}'`,
};
export const EACH = {
  index: indexedBy("alert_rules_each"),
  exists: "r.enabled = 1 AND r.shape IS NOT NULL",
  matches: (type: string) =>
    `r.enabled = 1 AND r.shape IS NOT NULL AND r.shape = s.shape AND r.threshold_type = '${type}'
  AND (r.scope IN ('', NEW.agent_id) OR EXISTS (SELECT 1 FROM call_scopes o
    WHERE o.position = NEW.position AND o.scope = r.scope))
  AND (r.each IS NULL OR NOT EXISTS (SELECT 1 FROM alert_rules o ${indexedBy("alert_rules_named")}
    WHERE o.enabled = 1 AND o.shape IS NULL AND o.threshold_type = r.threshold_type
      AND o.scope = CASE s.shape WHEN 'agent' THEN NEW.agent_id ELSE s.scope END))`,
};

/** SQL for whether there is such a rule. */
export const HAS_SUBJECT_RULES = `(EXISTS (SELECT 1 FROM alert_rules r ${SINGLE.index} WHERE ${SINGLE.exists})
  OR EXISTS (SELECT 1 FROM alert_rules r ${EACH.index} WHERE ${EACH.exists})
  OR EXISTS (SELECT 1 FROM alert_rules r ${
  indexedBy("alert_rules_over")
} WHERE r.is_over = 1 AND r.scope >= '${BY} ' AND r.scope < '${BY}!'))`;

/** SQL for the rules of a kind and window that fire. */
function firedBy(
  { index, exists, matches }: typeof SINGLE,
  { type, isTouched, atMost, exactly, claim, start }: SubjectWindow,
  isDecided: string,
): string {
  const spent = `SELECT s.scope, s.shape, ${
    atMost("s.scope")
  } AS value ${SCOPES} AND ${isDecided} AND ${isTouched}
    AND EXISTS (SELECT 1 FROM alert_rules r ${index} WHERE ${exists}) ${ALL}`;
  const candidates = exactly === undefined ? spent : `SELECT s.scope, s.shape, CASE WHEN EXISTS (
      SELECT 1 FROM alert_rules r ${index} WHERE ${matches(type)} AND r.threshold_nano_usd <= s.value
    ) THEN ${exactly("s.scope")} ELSE -1 END AS value FROM (${spent}) s ${ALL}`;
  return `SELECT NEW.alert_prefix || lower(hex(randomblob(6))), r.rule_id, r.name, r.threshold_type,
  r.threshold_nano_usd, r.severity, s.value, NEW.agent_id, NEW.session_id, NEW.run_id,
  s.scope || '@' || ${claim}, ${start}, NEW.now, NEW.channels, NEW.position, NEW.key_id, s.scope, NULL
FROM (${candidates}) s
${ORDERED_JOIN} alert_rules r ${index} ON ${
    matches(type)
  } AND r.calendar IS NULL AND r.threshold_nano_usd <= s.value`;
}

/** The window of a rule per session: all calls of a session that are of the subjects. */
const SESSION: SubjectWindow = {
  type: "per_session_usd",
  isTouched: "NEW.session_id IS NOT NULL",
  atMost: (scope) => counterValue("lifetime", scope),
  claim: "'per_session_usd'",
  start:
    "(SELECT f.first_at FROM spend_counters f WHERE f.kind = 'lifetime' AND f.scope = s.scope AND f.start = 0)",
};

/** SQL for the alerts of these rules, for the windows of time and that of a session. */
export const firedOfSubjects = (windows: readonly SubjectWindow[], isDecided: string): string[] =>
  [SESSION, ...windows].flatMap((window) => [SINGLE, EACH].map((kind) => firedBy(kind, window, isDecided)));

/**
 * SQL for the rules that fired for the rolling hour and wait until it has fallen below: those for which it has, without the call that is
 * decided. `spent` is SQL for the exact spend of the hour.
 */
export const endOver = (spent: (scope: string) => string, condition: string): string =>
  `UPDATE alert_rules SET is_over = 0, is_armed = CASE WHEN coalesce(rests_until, 0) <= NEW.now THEN 1 ELSE 0 END
  WHERE is_over = 1 AND enabled = 1 AND scope IN (SELECT s.scope ${SCOPES}) AND ${condition}
    AND threshold_nano_usd > ${spent("alert_rules.scope")};
  UPDATE alert_rule_counters SET is_over = 0
  WHERE is_over = 1 AND scope IN (SELECT s.scope ${SCOPES}) AND ${condition}
    AND EXISTS (SELECT 1 FROM alert_rules r WHERE r.rule_id = alert_rule_counters.rule_id AND r.enabled = 1
      AND r.threshold_nano_usd > ${spent("alert_rule_counters.scope")});`;

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
