import { subjectsOfScope } from "../../budgets/mod.ts";
import type { RuleChanges, RuleInput } from "../../contract/alerts/alert_rules.ts";
import { faultsOfSubjects } from "../../contract/budgets/faults_of_subjects.ts";
import { fieldsOf, type Subject, subjectsOf } from "../../contract/budgets/subjects.ts";
import { calendarFault, calendarFieldsOf, calendarFor } from "../../contract/calendars/calendar_input.ts";
import type { Calendar } from "../../contract/calendars/zones.ts";
import { DEFAULT_COOLDOWN_SECONDS } from "../../contract/limits.ts";
import { type BudgetEach, isOfCalls, PLAN_THRESHOLD, type RuleThreshold } from "../../contract/values.ts";
import { periodOf } from "../../contract/windows.ts";
import { invalidField } from "../../kernel/errors.ts";
import { parseUsd, toUsd } from "../../kernel/money.ts";
import { withoutUndefined } from "../../kernel/records.ts";
import { ALL_CALLS, scopeBy, scopeOf, shapeOf } from "../../ledger/mod.ts";
import { defineAuthored, tables } from "../../store/mod.ts";

/* A rule on the wire and in its table. */

export type RuleRow = typeof tables.alertRules.$inferSelect;

const STATE = ["isArmed", "isOver", "lastFiredAt", "cooldownFrom", "restsUntil"] as const;

/** The columns that a rule's author sets. */
export type AuthoredRule = Omit<RuleRow, "ruleId" | "createdAt" | "updatedAt" | typeof STATE[number]>;

/** The statements of rules. */
export const RULES = defineAuthored(tables.alertRules, {
  what: "alert rule",
  kind: "rule",
  id: "ruleId",
  state: STATE,
  show: (row) => inputOf(row),
});

/** Returns whether a rule is over all calls or those of an agent, as rules have been from the start: it needs no shape. */
const isPlain = ([first, ...others]: readonly Subject[]) =>
  first === undefined || first[0] === "agent" && others.length === 0;

/** Returns the scope of the calls that a rule of some subjects measures. */
function scopeFor(subjects: readonly Subject[]): string {
  if (!isPlain(subjects)) return scopeBy(subjects);
  const [first] = subjects;
  return first === undefined ? ALL_CALLS : scopeOf("agent", first[1]!);
}

/** Returns the shape of the counters of a rule that has one for each value of a part, or for each session of certain calls. */
function shapeFor(
  subjects: readonly Subject[],
  { threshold_type: type, each }: Pick<RuleInput, "threshold_type" | "each">,
): string | null {
  const part: BudgetEach | undefined = each ??
    (type === "per_session_usd" && !isPlain(subjects) ? "session" : undefined);
  if (part === undefined || subjects.some(([named]) => named === part)) return null;
  return shapeOf([...subjects.map(([named]) => named), part]);
}

/**
 * Converts a rule that was checked; fields that are not given have their defaults, and the calendar of the server. Percentages are in the column of amounts. Throws
 * `invalid` for the threshold of another type.
 */
export function toAuthoredRule(input: RuleInput, server: Partial<Calendar> = {}): AuthoredRule {
  const { threshold_type: type } = input;
  const per = isOfCalls(type) ? periodOf(type) : "lifetime";
  const zoned = calendarFault({ ...input, per });
  const [fault] = [
    ...faultsOfThreshold(input),
    ...faultsOfRuleSubjects(input),
    ...(zoned ? [{ ...zoned, message: zoned.message.replace(`per ${per}`, input.threshold_type) }] : []),
  ];
  if (fault) {
    const { path, message } = fault;
    throw invalidField(path, message, `Cannot read the alert rule: ${path}: ${message}`);
  }
  const field = type === PLAN_THRESHOLD ? "threshold_pct" : "threshold_usd";
  const [cooldown, repeat] = isOfCalls(type)
    ? [input.cooldown_seconds ?? DEFAULT_COOLDOWN_SECONDS, input.repeat ?? "cooldown"] as const
    : [0, "once_per_window"] as const;
  return {
    name: input.name,
    thresholdType: input.threshold_type,
    thresholdNanoUsd: parseUsd(input[field]!, field),
    severity: input.severity,
    cooldownMs: cooldown * 1000,
    repeat,
    scope: scopeFor(subjectsOf(input)),
    each: input.each ?? null,
    shape: shapeFor(subjectsOf(input), input),
    calendar: calendarFor(per, input, server),
    enabled: input.enabled ?? true,
  };
}

