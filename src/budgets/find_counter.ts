import { invalidField } from "../kernel/errors.ts";
import { idOf } from "../keys/mod.ts";
import { type Counted, counterIn, scopeBy, scopeOf } from "../ledger/mod.ts";
import type { SubjectPart } from "../contract/budgets/subjects.ts";
import { type BudgetRow, subjectsOfScope } from "./budget_fields.ts";
import { countersOf, hasCounters, selectAllCounters } from "./budget_counters.ts";
import type { BudgetContext } from "./budgets.ts";
import { nearestName } from "../kernel/nearest_name.ts";
import { readFrom } from "./budget_states.ts";

const HAS_SPENT = `SELECT 1 FROM spend_counters
WHERE kind = 'lifetime' AND scope = ?1 OR kind IN ('run', 'session') AND scope = ?2 AND ?1 IN ('run ' || ?2, 'session ' || ?2) LIMIT 1`;

/** The most counters among which the nearest name is searched. */
const MAX_NAMES = 1_000;

/**
 * Returns the scope of a counter of a budget by its id, or that of an API key by its name.
 *
 * @throws {PurserError} `invalid` for a budget with one counter, and for a counter that it doesn't have, with the nearest one
 */
export async function findCounter(
  ctx: Pick<BudgetContext, "store" | "clock">,
  budget: BudgetRow,
  text: string,
): Promise<string> {
  const part = countersOf(budget) ?? (budget.shape === null ? undefined : budget.each ?? budget.per);
  if (part === undefined || !hasCounters(budget)) {
    throw invalidField(
      "counter",
      `budget ${JSON.stringify(budget.name)} has one counter only; raise it without`,
    );
  }
  const id = await idOf(ctx, part, text);
  const scope = budget.shape === null
    ? scopeOf(part as Counted, id)
    : scopeBy([...subjectsOfScope(budget.scope), [part as SubjectPart, id]]);
  const from = await readFrom(ctx, budget, ctx.clock.now());
  const page = { from, now: ctx.clock.now(), limit: MAX_NAMES, offset: 0 };
  const { rows } = await ctx.store.readLong(selectAllCounters(budget, page));
  const scopes = rows.map(([found]) => found as string);
  if (scopes.includes(scope)) return scope;
  // One of those with less spending is not among the first.
  const { rows: spent } = await ctx.store.read({ sql: HAS_SPENT, args: [scope, id] });
  if (spent.length > 0) return scope;
  const near = nearestName(text, scopes.map((found) => counterIn(found, budget.shape && part)!.id));
  throw invalidField(
    "counter",
    `budget ${JSON.stringify(budget.name)} has no counter of ${part} ${JSON.stringify(text)}${
      near === undefined ? "" : `; did you mean ${JSON.stringify(near)}?`
    }`,
  );
}
