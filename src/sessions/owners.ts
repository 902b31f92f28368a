import { firstAgentsOf } from "../ledger/mod.ts";
import type { Store } from "../store/mod.ts";

type ReadContext = { store: Pick<Store, "read"> };

/**
 * Returns the agent that owns a session; undefined for an unknown session. A session that is known from reported calls only
 * is owned by their agent, or by no agent (null) if they have several.
 */
export async function findSessionOwner(
  { store }: ReadContext,
  sessionId: string,
): Promise<string | null | undefined> {
  const { rows: [session] } = await store.read({
    sql: "SELECT agent_id FROM sessions WHERE session_id = ?",
    args: [sessionId],
  });
  if (session) return session[0] as string;
  const { rows: [calls] } = await store.read({
    sql: "SELECT min(agent_id), max(agent_id) FROM calls WHERE session_id = ?",
    args: [sessionId],
  });
  const [first, last] = calls!;
  if (first === null) return undefined;
  return first === last ? first as string : null;
}

/** Returns the agent that owns a run; undefined for an unknown run. */
export async function findRunOwner({ store }: ReadContext, runId: string): Promise<string | undefined> {
  const { rows: [run] } = await store.read({
    sql: "SELECT agent_id FROM runs WHERE run_id = ?",
    args: [runId],
  });
  return run?.[0] as string | undefined;
}

// A session or run that is known from calls only is owned by the agent of its first call.
const FOREIGN = `SELECT 'session', p.value FROM json_each(?1) p
  LEFT JOIN sessions s ON s.session_id = p.value
  LEFT JOIN ${firstAgentsOf("session", "?1")} x ON x.id = p.value
  WHERE coalesce(s.agent_id, x.agent_id) <> ?3
UNION ALL SELECT 'run', p.value FROM json_each(?2) p
  LEFT JOIN runs r ON r.run_id = p.value
  LEFT JOIN ${firstAgentsOf("run", "?2")} x ON x.id = p.value
  WHERE coalesce(r.agent_id, x.agent_id) <> ?3
LIMIT 1`;

/** Finds the first of the sessions and runs that another agent owns; those known from reported calls only count too. */
export async function findForeignRef(
  { store }: ReadContext,
  { agentId, sessionIds, runIds }: {
    agentId: string;
    sessionIds: readonly string[];
    runIds: readonly string[];
  },
): Promise<{ kind: "session" | "run"; id: string } | undefined> {
  const { rows: [row] } = await store.read({
    sql: FOREIGN,
    args: [JSON.stringify(sessionIds), JSON.stringify(runIds), agentId],
  });
  return row && { kind: row[0] as "session" | "run", id: row[1] as string };
}
