import { type CallScopes, readStandingsOf, type Refusal } from "../budgets/mod.ts";
import type { CallContext } from "./context.ts";

/*
 * The API keys that a strict budget refuses until its window ends, because a call of theirs at the gateway has cost more than its
 * bound, or has a part without a price. The key is stopped, and not a session or a run, since clients of the gateway name those
 * themselves. A raise of the budget ends the refusal.
 */

const ADD =
  `INSERT INTO overshoots (budget_id, scope, key_id, at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`;

/** Records that a call has overshot the strict budgets that count it. */
export async function recordOvershoot(
  ctx: Pick<CallContext, "store">,
  { scopes, at }: { scopes: CallScopes; at: number },
): Promise<void> {
  const standings = (await readStandingsOf(ctx, { scopes, at })).filter(isStrict);
  if (standings.length === 0) return;
  const keyId = scopes.keyId ?? "";
  await ctx.store.write(
    standings.map(({ budgetId, scope }) => ({ sql: ADD, args: [budgetId, scope, keyId, at] })),
  );
}

const FIND = `SELECT o.budget_id, o.scope, max(o.at) FROM overshoots o
WHERE o.key_id = ? AND NOT EXISTS (
  SELECT 1 FROM budget_raises r WHERE r.budget_id = o.budget_id AND r.created_at >= o.at)
GROUP BY o.budget_id, o.scope`;

/** Returns the refusals of the budgets that a key has overshot in their present windows, and that no raise has opened since. */
export async function findOvershoots(
  ctx: Pick<CallContext, "store">,
  { scopes, at }: { scopes: CallScopes; at: number },
): Promise<Refusal[]> {
  const { rows } = await ctx.store.read({ sql: FIND, args: [scopes.keyId ?? ""] });
  if (rows.length === 0) return [];
  const standings = (await readStandingsOf(ctx, { scopes, at })).filter(isStrict);
  const isOf = ([budgetId, scope, since]: unknown[], standing: typeof standings[number]) =>
    budgetId === standing.budgetId && scope === standing.scope && Number(since) >= standing.from;
  return standings.filter((standing) => rows.some((row) => isOf(row, standing)))
    .map((standing) => ({ standing, reason: "overshot" }));
}

function isStrict({ budgetId, mode, action }: Refusal["standing"]): boolean {
  return budgetId !== null && mode === "strict" && action !== "watch";
}
