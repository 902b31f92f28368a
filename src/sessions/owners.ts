import { firstAgentsOf } from "../ledger/mod.ts";
import type { Store } from "../store/mod.ts";

type ReadContext = { store: Pick<Store, "read"> };

/**
 * The agent that a session is of; undefined where there is none. A session that is known only through calls made
 * elsewhere is an agent's if all of them are, and else nobody's: null.
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

/** The agent that a run is of; undefined where there is none. */
export async function findRunOwner({ store }: ReadContext, runId: string): Promise<string | undefined> {
  const { rows: [run] } = await store.read({
    sql: "SELECT agent_id FROM runs WHERE run_id = ?",
    args: [runId],
  });
  return run?.[0] as string | undefined;
}

// A session or run that is known by calls alone is of the agent of its first call.
const FOREIGN = `SELECT 'session', p.value FROM json_each(?1) p
  LEFT JOIN sessions s ON s.session_id = p.value
  LEFT JOIN ${firstAgentsOf("session", "?1")} x ON x.id = p.value
  WHERE coalesce(s.agent_id, x.agent_id) <> ?3
UNION ALL SELECT 'run', p.value FROM json_each(?2) p
  LEFT JOIN runs r ON r.run_id = p.value
  LEFT JOIN ${firstAgentsOf("run", "?2")} x ON x.id = p.value
  WHERE coalesce(r.agent_id, x.agent_id) <> ?3
LIMIT 1`;

/** The first of some sessions and runs that is another agent's, be it known here or from reported calls alone. */
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
