import type { Bus } from "../../bus/mod.ts";
import type { AlertRule, RuleChanges, RuleInput } from "../../contract/alerts/alert_rules.ts";
import type { Log } from "../../kernel/log.ts";
import { replaceState, requireThat, type SqlValue, type Statement } from "../../store/mod.ts";
import type { AlertContext } from "../context.ts";
import { advanceCounters, announceAlerts, readFired } from "../firing/decide_alerts.ts";
import { type StoredField, toStored, withDefaults } from "./rule_fields.ts";
import { describeNewRule, getRule, readRule } from "./rules.ts";

/** The context of changing rules. */
export type ChangeContext = AlertContext & { bus: Bus; log: Log };

/** Returns a statement; `write` gets a function that binds a value and returns its placeholder. */
function statement(write: (bind: (value: SqlValue) => string) => string): Statement {
  const args: SqlValue[] = [];
  return { sql: write((value) => `?${args.push(value)}`), args };
}

/** Returns the statement that inserts a rule, unless a rule with its id exists. */
export function insertRule(ruleId: string, input: RuleInput, now: number): Statement {
  const fields = toStored(withDefaults(input));
  const values = [
    ["rule_id", ruleId],
    ...fields.map(({ column, value }) => [column, value] as const),
    ["is_armed", Number(input.enabled ?? true)],
    ["created_at", now],
    ["updated_at", now],
  ] as const;
  return statement((bind) =>
    `INSERT INTO alert_rules (${values.map(([column]) => column).join(", ")})
VALUES (${values.map(([, value]) => bind(value)).join(", ")}) ON CONFLICT (rule_id) DO NOTHING`
  );
}

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
  const ruleId = ctx.ids.next("rule");
  const now = ctx.clock.now();
  const rule = await describeNewRule(ctx, ruleId, input, now);
  await changeRules(ctx, [insertRule(ruleId, input, now), ...settle(rule)]);
  return rule;
}

/** The fields that make up a threshold: once one of them differs, the rule has fired for no window yet. */
const THRESHOLD: readonly (keyof RuleInput)[] = ["threshold_type", "threshold_usd", "repeat", "agent_id"];

/** Returns the statements that change the given fields of a rule. */
function changesOf(ruleId: string, changes: RuleChanges, now: number): Statement[] {
  const fields = toStored(changes);
  if (fields.length === 0) return [];
  const threshold = fields.filter(({ name }) => THRESHOLD.includes(name));
  const cooldown = fields.filter(({ name }) => name === "cooldown_seconds");
  const differs = (some: readonly StoredField[], bind: (value: SqlValue) => string) =>
    some.length === 0
      ? "0"
      : `(${some.map(({ column, value }) => `${column} IS NOT ${bind(value)}`).join(" OR ")})`;
  return [
    statement((bind) =>
      `DELETE FROM alert_claims WHERE rule_id = ${bind(ruleId)}
AND EXISTS (SELECT 1 FROM alert_rules WHERE rule_id = ${bind(ruleId)} AND ${differs(threshold, bind)})`
    ),
    // A rule may rest longer than its cooldown, until a day or a month has ended; a moved threshold ends that.
    statement((bind) =>
      `UPDATE alert_rules SET ${fields.map(({ column, value }) => `${column} = ${bind(value)}`).join(", ")},
  updated_at = ${bind(now)},
  is_over = CASE WHEN ${differs(threshold, bind)} THEN 0 ELSE is_over END,
  rests_until = CASE WHEN ${differs([...cooldown, ...threshold], bind)}
    THEN cooldown_from + ${cooldown[0] ? bind(cooldown[0].value) : "cooldown_ms"} ELSE rests_until END
WHERE rule_id = ${bind(ruleId)} AND ${differs(fields, bind)}`
    ),
  ];
}

const ARM = `UPDATE alert_rules
SET is_armed = enabled AND NOT is_over AND (rests_until IS NULL OR rests_until <= ?2)
WHERE rule_id = ?1`;

/**
 * Changes the given fields, in one unit and without reading before: concurrent changes of different fields all hold. A
 * moved threshold forgets the windows for which the rule fired; its cooldown continues. Enabling fires nothing by itself.
 * If nothing differs, `updated_at` stays. With a check, only the rule that has passed it is changed. Throws `not_found`.
 */
export async function updateRule(
  ctx: ChangeContext,
  ruleId: string,
  changes: RuleChanges,
  check?: RuleCheck,
): Promise<AlertRule> {
  if (changes.enabled !== false) ctx.rules.mayExist = true;
  const now = ctx.clock.now();
  const statements = [...changesOf(ruleId, changes, now), { sql: ARM, args: [ruleId, now] }];
  if (check) await changeChecked(ctx, ruleId, check, statements);
  else await changeRules(ctx, statements);
  return await getRule(ctx, ruleId);
}

/**
 * Removes a rule, with a check only the one that has passed it. Its history stays, and its alerts are still delivered.
 * Throws `not_found`.
 */
export async function removeRule(ctx: ChangeContext, ruleId: string, check?: RuleCheck): Promise<void> {
  const statements = [
    { sql: "DELETE FROM alert_claims WHERE rule_id = ?", args: [ruleId] },
    { sql: "DELETE FROM alert_rules WHERE rule_id = ?", args: [ruleId] },
  ];
  if (check) return await changeChecked(ctx, ruleId, check, statements);
  // Before the write, whose response may be lost: a read within it may see the state after it.
  await readRule(ctx.query, ruleId);
  await changeRules(ctx, statements);
}

/** Checks the rule that a change replaces, and throws to refuse the change. */
export type RuleCheck = (current: AlertRule) => void | Promise<void>;

/** Changes a rule if it has passed a check and its author's fields are still the same. Throws `not_found`. */
async function changeChecked(
  ctx: ChangeContext,
  ruleId: string,
  check: RuleCheck,
  statements: readonly Statement[],
): Promise<void> {
  await replaceState(`alert rule ${ruleId}`, async () => {
    const before = await getRule(ctx, ruleId);
    await check(before);
    const isSame = statement((bind) =>
      `EXISTS (SELECT 1 FROM alert_rules WHERE rule_id = ${bind(ruleId)} AND ${
        toStored(before).map(({ column, value }) => `${column} IS ${bind(value)}`).join(" AND ")
      })`
    );
    await changeRules(ctx, [requireThat(isSame), ...statements]);
  });
}

/**
 * Commits a change of rules. Calls booked before are decided by the rules as they were, also those booked by a process
 * that had read no rule; the alerts they fire are announced.
 */
async function changeRules(ctx: ChangeContext, statements: readonly Statement[]): Promise<void> {
  const pass = advanceCounters(ctx);
  const results = await ctx.store.write([...pass, ...statements]);
  announceAlerts(ctx, readFired(results.slice(0, pass.length)));
}
