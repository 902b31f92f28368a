import { MAX_ALERT_HISTORY } from "../../contract/limits.ts";
import { RULED } from "../../contract/costs/dimensions.ts";
import { startSql, windowSql } from "../../contract/windows.ts";
import {
  ADD_TO_COUNTER,
  ALL_CALLS,
  amountIn,
  atMost64Bits,
  columnOf,
  COST_COLUMNS,
  COUNTED_COLUMNS,
  countedOf,
  countersOf,
  counterSum,
  counterValue,
  isInScope,
  scopeSql,
  sumOfCalls,
} from "../../ledger/mod.ts";
import { indexedBy, type Logic, ORDERED_JOIN, rowTrigger, SKIP_ROW } from "../../store/mod.ts";
import {
  counterClockLogic,
  DECIDE_WINDOW,
  HAS_SUBJECT_RULES,
  hourOf,
  IS_COUNTER_RESTING,
  isOfSubjects,
  REST_COUNTER,
  type SubjectWindow,
  WINDOW_COLUMNS,
  windowsOfSubjects,
} from "./subject_rules.ts";
import { HAS_CALENDARS, windowsInZones, zonedEnd } from "./zoned_rules.ts";

/*
 * The definition of an alert's firing, as triggers: they run in the commit that books the calls, over a remote database
 * too. In the order in which they act:
 *
 * 1. `decide_call` (DECIDE): for each call it advances the counters and inserts an alert for each armed rule whose
 *    window is at or over the threshold. It has nothing to do with `decideCall()` of budgets/decide_call.ts.
 * 2. `alerts_claim` (CLAIM): it drops that alert where the rule's cooldown has not passed or its window has fired.
 * 3. `alerts_fire` (FIRE): it remembers the window, starts the cooldown, and writes the deliveries to the outbox.
 * 4. `alerts_trim` (TRIM): it limits the history.
 *
 * Calls are decided one by one, in the order of their positions, each with the counters as they are after it, exactly as if
 * each had a commit of its own. `tests/harness/decision_model.ts` has the same decisions as plain functions; a property test
 * compares the two.
 *
 * Rules that can't fire cost next to nothing: the index holds only armed ones, and is read from the lowest threshold up
 * to the spend. A rule that has fired rests until its cooldown has passed; then `decide_alerts.ts` arms it again.
 */

/** The columns of a call that are decided on. */
export const DECIDED_COLUMNS = [
  "position",
  "at",
  ...COUNTED_COLUMNS,
  "cost_nano_usd",
  "plan_nano_usd",
  "adjusts",
  "stands",
] as const;

/** SQL for whether an entry is decided: a call, or what a witness adds to the cost of one; in a scope of subjects, to its amount. */
const isDecided = (amount: string) => `(NEW.adjusts IS NULL OR (NEW.stands = NEW.adjusts AND ${amount} > 0))`;
const IS_DECIDED = isDecided("NEW.cost_nano_usd");
const IS_DECIDED_OF_SUBJECTS = isDecided("s.cost_nano_usd");

/** A call to decide, as of a time, and a window of it: views without rows, whose INSERT triggers decide. */
const DECISIONS: readonly Logic[] = Object.entries({
  decisions: "",
  subject_decisions: "",
  window_decisions:
    `, '' AS type, '' AS scope, '' AS shape, '' AS calendar, at AS amount, at AS value, '' AS claim, at AS start`,
}).map(([name, more]) => ({
  name,
  sql: `CREATE VIEW ${name} AS SELECT ${DECIDED_COLUMNS.join(", ")},
  at AS now, '' AS alert_prefix, '' AS channels${more} FROM calls WHERE false`,
}));
const DECISION = [...DECIDED_COLUMNS, "now", "alert_prefix", "channels"];

const BEFORE_OR_AT = "c.position <= NEW.position";

/** A call that is ahead of the clock is decided as of its own time. */
const TIME = "max(NEW.at, NEW.now)";

