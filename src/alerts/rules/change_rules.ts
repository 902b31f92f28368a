import type { Bus } from "../../bus/mod.ts";
import type { AlertRule, RuleChanges, RuleInput } from "../../contract/alert_rules.ts";
import { DEFAULT_COOLDOWN_SECONDS } from "../../contract/limits.ts";
import type { Log } from "../../kernel/log.ts";
import { parseUsd } from "../../kernel/money.ts";
import { ALL_AGENTS } from "../../ledger/mod.ts";
import type { SqlValue, Statement } from "../../store/mod.ts";
import type { AlertContext } from "../context.ts";
import { advanceCounters, announceAlerts, readFired } from "../firing/decide_alerts.ts";
import { getRule, readRule, type RuleRow, withValues } from "./rules.ts";

/** The context of changing rules. */
export type ChangeContext = AlertContext & { bus: Bus; log: Log };

const INSERT =
  `INSERT INTO alert_rules (rule_id, name, threshold_type, threshold_nano_usd, severity, cooldown_ms,
  repeat, scope, enabled, is_armed, created_at, updated_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9, ?10, ?10)`;

/**
 * Adds a rule. Earlier spend counts, but fires nothing: the next matching cost event does. So the calls before are
 * decided first, in the same commit.
 */
export async function createRule(ctx: ChangeContext, input: RuleInput): Promise<AlertRule> {
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

// A value that is not given is NULL, and no column is: a comparison with it is never true.
const THRESHOLD_MOVES = "(threshold_type <> ?2 OR threshold_nano_usd <> ?3 OR repeat <> ?4 OR scope <> ?5)";

const FORGET = `DELETE FROM alert_claims WHERE rule_id = ?1
AND EXISTS (SELECT 1 FROM alert_rules WHERE rule_id = ?1 AND ${THRESHOLD_MOVES})`;

// A rule may rest longer than its cooldown, until a day or a month has ended; a moved threshold ends that.
const CHANGE = `UPDATE alert_rules
SET threshold_type = coalesce(?2, threshold_type), threshold_nano_usd = coalesce(?3, threshold_nano_usd),
  repeat = coalesce(?4, repeat), scope = coalesce(?5, scope), cooldown_ms = coalesce(?6, cooldown_ms),
  name = coalesce(?7, name), severity = coalesce(?8, severity), enabled = coalesce(?9, enabled), updated_at = ?10,
  is_over = CASE WHEN ${THRESHOLD_MOVES} THEN 0 ELSE is_over END,
  rests_until = CASE WHEN cooldown_ms <> ?6 OR ${THRESHOLD_MOVES}
    THEN cooldown_from + coalesce(?6, cooldown_ms) ELSE rests_until END
WHERE rule_id = ?1
  AND (${THRESHOLD_MOVES} OR cooldown_ms <> ?6 OR name <> ?7 OR severity <> ?8 OR enabled <> ?9)`;

const ARM = `UPDATE alert_rules
SET is_armed = enabled AND NOT is_over AND (rests_until IS NULL OR rests_until <= ?2)
WHERE rule_id = ?1`;

/**
 * Changes the given fields, in one unit and without reading before: concurrent changes of different fields all hold. A
 * moved threshold forgets the windows for which the rule fired; its cooldown continues. Enabling fires nothing by itself.
 * If nothing differs, `updated_at` stays. Throws `not_found`.
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

/** Removes a rule. Its history stays, and its alerts are still delivered. Throws `not_found`. */
export async function removeRule(ctx: ChangeContext, ruleId: string): Promise<void> {
  // Before the write, whose response may be lost: a read within it may see the state after it.
  await readRule(ctx.query, ruleId);
  await changeRules(ctx, [
    { sql: "DELETE FROM alert_claims WHERE rule_id = ?", args: [ruleId] },
    { sql: "DELETE FROM alert_rules WHERE rule_id = ?", args: [ruleId] },
  ]);
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
