import type { Bus } from "../../bus/mod.ts";
import type { AlertRule, RuleChanges, RuleInput } from "../../contract/alerts/alert_rules.ts";
import type { Repeat, RuleThreshold, Severity } from "../../contract/values.ts";
import type { Log } from "../../kernel/log.ts";
import { countersFor, dropCounters, withKnownNames } from "../../budgets/mod.ts";
import type { Calendar } from "../../contract/calendars/zones.ts";
import { DROP_CALENDARS, DROP_SHAPES } from "../../ledger/mod.ts";
import { type Author, type Check, readInCode, type Statement } from "../../store/mod.ts";
import type { AlertContext } from "../context.ts";
import { advanceCounters, announceAlerts, readFired } from "../firing/decide_alerts.ts";
import {
  type AuthoredRule,
  changedInput,
  inputOf,
  type RuleRow,
  RULES,
  toAuthoredRule,
} from "./rule_fields.ts";
import { getRule, type RuleDefinition, toDefinition, withValues } from "./rules.ts";

/** The context of changing rules. Its calendar is that of the windows of rules that name none. */
export type ChangeContext = AlertContext & Parameters<typeof withKnownNames>[0] & Partial<Calendar> & {
  bus: Bus;
  log: Log;
  author: Author;
};

const editOf = ({ author, clock }: ChangeContext) => ({ author, now: clock.now() });

/**
 * Adds a rule. Earlier spend counts, but fires nothing: the next matching cost event does. So the calls before are
 * decided first, in the same commit, to which `settle` may add statements.
 */
export async function createRule(
  ctx: ChangeContext,
  input: RuleInput,
  settle: (rule: AlertRule) => readonly Statement[] = () => [],
): Promise<AlertRule> {
  ctx.rules.mayExist = true;
  const edit = editOf(ctx);
  const row = newRule(ctx.ids.next("rule"), toAuthoredRule(await withKnownNames(ctx, input), ctx), edit.now);
  // The value of a rule of new subjects or windows is that of counters that its unit would add.
  const counted = countersFor(row, edit.now);
  if (counted.length > 0) await ctx.store.write(counted);
  const [rule] = await withValues(ctx, [row], true);
  await changeRules(ctx, [
    ...counted,
    ...RULES.insert(edit, row),
    ...settle(rule!),
  ]);
  return rule!;
}

/** Returns the row of a rule that has not fired yet. */
function newRule(ruleId: string, fields: AuthoredRule, now: number): RuleRow {
  return {
    ruleId,
    ...fields,
    createdAt: now,
    updatedAt: now,
    isArmed: fields.enabled && fields.shape === null,
    isOver: false,
    lastFiredAt: null,
    cooldownFrom: null,
    restsUntil: null,
  };
}

/** The fields that make up a threshold: once one of them differs, the rule has fired for no window yet. */
const THRESHOLD = [
  "thresholdType",
  "thresholdNanoUsd",
  "repeat",
  "scope",
  "each",
  "shape",
  "calendar",
] as const;

const FORGET = "DELETE FROM alert_claims WHERE rule_id = ?";
const FORGET_COUNTERS = "DELETE FROM alert_rule_counters WHERE rule_id = ?";
const END_OVER = "UPDATE alert_rule_counters SET is_over = 0 WHERE rule_id = ?";

// A rule may rest longer than its cooldown, until a day or a month has ended; a moved threshold ends that.
const REST = `UPDATE alert_rules SET is_over = CASE WHEN ?2 = 1 THEN 0 ELSE is_over END,
  rests_until = CASE WHEN shape IS NULL THEN cooldown_from + cooldown_ms END
WHERE rule_id = ?1`;

const ARM = `UPDATE alert_rules
SET is_armed = CASE WHEN enabled = 1 AND shape IS NULL AND is_over = 0 AND (rests_until IS NULL OR rests_until <= ?2) THEN 1 ELSE 0 END
WHERE rule_id = ?1`;

/**
 * Changes the given fields. A moved threshold forgets the windows for which the rule fired; its cooldown continues. Enabling
 * fires nothing by itself. If nothing differs, `updated_at` stays. With a check, only the rule that has passed it is changed.
 * Throws `not_found`.
 */