/** Returns what is wrong with the subjects of a rule of its type. */
function faultsOfRuleSubjects(input: RuleInput): { path: string; message: string }[] {
  const { threshold_type: type, each } = input;
  if (isOfCalls(type)) return faultsOfSubjects(input, periodOf(type), "a rule");
  const subjects = subjectsOf(input);
  if (type === PLAN_THRESHOLD ? each == null && isPlain(subjects) : each == null && subjects.length === 0) {
    return [];
  }
  const allowed = type === PLAN_THRESHOLD
    ? "a rule about a plan can name an agent, and no other subject"
    : "a rule about bills is of all of them, and can name no subject";
  return [{ path: "threshold_type", message: allowed }];
}

/** Returns what is wrong with the threshold of a rule of its type. */
function faultsOfThreshold(
  { threshold_type: type, threshold_usd, threshold_pct, repeat, cooldown_seconds }: Partial<RuleInput>,
): { path: string; message: string }[] {
  const isPlan = type === PLAN_THRESHOLD;
  const isOnce = type !== undefined && !isOfCalls(type);
  const about = isPlan
    ? "a rule about a plan fires once per window"
    : "a rule about bills fires once per month";
  const [wanted, other] = isPlan ? ["threshold_pct", "threshold_usd"] : ["threshold_usd", "threshold_pct"];
  const [has, hasOther] = isPlan ? [threshold_pct, threshold_usd] : [threshold_usd, threshold_pct];
  return [
    ...has == null ? [{ path: wanted!, message: `is needed by a rule of the type ${type}` }] : [],
    ...hasOther != null ? [{ path: other!, message: `is not for a rule of the type ${type}` }] : [],
    ...isOnce && repeat === "cooldown" ? [{ path: "repeat", message: about }] : [],
    ...isOnce && (cooldown_seconds ?? 0) > 0
      ? [{ path: "cooldown_seconds", message: `${about}, and has no cooldown` }]
      : [],
  ];
}

const kindOf = (type: RuleThreshold) => isOfCalls(type) ? "calls" : type;

/**
 * Returns the fields of a changed rule. One about plans or bills has another threshold than one about spending, and no cooldown: if
 * it becomes one of another kind, these are those of a new rule.
 */
export function changedInput(before: AuthoredRule, changes: RuleChanges): RuleInput {
  const { threshold_usd, threshold_pct, cooldown_seconds, repeat, ...rest } = inputOf(before);
  const { threshold_type: type = before.thresholdType } = changes;
  const isOther = kindOf(type) !== kindOf(before.thresholdType);
  return {
    ...rest,
    ...!isOther && { threshold_usd, threshold_pct, cooldown_seconds, repeat },
    ...withoutUndefined(changes),
  };
}

/** The fields that a rule's author sets, with their defaults. */
type WholeRule =
  & Required<
    Omit<
      RuleInput,
      "threshold_usd" | "threshold_pct" | "each" | "time_zone" | "month_start_day" | keyof Named
    >
  >
  & { time_zone: string; month_start_day: number }
  & Named
  & { threshold_usd: number | null; threshold_pct?: number; each: BudgetEach | null };
type Named = ReturnType<typeof fieldsOf>;

/** Returns the fields that its author sets in wire form. */
export function inputOf(row: AuthoredRule): WholeRule {
  const threshold = toUsd(row.thresholdNanoUsd);
  const { time_zone, month_start_day } = calendarFieldsOf(row.calendar);
  return {
    name: row.name,
    threshold_type: row.thresholdType,
    ...row.thresholdType === PLAN_THRESHOLD
      ? { threshold_usd: null, threshold_pct: threshold }
      : { threshold_usd: threshold },
    severity: row.severity,
    cooldown_seconds: row.cooldownMs / 1000,
    repeat: row.repeat,
    ...fieldsOf(subjectsOfScope(row.scope)),
    each: row.each,
    time_zone,
    month_start_day,
    enabled: row.enabled,
  };
}
