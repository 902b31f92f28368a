import { DEFAULT_COOLDOWN_SECONDS } from "../../contract/limits.ts";
import { ALL_AGENTS } from "../../ledger/mod.ts";
import { parseUsd } from "../../kernel/money.ts";
import { type ChangeContext, changeRules } from "./change_rules.ts";
import { withValues } from "./get_rule.ts";
import type { AlertRule } from "../../contract/alerts.ts";
import type { RuleRow } from "./rule.ts";
import type { RuleInput } from "../../contract/rule_input.ts";

const INSERT =
  `INSERT INTO alert_rules (rule_id, name, threshold_type, threshold_nano_usd, severity, cooldown_ms,
  repeat, scope, enabled, is_armed, created_at, updated_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9, ?10, ?10)`;

/**
 * Adds a rule. What was spent before counts, but fires nothing: the next matching cost event does. So the calls before
 * are decided on first, in the same commit.
 */
export async function createRule(
  ctx: ChangeContext,
  input: RuleInput,
): Promise<AlertRule> {
  ctx.rules.mayExist = true;
  const now = ctx.clock.now();
  const enabled = input.enabled ?? true;
  const row: RuleRow = {
    ruleId: ctx.ids.next("rule"),
    name: input.name,
    thresholdType: input.threshold_type,
    thresholdNanoUsd: parseUsd(input.threshold_usd, "threshold_usd"),
    severity: input.severity,
    cooldownMs: (input.cooldown_seconds ?? DEFAULT_COOLDOWN_SECONDS) * 1000,
    repeat: input.repeat ?? "cooldown",
    scope: input.agent_id ?? ALL_AGENTS,
    enabled,
    lastFiredAt: null,
    createdAt: now,
    updatedAt: now,
    isArmed: enabled,
    cooldownFrom: null,
    restsUntil: null,
    isOver: false,
  };
  await changeRules(ctx, [{
    sql: INSERT,
    args: [
      row.ruleId,
      row.name,
      row.thresholdType,
      row.thresholdNanoUsd,
      row.severity,
      row.cooldownMs,
      row.repeat,
      row.scope,
      Number(enabled),
      now,
    ],
  }]);
  return (await withValues(ctx, [row]))[0]!;
}