/** The rolling hour: its minutes, which are an upper bound, and its exact spend. */
const HOUR = {
  ...windowSql("hour", TIME),
  atMost(scope: string): string {
    return counterSum("minute", scope, startSql("minute", this.from), startSql("minute", TIME, 1));
  },
  exactly(scope: string, isIn = isInScope, amount?: string): string {
    const second = startSql("minute", this.from, 1);
    const end = startSql("minute", TIME, 1);
    const calls = (from: string, to: string) =>
      sumOfCalls(
        `${indexedBy("calls_by_time")}
      WHERE c.at >= ${from} AND c.at < ${to} AND ${BEFORE_OR_AT} AND ${isIn(scope)}`,
        amount,
      );
    const minutes = counterSum("minute", scope, second, end);
    return atMost64Bits(`${minutes} - ${calls(this.to, end)} + ${calls(this.from, second)}`);
  },
};

const DAY = windowSql("day", "NEW.at");
const MONTH = windowSql("month", "NEW.at");

const ARMED = (scope: string, type: string) =>
  `alert_rules r ${
    indexedBy("alert_rules_armed")
  } WHERE r.is_armed = 1 AND r.scope = ${scope} AND r.threshold_type = '${type}'`;

/** The window of a threshold type, for one call. */
interface Window {
  type: string;
  /** True if the call is within the present window. */
  isTouched: string;
  /** The spend in it, in nano-USD. */
  value: (scope: string) => string;
  /** The key of the window that a rule with `once_per_window` remembers. */
  claim: string;
  start: string;
}

const WINDOWS: readonly Window[] = [
  {
    type: "per_run_usd",
    isTouched: "NEW.run_id IS NOT NULL",
    value: () => counterValue("run", "NEW.run_id"),
    claim: "'per_run_usd:' || NEW.run_id",
    start: "(SELECT first_at FROM spend_counters WHERE kind = 'run' AND scope = NEW.run_id AND start = 0)",
  },
  {
    type: "per_session_usd",
    isTouched: "NEW.session_id IS NOT NULL",
    value: () => counterValue("session", "NEW.session_id"),
    claim: "'per_session_usd:' || NEW.session_id",
    start:
      "(SELECT first_at FROM spend_counters WHERE kind = 'session' AND scope = NEW.session_id AND start = 0)",
  },
  {
    type: "per_hour_usd",
    isTouched: `NEW.at >= ${HOUR.from}`,
    // Exact only where it decides, since that reads the calls of a minute.
    value: (scope) =>
      `CASE WHEN EXISTS (SELECT 1 FROM ${ARMED(scope, "per_hour_usd")} AND r.threshold_nano_usd <= ${
        HOUR.atMost(scope)
      }) THEN ${HOUR.exactly(scope)} ELSE -1 END`,
    claim: "NULL",
    start: HOUR.from,
  },
  {
    type: "per_day_usd",
    isTouched: `NEW.at >= ${windowSql("day", "NEW.now").from}`,
    value: (scope) => counterValue("day", scope, DAY.from),
    claim: `'per_day_usd:' || ${DAY.from}`,
    start: DAY.from,
  },
  {
    type: "per_month_usd",
    isTouched: `NEW.at >= ${windowSql("month", "NEW.now").from}`,
    value: (scope) => counterSum("day", scope, MONTH.from, MONTH.to),
    claim: `'per_month_usd:' || ${MONTH.from}`,
    start: MONTH.from,
  },
];

/** SQL for the scopes of the rules that measure a call. */
const SCOPES = [`'${ALL_CALLS}'`, ...RULED.map((kind) => scopeSql(kind, columnOf(kind, "NEW")))];

/** The windows of time, for rules of subjects. */
const OF_SUBJECTS: readonly SubjectWindow[] = WINDOWS.filter(({ type }) => !/run|session/.test(type)).map((
  { value, ...window },
) => ({
  ...window,
  value: window.type === "per_hour_usd"
    ? hourOf(HOUR.atMost("s.scope"), HOUR.exactly("s.scope", isOfSubjects, amountIn("s.scope", "c")))
    : value("s.scope"),
}));

