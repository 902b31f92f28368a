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
import { isAfter, NOT_INDEXED, ORDERED_JOIN } from "../../store/mod.ts";
import { ALL, EACH, SCOPES_OF_SUBJECTS, SINGLE } from "./subject_rules.ts";

/*
 * The firing of rules whose days or months are those of a time zone, or begin on another day. Their windows are rows, and the
 * counters of the days of a zone are advanced once the calls of a unit are decided, so those calls are added. Without a
 * calendar in use, nothing of this reads a rule.
 */

const TYPES = "'per_day_usd', 'per_month_usd'";

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
    `${sumOfKind(days, scope, from, to)} + CASE ${days} WHEN 'day' THEN 0 ELSE ${tail} END`,
  );
}

/** SQL for whether windows of a calendar are in use. */
export const HAS_CALENDARS = "EXISTS (SELECT 1 FROM calendars)";

/**
 * SQL for the windows of calendars that rules measure, as rows of `WINDOW_COLUMNS`; `plain` are SQL for the scopes of the call that is
 * decided, of rules over all calls or an agent.
 */
export function windowsInZones(
  plain: readonly string[],
  isDecided: string,
  isDecidedOfSubjects: string,
): string {
  const ofSubjects =
    `SELECT s.scope, s.shape FROM ${SCOPES_OF_SUBJECTS} AND ${isDecidedOfSubjects} AND ${HAS_CALENDARS}`;
  const ofRules = plain.map((scope) =>
    `SELECT ${scope} AS scope, NULL AS shape WHERE ${isDecided} AND ${HAS_CALENDARS}`
  );
  const kinds = [{ kind: SINGLE, scopes: [...ofRules, ofSubjects] }, { kind: EACH, scopes: [ofSubjects] }];
  const windows = kinds.map(({ kind: { index, matches }, scopes }) =>
    `SELECT r.threshold_type AS type, s.scope, s.shape, r.calendar, ${
      startIn("r.calendar", "NEW.at")
    } AS start,
      ${windowEnd("r.calendar", "''", "NEW.at")} AS "end"
    FROM (SELECT s.scope, s.shape FROM (${scopes.join(" UNION ALL ")}) s ${ALL}) s
    ${ORDERED_JOIN} alert_rules r ${index} ON ${matches("s")} AND r.threshold_type IN (${TYPES})
      AND r.calendar IS NOT NULL AND NEW.at >= ${startIn("r.calendar", "NEW.now")}`
  );
  const window = { calendar: "s.calendar", from: "s.start", to: `s."end"` };
  return `SELECT s.type, s.scope, s.shape, s.calendar, NULL AS amount, ${spentIn("s.scope", window)} AS value,
    CASE WHEN s.shape IS NULL THEN '' ELSE s.scope || '@' END || s.type || ':' || s.start AS claim, s.start
  FROM (${windows.join(" UNION ")}) s`;
}

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
        sumOfKind(daysIn("r.calendar"), "s.scope", startIn("r.calendar", now), "9223372036854775807")
      } + ${more}`,
    )
  })`;
