import type { SpendingSummary } from "../../contract/costs/spending_summary.ts";
import type { Calendar } from "../../contract/calendars/zones.ts";
import type { Clock } from "../../kernel/clock.ts";
import { nameAfter, readCostTotal, type Viewer } from "../../ledger/mod.ts";
import type { Query, Store } from "../../store/mod.ts";
import { checkBudgets } from "../budget_checks.ts";
import { findSessionCall, todayOf } from "./read_summary.ts";

/**
 * Reads the spending of a session and of today as a viewer sees it. A key of one agent names a session as it has reported it. A
 * session without calls is one of `agentId`.
 */
export async function summarizeSpending(
  ctx: { store: Store; query: Query; clock: Pick<Clock, "now"> } & Calendar,
  viewer: Viewer,
  { sessionId: given, agentId }: { sessionId?: string; agentId?: string },
): Promise<SpendingSummary> {
  const { agentId: only } = viewer;
  const sessionId = given !== undefined && only !== undefined ? nameAfter(only, given) : given;
  const now = ctx.clock.now();
  const [session, today, call] = await Promise.all([
    sessionId === undefined ? undefined : readCostTotal(ctx.store, { sessionId, agentId: only }),
    readCostTotal(ctx.store, { ...todayOf(ctx, now), agentId: only }),
    sessionId === undefined ? undefined : findSessionCall(ctx.store, sessionId),
  ]);
  const checks = await checkBudgets(ctx, {
    ...call?.scopes,
    agentId: only ?? call?.scopes.agentId ?? agentId,
    keyId: call?.scopes.keyId ?? viewer.keyId,
    sessionId,
    runId: null,
    subjects: call?.subjects,
  }, viewer);
  const [first] = checks.flatMap(({ name, action, left_usd }) =>
    name === null || action === "watch" || left_usd === undefined ? [] : [{ name, left_usd }]
  );
  return { session, today, budget: first ?? null };
}
