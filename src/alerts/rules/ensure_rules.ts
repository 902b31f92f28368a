import type { Repeat, Severity, ThresholdType } from "../../contract/values.ts";
import type { RuleInput } from "../../contract/alerts/alert_rules.ts";
import { readInCode } from "../../store/mod.ts";
import { type ChangeContext, newRule, updateRule } from "./change_rules.ts";
import { inputOf, RULES, toAuthoredRule } from "./rule_fields.ts";

/** A rule that a program defines. */
export interface RuleInCode extends RuleInput {
  /** Identifies the rule across restarts. Default: derived from its name. */
  rule_id?: string;
  /** The name in notifications. */
  name: string;
  /** The spend that it measures: of a run or a session, or in the last hour, the day or the month (UTC). */
  threshold_type: ThresholdType;
  /** The threshold in USD, more than 0, at most nine decimals; it fires at or above it. */
  threshold_usd: number;
  /** The severity of its alerts. */
  severity: Severity;
  /** The minimum time between two alerts; default 3600. */
  cooldown_seconds?: number;
  /** `cooldown` (the default): again after each cooldown; `once_per_window`: once per run, session, day or month. */
  repeat?: Repeat;
  /** Measures only this agent's calls; null or not given: all agents. */
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
    const row = newRule(id, { ...toAuthoredRule(input), enabled: false }, ctx.clock.now());
    await ctx.store.write([RULES.insert(row)]);
    await updateRule(ctx, id, inputOf(toAuthoredRule(input)));
  }
}
