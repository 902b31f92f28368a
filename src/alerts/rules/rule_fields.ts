import type { RuleInput } from "../../contract/alerts/alert_rules.ts";
import { DEFAULT_COOLDOWN_SECONDS } from "../../contract/limits.ts";
import { parseUsd, toUsd } from "../../kernel/money.ts";
import { ALL_CALLS } from "../../ledger/mod.ts";
import { defineAuthored, tables } from "../../store/mod.ts";

/* A rule on the wire and in its table. */

export type RuleRow = typeof tables.alertRules.$inferSelect;

const STATE = ["isArmed", "isOver", "lastFiredAt", "cooldownFrom", "restsUntil"] as const;

/** The columns that a rule's author sets. */
export type AuthoredRule = Omit<RuleRow, "ruleId" | "createdAt" | "updatedAt" | typeof STATE[number]>;

/** The statements of rules. */
export const RULES = defineAuthored(tables.alertRules, { what: "alert rule", id: "ruleId", state: STATE });

/** Converts a rule that was checked; fields that are not given have their defaults. */
export function toAuthoredRule(input: RuleInput): AuthoredRule {
  return {
    name: input.name,
    thresholdType: input.threshold_type,
    thresholdNanoUsd: parseUsd(input.threshold_usd, "threshold_usd"),
    severity: input.severity,
    cooldownMs: (input.cooldown_seconds ?? DEFAULT_COOLDOWN_SECONDS) * 1000,
    repeat: input.repeat ?? "cooldown",
    scope: input.agent_id ?? ALL_CALLS,
    enabled: input.enabled ?? true,
  };
}

/** Returns the fields that its author sets in wire form. */
export function inputOf(row: AuthoredRule): Required<RuleInput> & { agent_id: string | null } {
  return {
    name: row.name,
    threshold_type: row.thresholdType,
    threshold_usd: toUsd(row.thresholdNanoUsd),
    severity: row.severity,
    cooldown_seconds: row.cooldownMs / 1000,
    repeat: row.repeat,
    agent_id: row.scope === ALL_CALLS ? null : row.scope,
    enabled: row.enabled,
  };
}
