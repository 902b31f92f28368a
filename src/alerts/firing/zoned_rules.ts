import {
  amountIn,
  atMost64Bits,
  daysIn,
  DECIDED_POSITION,
  isInScope,
  isShaped,
  startIn,
  sumOfCalls,
  sumOfKind,
  windowEnd,
} from "../../ledger/mod.ts";
import { indexedBy, isAfter, NOT_INDEXED, ORDERED_JOIN, wide } from "../../store/mod.ts";
import { ALL, EACH, SCOPES_OF_SUBJECTS, SINGLE } from "./subject_rules.ts";

/*
 * The firing of rules whose days or months are those of a time zone, or begin on another day. Their windows are rows, and the
 * counters of the days of a zone are advanced once the calls of a unit are decided, so those calls are added. Without a
 * calendar in use, nothing of this reads a rule.
 */

const TYPES = ["per_day_usd", "per_month_usd"] as const;

/** SQL for the spend of a scope in a window of a calendar: its counters, and of a zone the calls after them up to this one. */
function spentIn(
  scope: string,
  { calendar, from, to }: { calendar: string; from: string; to: string },
): string {
  const tail = sumOfCalls(
    `${NOT_INDEXED} WHERE ${isAfter(DECIDED_POSITION, "c.position")} AND c.position <= NEW.position
      AND c.at >= ${from} AND c.at < ${to} AND (${isInScope(scope)} OR ${isShaped("c", scope)})`,
    amountIn(scope, "c"),
  );
  const days = daysIn(calendar);
  return atMost64Bits(
    `${wide(sumOfKind(days, scope, from, to))} + CASE ${days} WHEN 'day' THEN 0 ELSE ${tail} END`,
  );
}

/** SQL for whether windows of a calendar are in use. */
export const HAS_CALENDARS = "EXISTS (SELECT 1 FROM calendars)";

/** The rules over all calls or those of an agent, whose scopes the trigger knows. */
const plain = (scopes: readonly string[]) => ({
  index: indexedBy("alert_rules_armed"),
  scopes: `(${
    scopes.map((scope) => `SELECT ${scope} AS scope, NULL AS shape`).join(" UNION ALL ")
  }) s WHERE true`,
  matches: (type: string) => `r.is_armed = 1 AND r.scope = s.scope AND r.threshold_type = '${type}'`,
  claim: "",
  measured: "NULL",
});
const OF_SUBJECTS = [SINGLE, EACH].map(({ index, matches }) => ({
  ...{ index, matches, scopes: SCOPES_OF_SUBJECTS },
  claim: "s.scope || '@' || ",
  measured: "s.scope",
}));

/** SQL for the alerts of these rules; `scopes` are SQL for those of the call that is decided, of rules over all calls or an agent. */
export const firedInZones = (
  scopes: readonly string[],
  isDecided: string,
  isDecidedOfSubjects: string,
): string[] =>
  [
    { ...plain(scopes), isDecided },
    ...OF_SUBJECTS.map((kind) => ({ ...kind, isDecided: isDecidedOfSubjects })),
  ].flatMap((kind) =>
    TYPES.map((type) => {
      const matches = `${kind.matches(type)} AND r.calendar IS NOT NULL`;
      const windows = `SELECT DISTINCT s.scope, s.shape, r.calendar, ${
        startIn("r.calendar", "NEW.at")
      } AS starts, ${windowEnd("r.calendar", "''", "NEW.at")} AS ends
    FROM (SELECT s.scope, s.shape FROM ${kind.scopes} AND ${kind.isDecided} AND ${HAS_CALENDARS} ${ALL}) s
    ${ORDERED_JOIN} alert_rules r ${kind.index} ON ${matches} AND NEW.at >= ${
        startIn("r.calendar", "NEW.now")
      } ${ALL}`;
      const window = { calendar: "s.calendar", from: "s.starts", to: "s.ends" };
      return `SELECT NEW.alert_prefix || lower(hex(randomblob(6))), r.rule_id, r.name, r.threshold_type,
  r.threshold_nano_usd, r.severity, s.value, NEW.agent_id, NEW.session_id, NEW.run_id,
  ${kind.claim}'${type}:' || s.starts, s.starts, NEW.now, NEW.channels, NEW.position, NEW.key_id, ${kind.measured}, s.calendar
FROM (SELECT s.*, ${spentIn("s.scope", window)} AS value FROM (${windows}) s ${ALL}) s
${ORDERED_JOIN} alert_rules r ${kind.index} ON ${matches} AND r.calendar = s.calendar AND r.threshold_nano_usd <= s.value`;
    })
  );

/** SQL for the end of the window of the calendar of a rule that has fired, or 0 for those of UTC. */
export const zonedEnd = (calendar: string, start: string): string =>
  `coalesce((SELECT min(later.start) FROM window_starts later WHERE later.calendar = ${calendar} AND later.start > ${start}), 0)`;

/**
 * SQL for whether a rule with a calendar may fire, of scopes `source` of an alias `s`, if all calls after the counters cost `more`;
 * `now` is SQL for the time.
 */
export const reachedInZones = (source: string, matches: string, now: string, more: string): string =>
  `${HAS_CALENDARS} AND EXISTS (SELECT 1 FROM ${source} s ${ORDERED_JOIN} alert_rules r
    ON r.enabled = 1 AND r.calendar IS NOT NULL AND ${matches} AND r.threshold_nano_usd <= ${
    atMost64Bits(
      `${
        wide(sumOfKind(daysIn("r.calendar"), "s.scope", startIn("r.calendar", now), "9223372036854775807"))
      } + ${more}`,
    )
  })`;