/** SQL for the rules of a type that fire; it reads only windows of scopes with an armed rule. */
function fired({ type, isTouched, value, claim, start }: Window): string {
  const scopes = SCOPES.map((scope) =>
    `SELECT ${scope} AS scope WHERE ${IS_DECIDED} AND ${isTouched} AND EXISTS (SELECT 1 FROM ${
      ARMED(scope, type)
    })`
  ).join(" UNION ALL ");
  return `SELECT NEW.alert_prefix || lower(hex(randomblob(6))), r.rule_id, r.name, r.threshold_type,
  r.threshold_nano_usd, r.severity, w.value, ${countedOf("NEW")},
  ${claim}, ${start}, NEW.now, NEW.channels, NEW.position
FROM (SELECT s.scope, ${value("s.scope")} AS value FROM (${scopes}) s LIMIT ${SCOPES.length}) w
${ORDERED_JOIN} alert_rules r ${indexedBy("alert_rules_armed")} ON r.is_armed = 1 AND r.scope = w.scope
  AND r.threshold_type = '${type}' AND r.calendar IS NULL AND r.threshold_nano_usd <= w.value`;
}

const DECIDE = rowTrigger({
  name: "decide_call",
  event: "INSTEAD OF INSERT ON decisions",
  body: `INSERT INTO spend_counters (kind, scope, start, whole_usd, rest_nano_usd, first_at)
  SELECT kind, scope, start, ${COST_COLUMNS}, at FROM (
${countersOf("NEW")}
  ) entries WHERE true ${ADD_TO_COUNTER};
  -- Rules that fired for this hour and wait until it has fallen below: without this call, has it?
  UPDATE alert_rules SET is_over = 0, is_armed = CASE WHEN coalesce(rests_until, 0) <= NEW.now THEN 1 ELSE 0 END
  WHERE is_over = 1 AND enabled = 1 AND scope IN (${SCOPES}) AND ${IS_DECIDED} AND NEW.at >= ${HOUR.from}
    AND threshold_nano_usd > ${HOUR.exactly("alert_rules.scope")} - coalesce(NEW.cost_nano_usd, 0);
  INSERT INTO alerts (alert_id, rule_id, rule_name, threshold_type, threshold_nano_usd, severity, value_nano_usd,
    ${COUNTED_COLUMNS}, "window", window_start, triggered_at, channels, call_position)
  ${WINDOWS.map(fired).join("\n  UNION ALL ")};
  INSERT INTO subject_decisions (${DECISION})
  SELECT ${
    DECISION.map((column) => `NEW.${column}`).join(", ")
  } WHERE ${HAS_SUBJECT_RULES} OR ${HAS_CALENDARS};`,
});

/**
 * Parts of their own, since the work of so many statements costs each call, also where they find no row; and SQLite compiles triggers
 * for each connection that books a call, so that what a call has once is one row for all windows.
 */
const DECIDE_SUBJECTS = rowTrigger({
  name: "decide_subjects",
  event: "INSTEAD OF INSERT ON subject_decisions",
  body: `INSERT INTO window_decisions (${[...DECISION, ...WINDOW_COLUMNS]})
  SELECT ${DECISION.map((column) => `NEW.${column}`)}, ${WINDOW_COLUMNS.map((column) => `w.${column}`)} FROM (
  ${windowsOfSubjects(OF_SUBJECTS, IS_DECIDED_OF_SUBJECTS)}
  UNION ALL ${windowsInZones(SCOPES, IS_DECIDED, IS_DECIDED_OF_SUBJECTS)}) w;`,
});

const DECIDE_WINDOWS = rowTrigger({
  name: "decide_window",
  event: "INSTEAD OF INSERT ON window_decisions",
  body: DECIDE_WINDOW,
});

