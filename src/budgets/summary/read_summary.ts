import type { CostTotal } from "../../contract/costs.ts";
import { startOf } from "../../contract/windows.ts";
import { toUsd } from "../../kernel/money.ts";
import { readCostTotal } from "../../ledger/mod.ts";
import { indexedBy, readDatabaseFile, type StoreReads } from "../../store/mod.ts";
import { readStandingsOf } from "../standings.ts";

/** The spending that one line shows. */
export interface SpendingSummary {
  /** Null without a session. */
  session: CostTotal | null;
  /** Since midnight in UTC. */
  today: CostTotal;
  /** The budget that would refuse the session's next call first; null where none counts it. */
  budget: { name: string; left_usd: number } | null;
}

const HAS_BUDGETS = "SELECT 1 FROM budgets WHERE enabled = 1 LIMIT 1";
const NEWEST_CALL = `SELECT agent_id, key_id FROM calls ${indexedBy("calls_by_session")}
WHERE session_id = ?1 ORDER BY at DESC LIMIT 1`;

/**
 * Reads the spending of a session and of today from the file of a database, which is left as it is. A session without calls is one
 * of `agentId`. Returns undefined where there is no file.
 */
export async function readSummary(
  path: string,
  { sessionId, agentId, now }: { sessionId: string | null; agentId: string; now: number },
): Promise<SpendingSummary | undefined> {
  return await readDatabaseFile(path, async (store) => {
    const [session, today] = await Promise.all([
      sessionId === null ? null : readCostTotal(store, { sessionId }),
      readCostTotal(store, { from: startOf("day", now), to: startOf("day", now, 1) }),
    ]);
    return { session, today, budget: await findTightest(store, { sessionId, agentId, now }) };
  });
}

async function findTightest(
  store: StoreReads,
  { sessionId, agentId, now }: { sessionId: string | null; agentId: string; now: number },
): Promise<SpendingSummary["budget"]> {
  // The statement on budgets takes longer to prepare than all else here.
  if ((await store.read({ sql: HAS_BUDGETS })).rows.length === 0) return null;
  const [[agent, key] = []] = sessionId === null
    ? []
    : (await store.read({ sql: NEWEST_CALL, args: [sessionId] })).rows;
  const scopes = {
    agentId: (agent as string | undefined) ?? agentId,
    keyId: (key as string | null | undefined) ?? null,
    sessionId,
    runId: null,
    budget: null,
  };
  const left = (await readStandingsOf({ store }, { scopes, at: now })).flatMap((standing) => {
    const { name, action, mode, limitNanoUsd, extraNanoUsd, settledNanoUsd, ...reserved } = standing;
    if (name === null || action === "watch") return [];
    const held = mode === "strict" ? reserved.worstNanoUsd + reserved.lostNanoUsd : reserved.estimatedNanoUsd;
    const rest = limitNanoUsd + extraNanoUsd - settledNanoUsd - held;
    return [{ name, rest: rest > 0n ? rest : 0n }];
  });
  const [first] = left.sort((a, b) => a.rest < b.rest ? -1 : a.rest > b.rest ? 1 : 0);
  return first ? { name: first.name, left_usd: toUsd(first.rest) } : null;
}
