import { DEFAULT_COOLDOWN_SECONDS } from "../../contract/limits.ts";
import { toHex } from "../../kernel/text.ts";
import { PurserError } from "../../kernel/errors.ts";
import type { RuleInput } from "../../contract/alert_rules.ts";
import { type ChangeContext, updateRule } from "./change_rules.ts";

/** A rule that a program defines. */
export type RuleInCode = RuleInput & {
  /** Identifies the rule across restarts. Default: derived from its name. */
  rule_id?: string;
};

/** Inserts a disabled rule; the update that follows sets its fields. */
const INSERT_NEW =
  `INSERT OR IGNORE INTO alert_rules (rule_id, name, threshold_type, threshold_nano_usd, severity,
  cooldown_ms, repeat, scope, enabled, is_armed, created_at, updated_at)
VALUES (?1, ?2, ?3, 1, ?4, 0, 'cooldown', '', 0, 0, ?5, ?5)`;

const RULE_ID = /^rule_[A-Za-z0-9_-]{1,64}$/;

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
  const { readRuleInput } = await import("../../contract/alert_rules.ts");
  const seen = new Set<string>();
  for (const { rule_id, ...input } of rules) {
    const rule = readRuleInput(input);
    const ruleId = rule_id ?? await idOf(rule.name);
    if (!RULE_ID.test(ruleId)) {
      throw new PurserError(
        "invalid",
        `Cannot use rule id ${JSON.stringify(ruleId)}: it has to look like rule_daily`,
      );
    }
    if (seen.has(ruleId)) {
      throw new PurserError("invalid", `Cannot use two rules named ${rule.name}: give them a rule_id each`);
    }
    seen.add(ruleId);
    await ctx.store.write([{
      sql: INSERT_NEW,
      args: [ruleId, rule.name, rule.threshold_type, rule.severity, ctx.clock.now()],
    }]);
    const {
      cooldown_seconds = DEFAULT_COOLDOWN_SECONDS,
      repeat = "cooldown",
      agent_id = null,
      enabled = true,
    } = rule;
    await updateRule(ctx, ruleId, { ...rule, cooldown_seconds, repeat, agent_id, enabled });
  }
}

/** Derives the same id from a name in every process. */
async function idOf(name: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(name));
  return `rule_${toHex(new Uint8Array(digest)).slice(0, 26)}`;
}
