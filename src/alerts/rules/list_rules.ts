import { asc } from "drizzle-orm";
import { tables } from "../../store/mod.ts";
import type { AlertContext } from "../context.ts";
import { type RuleWithValue, withValues } from "./get_rule.ts";

const { alertRules } = tables;

/** All rules, oldest first. */
export async function listRules(
  ctx: Pick<AlertContext, "store" | "query" | "clock">,
): Promise<RuleWithValue[]> {
  const rows = await ctx.query.select().from(alertRules)
    .orderBy(asc(alertRules.createdAt), asc(alertRules.ruleId));
  return await withValues(ctx, rows);
}