const CLAIM = rowTrigger({
  name: "alerts_claim",
  // A rule fires only where its cooldown has passed and no claim of this window exists: of a rule that fires once per window, or
  // of an alert that was acknowledged, see `acknowledgeAlert()`. A budget warns once for each
  // window and share of its limit, see `warnOfBudgets()`.
  event: "BEFORE INSERT ON alerts",
  when: `NEW.is_test = 0 AND EXISTS (
  SELECT 1 FROM alert_rules r WHERE r.rule_id = NEW.rule_id AND (
    r.shape IS NULL AND (r.is_over = 1 OR r.cooldown_from + r.cooldown_ms > NEW.triggered_at)
    OR ${IS_COUNTER_RESTING}
    OR EXISTS (SELECT 1 FROM alert_claims c WHERE c.rule_id = r.rule_id AND c."window" = NEW."window"))
) OR NEW.budget_limit_nano_usd IS NOT NULL AND EXISTS (SELECT 1 FROM alert_claims c WHERE c.rule_id = NEW.rule_id
  AND c."window" >= NEW."window" AND c."window" < substr(NEW."window", 1, instr(NEW."window", '#')) || '~')`,
  body: SKIP_ROW,
});

const FIRE = rowTrigger({
  name: "alerts_fire",
  // A rule that fires once a day or month rests until that has ended; less 300 s, since calls may be ahead of the clock.
  // Deliveries are for the channels of the process that booked the call.
  event: "AFTER INSERT ON alerts",
  when: "NEW.is_test = 0",
  body: `INSERT INTO alert_claims (rule_id, "window")
  SELECT rule_id, NEW."window" FROM alert_rules
  WHERE rule_id = NEW.rule_id AND repeat = 'once_per_window' AND NEW."window" IS NOT NULL
  UNION ALL SELECT NEW.rule_id, NEW."window" WHERE NEW.budget_limit_nano_usd IS NOT NULL
  ON CONFLICT DO NOTHING;
  UPDATE alert_rules SET last_fired_at = NEW.triggered_at, cooldown_from = NEW.triggered_at,
    is_over = CASE WHEN shape IS NULL AND repeat = 'once_per_window' AND threshold_type = 'per_hour_usd' THEN 1 ELSE 0 END,
    rests_until = CASE WHEN shape IS NULL THEN max(NEW.triggered_at + cooldown_ms, CASE WHEN repeat = 'cooldown' THEN 0 ELSE
      CASE WHEN calendar IS NOT NULL THEN ${
    zonedEnd("alert_rules.calendar", "NEW.window_start")
  } - 300000 ELSE CASE threshold_type
        WHEN 'per_day_usd' THEN ${windowSql("day", "NEW.window_start").to} - 300000
        WHEN 'per_month_usd' THEN ${windowSql("month", "NEW.window_start").to} - 300000
        ELSE 0
      END END END) END
  WHERE rule_id = NEW.rule_id;
  UPDATE alert_rules SET is_armed = CASE WHEN enabled = 1 AND is_over = 0 AND rests_until <= NEW.triggered_at THEN 1 ELSE 0 END
  WHERE rule_id = NEW.rule_id;
  ${REST_COUNTER}
  INSERT INTO deliveries (delivery_id, subject_id, channel, kind, due_at, created_at)
  SELECT 'dlv_' || substr(NEW.alert_id, 7) || '_' || (CAST(c.key AS BIGINT) + 1), NEW.alert_id, c.value ->> 0, c.value ->> 1,
    NEW.triggered_at, NEW.triggered_at
  FROM json_each(NEW.channels) c
  WHERE CASE NEW.severity WHEN 'info' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END >= CAST(c.value ->> 2 AS BIGINT);
  INSERT INTO tallies (what, name, outcome, count) VALUES ('alert', NEW.severity, '', 1)
  ON CONFLICT (what, name, outcome) DO UPDATE SET count = tallies.count + 1;`,
});

const TRIM = rowTrigger({
  name: "alerts_trim",
  // Keeps the newest alerts, and older ones with pending deliveries: those are deleted when the last is settled. The newest
  // have no gaps in their positions, so the one to delete is known by its position.
  event: "AFTER INSERT ON alerts",
  body: `DELETE FROM alerts WHERE position = NEW.position - ${MAX_ALERT_HISTORY}
    AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.subject_id = alerts.alert_id AND d.status = 'pending');`,
});

/** The triggers that decide calls and fire alerts. */
export const firingLogic: readonly Logic[] = [
  ...DECISIONS,
  ...CLAIM,
  ...FIRE,
  ...TRIM,
  ...counterClockLogic,
  ...DECIDE_WINDOWS,
  ...DECIDE_SUBJECTS,
  ...DECIDE,
];
