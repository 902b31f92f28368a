import { ALL_AGENTS } from "../../ledger/mod.ts";
import { parseUsd } from "../../kernel/money.ts";
import type { SqlValue } from "../../store/mod.ts";
import { type ChangeContext, changeRules } from "./change_rules.ts";
import { getRule } from "./get_rule.ts";
import type { AlertRule } from "../../contract/alerts.ts";
import type { RuleChanges } from "../../contract/rule_input.ts";

// A value that is not given is NULL, and no column is: what is compared with it neither differs nor changes.
const LINE_MOVES = "(threshold_type <> ?2 OR threshold_nano_usd <> ?3 OR repeat <> ?4 OR scope <> ?5)";

const FORGET = `DELETE FROM alert_claims WHERE rule_id = ?1
AND EXISTS (SELECT 1 FROM alert_rules WHERE rule_id = ?1 AND ${LINE_MOVES})`;

// Resting can be for longer than the cooldown, until a day or a month has ended; that is over when the line moves.
const CHANGE = `UPDATE alert_rules
SET threshold_type = coalesce(?2, threshold_type), threshold_nano_usd = coalesce(?3, threshold_nano_usd),
  repeat = coalesce(?4, repeat), scope = coalesce(?5, scope), cooldown_ms = coalesce(?6, cooldown_ms),
  name = coalesce(?7, name), severity = coalesce(?8, severity), enabled = coalesce(?9, enabled), updated_at = ?10,
  is_over = CASE WHEN ${LINE_MOVES} THEN 0 ELSE is_over END,
  rests_until = CASE WHEN cooldown_ms <> ?6 OR ${LINE_MOVES}
    THEN cooldown_from + coalesce(?6, cooldown_ms) ELSE rests_until END
WHERE rule_id = ?1
  AND (${LINE_MOVES} OR cooldown_ms <> ?6 OR name <> ?7 OR severity <> ?8 OR enabled <> ?9)`;

const ARM = `UPDATE alert_rules
SET is_armed = enabled AND NOT is_over AND (rests_until IS NULL OR rests_until <= ?2)
WHERE rule_id = ?1`;

/**
 * Changes the fields that are given, in one unit and without reading before: changes of different fields at one
 * time all hold. A line that moves forgets what it was told of; its cooldown goes on. Enabling fires nothing by
 * itself. Where nothing differs `updated_at` stays. Throws `not_found`.
 */
export async function updateRule(
  ctx: ChangeContext,
  ruleId: string,
  changes: RuleChanges,
): Promise<AlertRule> {
  if (changes.enabled !== false) ctx.rules.mayExist = true;
  const now = ctx.clock.now();
  const { threshold_usd: threshold, agent_id: agentId, cooldown_seconds: cooldown, enabled } = changes;
  const line: SqlValue[] = [
    ruleId,
    changes.threshold_type ?? null,
    threshold === undefined ? null : parseUsd(threshold, "threshold_usd"),
    changes.repeat ?? null,
    agentId === undefined ? null : agentId ?? ALL_AGENTS,
  ];
  const rest: SqlValue[] = [
    cooldown === undefined ? null : cooldown * 1000,
    changes.name ?? null,
    changes.severity ?? null,
    enabled === undefined ? null : Number(enabled),
    now,
  ];
  await changeRules(ctx, [
    { sql: FORGET, args: line },
    { sql: CHANGE, args: [...line, ...rest] },
    { sql: ARM, args: [ruleId, now] },
  ]);
  return await getRule(ctx, ruleId);
}
