import { firstAgentsOf } from "../ledger/mod.ts";
import type { Store } from "../store/mod.ts";

type StoreContext = { store: Pick<Store, "read"> };

/**
 * Returns the agent that owns a session; undefined for an unknown session. A session that is known from reported calls only
 * is owned by their agent, or by no agent (null) if they have several.
 */
export async function findSessionOwner(
  { store }: StoreContext,
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
export async function findRunOwner({ store }: StoreContext, runId: string): Promise<string | undefined> {
  const { rows: [run] } = await store.read({
    sql: "SELECT agent_id FROM runs WHERE run_id = ?",
    args: [runId],
  });
  return run?.[0] as string | undefined;
}

// A session or run that is known from calls only is owned by the agent of its first call.
const OWNERS = `SELECT 'session', p.value, coalesce(s.agent_id, x.agent_id) FROM json_each(?1) p
  LEFT JOIN sessions s ON s.session_id = p.value
  LEFT JOIN ${firstAgentsOf("session", "?1")} x ON x.id = p.value
UNION ALL SELECT 'run', p.value, coalesce(r.agent_id, x.agent_id) FROM json_each(?2) p
  LEFT JOIN runs r ON r.run_id = p.value
  LEFT JOIN ${firstAgentsOf("run", "?2")} x ON x.id = p.value
UNION ALL SELECT 'call', p.value, c.agent_id FROM json_each(?3) p LEFT JOIN calls c ON c.call_id = p.value`;

/** The ids that a report refers to. */
export interface ReportedIds {
  sessionIds: readonly string[];
  runIds: readonly string[];
  callIds: readonly string[];
}

/** Reads the agents that own sessions, runs and calls; null for an unknown id. Those known from reports only are known. */
export async function readOwners(
  { store }: StoreContext,
  ids: ReportedIds,
): Promise<{ kind: "session" | "run" | "call"; id: string; agentId: string | null }[]> {
  const args = [ids.sessionIds, ids.runIds, ids.callIds].map((each) => JSON.stringify(each));
  const { rows } = await store.read({ sql: OWNERS, args });
  return rows.map(([kind, id, agentId]) => ({
    kind: kind as "session" | "run" | "call",
    id: id as string,
    agentId: agentId as string | null,
  }));
}
