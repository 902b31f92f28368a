import { MINUTE_MS } from "../../kernel/clock.ts";
import { RULED } from "../../contract/costs/dimensions.ts";
import type { ThresholdType } from "../../contract/values.ts";
import { ROLLING_MS, startSql, windowSql } from "../../contract/windows.ts";
import {
  ALL_CALLS,
  atMost64Bits,
  columnOf,
  counterSum,
  counterValue,
  HAS_ENABLED_RULES,
  IS_UNDECIDED,
  markQuiet,
  scopeSql,
  sumOfAmounts,
  UNDECIDED,
} from "../../ledger/mod.ts";
import { reachedInZones } from "./zoned_rules.ts";
import { indexedBy, ORDERED_JOIN, type Statement } from "../../store/mod.ts";

/*
 * The calls of a set fire no rule, whatever their order, if no window reaches a threshold even with all that they cost together.
 * That is nearly always so, and then they are counted at once instead of one by one.
 */

/** SQL for whether an armed rule of a type has a threshold that a spend reaches, together with the calls `t`. */
const canReach = (type: string, value: string) =>
  `EXISTS (SELECT 1 FROM alert_rules r ${indexedBy("alert_rules_armed")}
    WHERE r.is_armed = 1 AND r.scope = s.scope AND r.threshold_type = '${type}')
  AND EXISTS (SELECT 1 FROM alert_rules r ${indexedBy("alert_rules_armed")}
    WHERE r.is_armed = 1 AND r.scope = s.scope AND r.threshold_type = '${type}'
      AND r.threshold_nano_usd <= ${atMost64Bits(`${value} + (SELECT more FROM n)`)})`;

const NOW = "(SELECT now FROM n)";
const MONTH = windowSql("month", NOW);
const FIRST_MINUTE = startSql("minute", `${NOW} - ${ROLLING_MS - 1}`);

const inTime = (type: string, value: string) => `EXISTS (SELECT 1 FROM s WHERE ${canReach(type, value)})`;
const ofEntity = (kind: "run" | "session") =>
  `EXISTS (SELECT 1 FROM (SELECT DISTINCT scope, ${columnOf(kind, "e")} AS id FROM e) s
    WHERE s.id IS NOT NULL AND ${canReach(`per_${kind}_usd`, counterValue(kind, "s.id"))})`;

/** SQL for what the windows of time hold of a scope `s`. */
const SPENT = {
  per_hour_usd: counterSum("minute", "s.scope", FIRST_MINUTE, `${NOW} + ${MINUTE_MS}`),
  per_day_usd: counterValue("day", "s.scope", startSql("day", NOW)),
  per_month_usd: counterSum("day", "s.scope", MONTH.from, MONTH.to),
};

/** SQL for whether a rule of a type may fire. */
const REACHED: Record<ThresholdType, string> = {
  per_run_usd: ofEntity("run"),
  per_session_usd: ofEntity("session"),
  per_hour_usd: inTime("per_hour_usd", SPENT.per_hour_usd),
  per_day_usd: inTime("per_day_usd", SPENT.per_day_usd),
  per_month_usd: inTime("per_month_usd", SPENT.per_month_usd),
};

/** SQL for whether a rule of subjects may fire, of which some that don't measure the calls are tried too. */
const REACHED_BY_SUBJECTS = Object.entries({
  ...SPENT,
  per_session_usd: counterValue("lifetime", "s.scope"),
}).flatMap(([type, value]) =>
  [
    ["alert_rules_armed", "r.is_armed = 1 AND r.scope = s.scope"],
    ["alert_rules_each", "r.enabled = 1 AND r.shape IS NOT NULL AND r.shape = s.shape"],
  ].map(([index, matches]) =>
    `EXISTS (SELECT 1 FROM g s ${ORDERED_JOIN} alert_rules r ${indexedBy(index!)}
      ON ${matches} AND r.threshold_type = '${type}'
        AND r.threshold_nano_usd <= ${atMost64Bits(`${value} + (SELECT more FROM n)`)})`
  )
);

const IS_COUNTER_OVER = `EXISTS (SELECT 1 FROM alert_rule_counters c ${
  indexedBy("alert_rule_counters_over")
} WHERE c.is_over = 1 AND c.scope IN (SELECT scope FROM g))`;

const REASONS = [
  `EXISTS (SELECT 1 FROM t WHERE t.at > ${NOW})`, // its windows are those of its own time
  `EXISTS (SELECT 1 FROM alert_rules r ${
    indexedBy("alert_rules_over")
  } WHERE r.is_over = 1 AND r.scope IN (SELECT scope FROM s UNION ALL SELECT scope FROM g))`,
  ...Object.values(REACHED),
  `EXISTS (SELECT 1 FROM g) AND (${[IS_COUNTER_OVER, ...REACHED_BY_SUBJECTS].join("\n  OR ")})`,
  reachedInZones("s", "r.scope = s.scope", NOW, "(SELECT more FROM n)"),
  reachedInZones("g", "(r.scope = s.scope OR r.shape = s.shape)", NOW, "(SELECT more FROM n)"),
];

const COLUMNS = [...RULED, "session" as const, "run" as const].map((kind) => columnOf(kind, "c"));

const ENTRIES = [`'${ALL_CALLS}'`, ...RULED.map((kind) => scopeSql(kind, columnOf(kind, "t")))]
  .map((scope) => `SELECT ${scope} AS scope, t.run_id, t.session_id FROM t`).join(" UNION ALL ");

/** Returns the statement that marks the calls after the counters if they can fire no rule; `time` is SQL for that of the pass. */
export const markQuietCalls = (time: string, now: number): Statement => ({
  sql: markQuiet(`${HAS_ENABLED_RULES} AND (WITH t AS MATERIALIZED (
  SELECT c.at, ${COLUMNS.join(", ")}, c.cost_nano_usd, c.plan_nano_usd ${UNDECIDED}
), e AS MATERIALIZED (${ENTRIES}), s AS MATERIALIZED (SELECT DISTINCT scope FROM e WHERE scope IS NOT NULL),
g AS MATERIALIZED (SELECT DISTINCT c.shape, c.scope FROM call_scopes c WHERE c.scope IS NOT NULL AND ${IS_UNDECIDED}),
n AS MATERIALIZED (SELECT ${time} AS now, (SELECT ${
    atMost64Bits(
      `${sumOfAmounts("max(t.cost_nano_usd, 0)")} + ${sumOfAmounts("max(t.plan_nano_usd, 0)")}`,
    )
  } FROM t) AS more)
SELECT CASE WHEN ${REASONS.join("\n  OR ")} THEN 0 ELSE 1 END) = 1`),
  args: [now],
});
