import { asc, eq } from "drizzle-orm";
import { PurserError } from "../../kernel/errors.ts";
import { toUsd } from "../../kernel/money.ts";
import { type Query, tables } from "../../store/mod.ts";
import type { AlertContext } from "../context.ts";
import { readRuleValues } from "./read_rule_values.ts";
import { type RuleRow, toRule } from "./rule.ts";
import type { AlertRule } from "../../contract/alerts.ts";

/** Lists all rules, oldest first. */
export async function listRules(
  ctx: Pick<AlertContext, "store" | "query" | "clock">,
): Promise<AlertRule[]> {
  const { alertRules } = tables;
  const rows = await ctx.query.select().from(alertRules)
    .orderBy(asc(alertRules.createdAt), asc(alertRules.ruleId));
  return await withValues(ctx, rows);
}

/** Returns one rule. Throws `not_found`. */
export async function getRule(
  ctx: Pick<AlertContext, "store" | "query" | "clock">,
  ruleId: string,
): Promise<AlertRule> {
  return (await withValues(ctx, [await readRule(ctx.query, ruleId)]))[0]!;
}

/** Reads the row of one rule. Throws `not_found`. */
export async function readRule(query: Query, ruleId: string): Promise<RuleRow> {
  const [row] = await query.select().from(tables.alertRules).where(eq(tables.alertRules.ruleId, ruleId));
  if (!row) throw ruleNotFound(ruleId);
  return row;
}

export function ruleNotFound(ruleId: string): PurserError {
  return new PurserError("not_found", `Cannot find alert rule ${ruleId}`);
}

/** Converts rows to rules in wire form, each with the value it measures at present. */
export async function withValues(
  ctx: Pick<AlertContext, "store" | "clock">,
  rows: readonly RuleRow[],
): Promise<AlertRule[]> {
  const values = await readRuleValues(ctx, rows);
  return rows.map((row, index) => {
    const value = values[index] ?? null;
    return { ...toRule(row), value_usd: value === null ? null : toUsd(value) };
  });
}
