import { listBudgets } from "../../budgets/mod.ts";
import type { Budget } from "../../contract/budgets/budgets.ts";
import type { Core } from "../core.ts";
import { type Finding, ok, warning } from "./finding.ts";

/** The number of budgets whose state is read: the oldest enabled ones. */
const READ = 100;

const COUNT = "SELECT count(*), coalesce(sum(enabled), 0) FROM budgets";

/** Budgets of agents that are neither defined here nor in the ledger: the name may be misspelled. */
const UNKNOWN = `SELECT b.name, b.scope FROM budgets b
WHERE b.enabled = 1 AND b.scope <> '' AND instr(b.scope, ' ') = 0
  AND NOT EXISTS (SELECT 1 FROM agents a WHERE a.agent_id = b.scope)
  AND NOT EXISTS (SELECT 1 FROM total_usage u WHERE u.agent_id = b.scope)
ORDER BY b.created_at, b.budget_id LIMIT 4`;

/** Counts the budgets, and names those that are reached, that refuse nothing, and that name an unknown agent. */
export async function checkBudgetStates(
  ctx: Pick<Core, "store" | "query" | "clock" | "turns">,
): Promise<Finding> {
  const [counts, unknown] = await ctx.store.readAll([{ sql: COUNT }, { sql: UNKNOWN }]);
  const [all, enabled] = counts!.rows[0]!.map(Number) as [number, number];
  if (all === 0) return ok("none yet; purser budgets add makes one");
  const budgets = await listBudgets(ctx, { isEnabled: true, limit: READ });
  const reached = budgets.filter(({ state, action }) => state === "reached" && action === "refuse");
  const watching = budgets.filter(({ action }) => action === "watch");
  const state = [
    `${enabled} enabled, ${all - enabled} disabled`,
    ...(watching.length === 0
      ? []
      : [`${namesOf(watching)} only ${watching.length === 1 ? "watches" : "watch"}`]),
    ...(reached.length === 0 ? [] : [`reached, so that calls are refused: ${namesOf(reached)}`]),
    ...unknown!.rows.slice(0, 3).map(([name, agent]) =>
      `${name} is for agent ${agent}, of which there is nothing`
    ),
    ...(unknown!.rows.length > 3 ? ["others as well"] : []),
  ].join("; ");
  if (reached.length > 0) {
    return warning(
      state,
      `See purser budgets list; then purser budgets raise ${reached[0]!.budget_id} --usd AMOUNT`,
    );
  }
  if (unknown!.rows.length > 0) {
    return warning(state, "Check the agent's name: purser budgets set BUDGET --agent NAME");
  }
  return ok(state);
}

function namesOf(budgets: readonly Budget[]): string {
  const more = budgets.length > 3 ? ` and ${budgets.length - 3} more` : "";
  return `${budgets.slice(0, 3).map(({ name }) => name).join(", ")}${more}`;
}
