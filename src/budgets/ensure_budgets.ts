import { toHex } from "../kernel/encoding.ts";
import { PurserError } from "../kernel/errors.ts";
import type { BudgetInput } from "../contract/budgets.ts";
import { inputOf, toAuthoredRow } from "./budget_fields.ts";
import { type BudgetContext, insertBudget, updateBudget, writeBudgets } from "./budgets.ts";

/** A budget that a program defines. */
export type BudgetInCode = BudgetInput & {
  /** Identifies the budget across restarts. Default: derived from its name. */
  budget_id?: string;
};

const BUDGET_ID = /^bud_[A-Za-z0-9_-]{1,64}$/;

/**
 * Stores a program's budgets like any other: adds new ones, and updates the others to the program's definitions; fields
 * that it leaves out get their defaults. Raises and the counts of refused calls stay. Budgets that a program no longer
 * defines are left as they are.
 *
 * @throws {PurserError} `invalid`, naming the fault
 */
export async function ensureBudgets(ctx: BudgetContext, budgets: readonly BudgetInCode[]): Promise<void> {
  if (budgets.length === 0) return;
  const { readBudgetInput } = await import("../contract/budgets.ts");
  const seen = new Set<string>();
  const ensured: { budgetId: string; input: BudgetInput }[] = [];
  for (const { budget_id, ...given } of budgets) {
    const input = readBudgetInput(given);
    const budgetId = budget_id ?? await idOf(input.name);
    if (!BUDGET_ID.test(budgetId)) {
      throw new PurserError(
        "invalid",
        `Cannot use budget id ${JSON.stringify(budgetId)}: it has to look like bud_daily`,
      );
    }
    if (seen.has(budgetId)) {
      throw new PurserError(
        "invalid",
        `Cannot use two budgets named ${input.name}: give them a budget_id each`,
      );
    }
    seen.add(budgetId);
    ensured.push({ budgetId, input });
  }
  const now = ctx.clock.now();
  for (const { budgetId, input } of ensured) {
    const row = toAuthoredRow(input);
    await writeBudgets(ctx, [insertBudget({ budgetId, ...row, createdAt: now, updatedAt: now })]);
    await updateBudget(ctx, budgetId, inputOf(row));
  }
}

/** Derives the same id from a name in every process. */
async function idOf(name: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(name));
  return `bud_${toHex(new Uint8Array(digest)).slice(0, 26)}`;
}
