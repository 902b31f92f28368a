import type { Session } from "../contract/sessions.ts";
import { toIso } from "../kernel/clock.ts";
import { readSessionUsage, tailEntries, textAt, type TokenUsage, usageOfIds } from "../ledger/mod.ts";
import type { SqlValue, Store, TimePosition } from "../store/mod.ts";

/** Sessions that are known from reported calls alone: only their calls are stored. */

type ReadContext = { store: Pick<Store, "read" | "readLong"> };

const FIRST_AGENT = textAt("min", "at", "agent_id");

/** SQL for the page of a table's rows that are in no other list. A session of several agents belongs to no agent. */
function pageOf(table: string, isOfAgent: boolean): string {
  const ofAgent = `AND agent_id = ?5
  AND NOT EXISTS (SELECT 1 FROM calls c WHERE c.session_id = k.session_id AND c.agent_id <> ?5)`;
  return `SELECT session_id, agent_id, first_at, last_at FROM ${table} k
WHERE last_at >= ?1 AND (last_at, session_id) < (?2, ?3)
  AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.session_id = k.session_id) ${isOfAgent ? ofAgent : ""}
ORDER BY last_at DESC, session_id DESC LIMIT ?4`;
}

// A session with calls after the totals has a row of its own there, united with its totals. Of sessions without such a row, only
// the page is read, by an index.
const reportedSql = (isOfAgent: boolean) =>
  `WITH tail AS (
  SELECT session_id, ${FIRST_AGENT} AS agent_id, min(at) AS first_at, max(at) AS last_at
  FROM (${
    tailEntries("session_id, agent_id, at, position", "session_id IS NOT NULL")
  }) entries GROUP BY session_id),
known AS (
  SELECT * FROM (${
    pageOf("(SELECT * FROM usage_sessions WHERE session_id NOT IN (SELECT session_id FROM tail))", isOfAgent)
  }) totals
  UNION ALL SELECT t.session_id, CASE WHEN u.first_at <= t.first_at THEN u.agent_id ELSE t.agent_id END,
    min(t.first_at, coalesce(u.first_at, t.first_at)), max(t.last_at, coalesce(u.last_at, t.last_at))
    FROM tail t LEFT JOIN usage_sessions u ON u.session_id = t.session_id)
${pageOf("known", isOfAgent)}`;

const REPORTED = reportedSql(false);
const REPORTED_OF_AGENT = reportedSql(true);

/** The end of the list: later than any time of a call. */
const NEVER = Number.MAX_SAFE_INTEGER;

/** Lists the latest of them down to a time. `before` is the last row of the previous page. */
export async function listReportedSessions(
  { store }: ReadContext,
  { agentId, limit, before, since }: {
    agentId?: string;
    limit: number;
    before?: TimePosition | undefined;
    since: number;
  },
): Promise<Session[]> {
  const [updatedAt, sessionId] = before ?? [NEVER, ""];
  const args = [since, updatedAt, sessionId, limit];
  // Those of one agent may be far apart.
  const { rows } = agentId === undefined
    ? await store.read({ sql: REPORTED, args })
    : await store.readLong({ sql: REPORTED_OF_AGENT, args: [...args, agentId] });
  const usage = await readSessionUsage(store, rows.map(([id]) => id as string));
  return rows.map((row) => toSession(row, usage.get(row[0] as string)!));
}

const ONE = `SELECT session_id, ${textAt("min", "first_at", "agent_id")}, min(first_at), max(last_at)
FROM ${usageOfIds("session", "?1")} GROUP BY session_id`;

/** Reads one of them; undefined for a session without a call. */
export async function readReportedSession(
  { store }: ReadContext,
  sessionId: string,
): Promise<Session | undefined> {
  const { rows: [row] } = await store.read({ sql: ONE, args: [JSON.stringify([sessionId])] });
  if (row === undefined) return undefined;
  return toSession(row, (await readSessionUsage(store, [sessionId])).get(sessionId)!);
}

function toSession([sessionId, agentId, firstAt, lastAt]: SqlValue[], usage: TokenUsage): Session {
  return {
    session_id: sessionId as string,
    agent_id: agentId as string,
    status: "idle",
    message_count: 0,
    event_log_count: 0,
    token_usage: usage,
    tags: {},
    active_run_id: null,
    created_at: toIso(Number(firstAt)),
    updated_at: toIso(Number(lastAt)),
  };
}
