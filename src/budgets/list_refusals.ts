import type { BudgetRefusal } from "../contract/budgets.ts";
import { toIso } from "../kernel/clock.ts";
import { type SqlValue, type Store, toObjects } from "../store/mod.ts";

/** The refused calls to list. */
export interface RefusalFilter {
  budgetId?: string;
  agentId?: string;
  /** The last refusal of the previous page. */
  before?: number;
  limit: number;
}

/** The refusals among which those of one budget are searched: their budgets are in their payload only. */
const SEARCHED = 10_000;

/**
 * Lists refused calls, newest first, from the log of events. Their amounts are those that the readers of the log may see.
 * Those of one budget are searched among the 10,000 before the last of the previous page.
 */
export async function listRefusals(
  { store }: { store: Pick<Store, "read"> },
  { budgetId, agentId, before, limit }: RefusalFilter,
): Promise<BudgetRefusal[]> {
  const args: SqlValue[] = [];
  const conditions = ["type = 'budget.refused'"];
  if (agentId !== undefined) conditions.push(`agent_id = ?${args.push(agentId)}`);
  if (before !== undefined) conditions.push(`event_id < ?${args.push(before)}`);
  const index = agentId === undefined ? "refusals_latest" : "refusals_of_agent";
  const latest = `SELECT event_id, at, agent_id, session_id, run_id, payload FROM events INDEXED BY ${index}
WHERE ${conditions.join(" AND ")} ORDER BY event_id DESC`;
  const sql = budgetId === undefined
    ? `${latest} LIMIT ?${args.push(limit)}`
    : `SELECT * FROM (${latest} LIMIT ${SEARCHED}) WHERE EXISTS (
  SELECT 1 FROM json_each(payload, '$.refused_by') r WHERE r.value ->> 'budget_id' = ?${args.push(budgetId)}
) LIMIT ?${args.push(limit)}`;
  return toObjects<Row>(await store.read({ sql, args })).map(toRefusal);
}

interface Row {
  event_id: bigint;
  at: bigint;
  agent_id: string;
  session_id: string | null;
  run_id: string | null;
  payload: string;
}

type Payload = Partial<Pick<BudgetRefusal, "message" | "cost_usd_so_far" | "budget_usd" | "refused_by">>;

function toRefusal(row: Row): BudgetRefusal {
  const { message = "", cost_usd_so_far = null, budget_usd = null, refused_by = [] }: Payload = JSON.parse(
    row.payload,
  );
  return {
    event_id: Number(row.event_id),
    at: toIso(Number(row.at)),
    agent_id: row.agent_id,
    session_id: row.session_id,
    run_id: row.run_id,
    message,
    cost_usd_so_far,
    budget_usd,
    refused_by,
  };
}
