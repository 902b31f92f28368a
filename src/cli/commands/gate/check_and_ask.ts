import type { Connection } from "../../../client/mod.ts";
import type { BudgetCheck } from "../../../contract/budgets/budget_checks.ts";
import { parseTotalUsd, toUsd } from "../../../kernel/money.ts";
import type { NextCall } from "./next_call.ts";
import { reachedIn } from "./run_gate.ts";

/**
 * Checks the budgets of the next call. Where those that stop it all ask a person, their tickets are opened by a reservation that they
 * refuse: of a tenth of the limit, since what the call costs isn't known.
 */
export async function checkAndAsk(
  { api }: Pick<Connection, "api">,
  { agentId, sessionId, subjects }: { agentId: string; sessionId: string | undefined; subjects: NextCall },
  check: () => Promise<BudgetCheck[]>,
): Promise<BudgetCheck[]> {
  const checks = await check();
  const reached = reachedIn({ checks });
  const isAsking = reached.every(({ action }) => action === "ask");
  if (!isAsking || !reached.some(({ ticket_id }) => ticket_id === null)) return checks;
  const usd = Math.max(...reached.map(({ limit_usd }) => toUsd(parseTotalUsd(limit_usd) / 10n || 1n)));
  const call = { agent_id: agentId, session_id: sessionId, ...subjects };
  const amounts = { estimate_usd: usd, worst_case_usd: usd, ttl_seconds: 1 };
  // It fails where the key may not reserve, too; where there is room by now, it ends by itself.
  await api.budgets.reservations.$post({ json: { ...call, ...amounts } }).catch(() => {});
  return await check();
}
