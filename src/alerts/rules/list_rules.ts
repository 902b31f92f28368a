import { asc } from "drizzle-orm";
import { tables } from "../../store/mod.ts";
import type { AlertContext } from "../context.ts";
import { withValues } from "./get_rule.ts";
import type { AlertRule } from "../../contract/alerts.ts";

const { alertRules } = tables;

/** All rules, oldest first. */
export async function listRules(
  ctx: Pick<AlertContext, "store" | "query" | "clock">,
): Promise<AlertRule[]> {
  const rows = await ctx.query.select().from(alertRules)
    .orderBy(asc(alertRules.createdAt), asc(alertRules.ruleId));
  return await withValues(ctx, rows);
}
