import type { ListedRun } from "../contract/runs.ts";
import type { RunStatus } from "../contract/values.ts";
import { toIso } from "../kernel/clock.ts";
import { toUsd } from "../kernel/money.ts";
import { readRunUsages, scopeSql } from "../ledger/mod.ts";
import { indexedBy, type SqlValue, type Store, type TimePosition, toObjects } from "../store/mod.ts";

/** The runs to list. */
export interface RunFilter {
  status?: RunStatus;
  agentId?: string;
  /** The last run of the previous page. */
  before?: TimePosition | undefined;
  limit: number;
}

interface Row {
  run_id: string;
  session_id: string;
  agent_id: string;
  model: string;
  status: RunStatus;
  cost_budget_nano_usd: bigint | null;
  budget_mode: ListedRun["budget_mode"];
  steps: bigint;
  error_code: string | null;
  started_at: bigint;
  ended_at: bigint | null;
  parent_run_id: string | null;
  tags: string | null;
  waiting_for: string | null;
}

/** SQL for the ticket whose answer a run waits for; NULL while one of its calls is in progress. */
const WAITING_FOR = `CASE WHEN status = 'running' THEN (
  SELECT t.ticket_id FROM ticket_askers a JOIN budget_tickets t ON t.ticket_id = a.ticket_id AND t.state = 'waiting'
  WHERE a.run_id = runs.run_id AND NOT EXISTS (SELECT 1 FROM reservations h WHERE h.scope = ${
  scopeSql("run", "runs.run_id")
})
  LIMIT 1) END`;

const COLUMNS = `run_id, session_id, agent_id, model, status, cost_budget_nano_usd, budget_mode, steps,
  error ->> 'code' AS error_code, started_at, ended_at, parent_run_id, tags, ${WAITING_FOR} AS waiting_for`;

/** Returns the tickets whose answers runs in progress wait for, by run. */
export async function readWaitingFor(
  { store }: { store: Pick<Store, "read"> },
  runIds: readonly string[],
): Promise<Map<string, string>> {
  if (runIds.length === 0) return new Map();
  const { rows } = await store.read({
    sql: `SELECT run_id, ${WAITING_FOR} FROM runs WHERE run_id IN (SELECT value FROM json_each(?))`,
    args: [JSON.stringify(runIds)],
  });
  return new Map(rows.filter(([, ticketId]) => ticketId !== null) as [string, string][]);
}

/** SQL for the condition of the index of runs that didn't complete, which a query has to repeat word by word. */
const HAS_FAILED = "status IN ('failed', 'budget_exceeded', 'cancelled', 'interrupted')";

/** Returns the index and the conditions by which the runs of a filter are found. */
function sourceOf({ status, agentId }: RunFilter): { index: string; conditions: string[] } {
  if (status === "running") return { index: "runs_unfinished", conditions: ["status = 'running'"] };
  if (status !== undefined && status !== "completed") {
    return { index: "runs_by_failure", conditions: [HAS_FAILED, `status = '${status}'`] };
  }
  return {
    index: agentId === undefined ? "runs_latest" : "runs_of_agent",
    conditions: status === undefined ? [] : ["status = 'completed'"],
  };
}

/** Lists runs, those that began last first, with their cost so far. */
export async function listRuns(
  { store }: { store: Pick<Store, "read"> },
  filter: RunFilter,
): Promise<ListedRun[]> {
  const { agentId, before, limit } = filter;
  const { index, conditions } = sourceOf(filter);
  const args: SqlValue[] = [];
  if (agentId !== undefined) {
    conditions.push(`agent_id = ?${args.push(agentId)}`);
  }
  if (before) {
    const [time, id] = before.map((value) => args.push(value));
    conditions.push(`started_at <= ?${time} AND (started_at < ?${time} OR run_id < ?${id})`);
  }
  const where = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
  const sql = `SELECT ${COLUMNS} FROM runs ${indexedBy(index)} ${where}
ORDER BY started_at DESC, run_id DESC LIMIT ?${args.push(limit)}`;
  const rows = toObjects<Row>(await store.read({ sql, args }));
  const usages = await readRunUsages(store, rows.map((row) => row.run_id));
  return rows.map((row) => toListedRun(row, usages.get(row.run_id)!));
}

/** Returns the number of runs in progress. */
export async function countRunning(
  { store }: { store: Pick<Store, "read"> },
  agentId?: string,
): Promise<number> {
  const { rows } = await store.read({
    sql: `SELECT count(*) FROM runs ${indexedBy("runs_unfinished")} WHERE status = 'running'
      AND agent_id = coalesce(?1, agent_id)`,
    args: [agentId ?? null],
  });
  return Number(rows[0]![0]);
}

function toListedRun(row: Row, usage: ListedRun["token_usage"]): ListedRun {
  const budget = row.cost_budget_nano_usd;
  return {
    run_id: row.run_id,
    agent_id: row.agent_id,
    session_id: row.session_id,
    status: row.status,
    steps: row.ended_at === null ? usage.model_calls : Number(row.steps),
    token_usage: usage,
    started_at: toIso(Number(row.started_at)),
    ended_at: row.ended_at === null ? null : toIso(Number(row.ended_at)),
    model: row.model,
    error_code: row.error_code,
    cost_budget_usd: budget === null ? null : toUsd(budget),
    budget_mode: row.budget_mode,
    ...(row.parent_run_id !== null && { parent_run_id: row.parent_run_id }),
    ...(row.tags !== null && { tags: JSON.parse(row.tags) }),
    ...(row.waiting_for !== null && { waiting_for: row.waiting_for }),
  };
}