export async function updateRule(
  ctx: ChangeContext,
  ruleId: string,
  changes: RuleChanges,
  check?: RuleCheck,
): Promise<AlertRule> {
  if (changes.enabled !== false) ctx.rules.mayExist = true;
  await RULES.change(ctx.query, ruleId, ofDefinition(check), async (before, isUnchanged) => {
    const named = await withKnownNames(ctx, changes, before.scope);
    const after = toAuthoredRule(changedInput(before, named));
    const changed = RULES.changed(before, after);
    const isMoved = THRESHOLD.some((field) => changed.has(field));
    const isCountedAnew = changed.has("scope") || changed.has("shape") || changed.has("calendar");
    const edit = editOf(ctx);
    await changeRules(ctx, [
      isUnchanged,
      ...(isMoved ? [{ sql: FORGET, args: [ruleId] }] : []),
      ...(isMoved ? [{ sql: isCountedAnew ? FORGET_COUNTERS : END_OVER, args: [ruleId] }] : []),
      ...(isCountedAnew ? countersFor(after, edit.now) : []),
      ...(changed.size > 0 ? RULES.update(edit, before, after) : []),
      ...(isCountedAnew ? dropCounters(before) : []),
      ...(isMoved || changed.has("cooldownMs") ? [{ sql: REST, args: [ruleId, Number(isMoved)] }] : []),
      { sql: ARM, args: [ruleId, edit.now] },
    ]);
  });
  return await getRule(ctx, ruleId);
}

/**
 * Removes a rule, with a check only the one that has passed it. Its history stays, and its alerts are still delivered.
 * Throws `not_found`.
 */
export async function removeRule(ctx: ChangeContext, ruleId: string, check?: RuleCheck): Promise<void> {
  await RULES.remove(
    ctx.query,
    editOf(ctx),
    ruleId,
    ofDefinition(check),
    (statements) =>
      changeRules(ctx, [
        ...statements,
        ...[FORGET, FORGET_COUNTERS].map((sql) => ({ sql, args: [ruleId] })),
        ...DROP_SHAPES,
        ...DROP_CALENDARS,
      ]),
  );
}

type RuleCheck = Check<RuleDefinition>;

const ofDefinition = (check: RuleCheck | undefined) => check && ((row: RuleRow) => check(toDefinition(row)));

/**
 * Commits a change of rules. Calls booked before are decided by the rules as they were, also those booked by a process
 * that had read no rule; the alerts they fire are announced.
 */
async function changeRules(ctx: ChangeContext, statements: readonly Statement[]): Promise<void> {
  const pass = advanceCounters(ctx);
  const results = await ctx.store.write([...pass, ...statements]);
  announceAlerts(ctx, readFired(results.slice(0, pass.length)));
}

/** Decides the calls booked before, by the rules as they are. */
export const decideBooked = (ctx: ChangeContext): Promise<void> => changeRules(ctx, []);

/** A rule that a program defines. */
export interface RuleInCode extends RuleInput {
  /** Identifies the rule across restarts. Default: derived from its name. */
  rule_id?: string;
  /** The name in notifications. */
  name: string;
  /** The spend that it measures: of a run or a session, or in the last hour, the day or the month (UTC); or a plan's windows. */
  threshold_type: RuleThreshold;
  /** The threshold in USD, more than 0, at most nine decimals; it fires at or above it. Not of `plan_window_pct`. */
  threshold_usd?: number | null;
  /** The threshold of `plan_window_pct` in percent. */
  threshold_pct?: number | null;
  /** The severity of its alerts. */
  severity: Severity;
  /** The minimum time between two alerts; default 3600. */
  cooldown_seconds?: number;
  /** `cooldown` (the default): again after each cooldown; `once_per_window`: once per run, session, day or month. */
  repeat?: Repeat;
  /** Measures only this agent's calls; null or not given: all agents. Likewise the other subjects, of which a call is of all. */
  agent_id?: string | null;
  /** Default true. */
  enabled?: boolean;
}

/**
 * Stores a program's rules like any other: adds new ones, and updates the others to the program's definitions. The
 * windows for which a rule fired and its cooldown stay, so a restart fires nothing twice. Rules that a program no longer
 * defines are left as they are.
 *
 * @throws {PurserError} `invalid`, naming the fault
 */
export async function ensureRules(
  ctx: ChangeContext,
  rules: readonly RuleInCode[],
): Promise<void> {
  if (rules.length > 0) ctx.rules.mayExist = true;
  const { readRuleInput } = await import("../../contract/alerts/alert_rules.ts");
  for (
    const { id, input } of await readInCode(rules, { what: "rule", prefix: "rule", read: readRuleInput })
  ) {
    // Disabled, until the update that follows decides the calls before.
    const edit = editOf(ctx);
    const stored = await RULES.find(ctx.query, id);
    const fields = toAuthoredRule(await withKnownNames(ctx, input, stored?.scope), ctx);
    if (!stored) {
      const row = newRule(id, { ...fields, enabled: false }, edit.now);
      await ctx.store.write([...countersFor(row, edit.now), ...RULES.insert(edit, row)]);
    }
    await updateRule(ctx, id, inputOf(fields));
  }
}
