import type { Connection } from "../../../client/mod.ts";
import type { BudgetCheck } from "../../../contract/budgets/budget_checks.ts";
import type { TicketState } from "../../../contract/values.ts";
import { PurserError } from "../../../kernel/errors.ts";
import { parseTotalUsd, toUsd } from "../../../kernel/money.ts";
import { isRecord } from "../../../kernel/records.ts";
import type { NextCall } from "./next_call.ts";
import { reachedIn } from "./run_gate.ts";

/**
 * Opens the tickets of budgets that stop an agent and ask a person, by a reservation that they refuse: it is of a tenth of the limit,
 * since what the next call costs isn't known. Returns the checks with the tickets; as they are where a budget refuses without
 * asking, or the key may not reserve.
 */
export async function openTickets(
  { api }: Pick<Connection, "api">,
  { agentId, sessionId, subjects }: { agentId: string; sessionId: string | undefined; subjects: NextCall },
  checks: BudgetCheck[],
): Promise<BudgetCheck[]> {
  const reached = reachedIn({ checks });
  const isAsking = reached.every(({ action }) => action === "ask");
  if (!isAsking || !reached.some(({ ticket_id }) => ticket_id === null)) return checks;
  const usd = Math.max(...reached.map(({ limit_usd }) => toUsd(parseTotalUsd(limit_usd) / 10n || 1n)));
  const call = { agent_id: agentId, session_id: sessionId, ...subjects };
  try {
    // Where there is room again by now, it ends by itself.
    const amounts = { estimate_usd: usd, worst_case_usd: usd, ttl_seconds: 1 };
    await api.budgets.reservations.$post({ json: { ...call, ...amounts } });
    return checks;
  } catch (error) {
    const refused = error instanceof PurserError && isRecord(error.details)
      ? error.details.refused_by
      : undefined;
    const tickets: unknown[] = Array.isArray(refused) ? refused : [];
    return checks.map((check) => {
      const found = tickets.filter(isRecord).find(({ budget_id }) => budget_id === check.budget_id);
      if (typeof found?.ticket_id !== "string") return check;
      return { ...check, ticket_id: found.ticket_id, ticket_state: found.ticket_state as TicketState };
    });
  }
}
