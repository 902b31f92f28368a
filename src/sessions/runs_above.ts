import { PurserError } from "../kernel/errors.ts";
import type { NanoUsd } from "../kernel/money.ts";
import type { Store } from "../store/mod.ts";
import type { BudgetMode } from "../contract/values.ts";

/** A run above another, with its own budget. */
export interface AncestorRun {
  runId: string;
  agentId: string;
  budget: { limitNanoUsd: NanoUsd; mode: BudgetMode; allowUnpriced: boolean } | null;
}

/** The number of runs that may be above a run. */
const MAX_DEPTH = 32;

const READ = `WITH RECURSIVE above(depth, run_id) AS (
  SELECT 1, ?1
  UNION ALL
  SELECT a.depth + 1, r.parent_run_id FROM above a CROSS JOIN runs r ON r.run_id = a.run_id
  WHERE r.parent_run_id IS NOT NULL AND a.depth <= ${MAX_DEPTH}
)
SELECT r.run_id, r.agent_id, r.cost_budget_nano_usd, r.budget_mode, coalesce(g.allow_unpriced, 0)
FROM above a CROSS JOIN runs r ON r.run_id = a.run_id LEFT JOIN agents g ON g.agent_id = r.agent_id ORDER BY a.depth`;

/**
 * Reads the run that makes another, and those above it, nearest first.
 *
 * @throws {PurserError} `invalid` when there is no such run, or too many are above it
 */
export async function readRunsAbove(
  { store }: { store: Pick<Store, "read"> },
  parentRunId: string,
): Promise<AncestorRun[]> {
  const { rows } = await store.read({ sql: READ, args: [parentRunId] });
  if (rows.length === 0) {
    throw new PurserError(
      "invalid",
      `Cannot start a run below run ${parentRunId}: there is no such run in this database`,
      {
        details: { issues: [{ path: "parent_run_id", message: "there is no such run" }] },
      },
    );
  }
  if (rows.length > MAX_DEPTH) {
    throw new PurserError(
      "invalid",
      `Cannot start a run below run ${parentRunId}: ${MAX_DEPTH} runs are above it already`,
    );
  }
  return rows.map(([runId, agentId, limitNanoUsd, mode, allowUnpriced]) => ({
    runId: runId as string,
    agentId: agentId as string,
    budget: limitNanoUsd === null ? null : {
      limitNanoUsd: limitNanoUsd as bigint,
      mode: mode as BudgetMode,
      allowUnpriced: Number(allowUnpriced) !== 0,
    },
  }));
}
