import type { Session } from "../contract/sessions.ts";
import type { AgentStatus } from "../contract/values.ts";
import { listSessions, type ReadContext, type SessionList } from "./read_sessions.ts";
import { indexedBy } from "../store/mod.ts";

/** The sessions that are read at once. */
const CHUNK = 500;

/** The most sessions, and the most calls of them, that one search reads. A session with more calls is read alone. */
export const MAX_SEARCHED_SESSIONS = 2_000;
const MAX_CALLS = 100_000;

/** The text and the status that sessions have to match. */
export interface SessionSearch {
  /** Words that are all in the id, the agents, the models or the tags of a session, in any case of ASCII letters. */
  text?: string;
  status?: AgentStatus;
  /** The only agent whose calls are read for the text. */
  callsOf?: string;
}

/** The matching sessions, and the last one that was read if there may be more after it. */
export interface FoundSessions {
  sessions: Session[];
  last?: Session;
}

/**
 * Finds sessions, latest first, like `listSessions()`. Reads at most 2,000 sessions and about 100,000 of their calls: the
 * next search continues after `last`, also if this one found nothing.
 */
export async function searchSessions(
  ctx: ReadContext,
  list: SessionList,
  { text = "", status, callsOf }: SessionSearch,
): Promise<FoundSessions> {
  const words = [...new Set(lowerCase(text).split(/\s+/))].filter(Boolean);
  const found: Session[] = [];
  let { before } = list;
  let sessions = 0;
  let calls = 0;
  for (;;) {
    const chunk = await listSessions(ctx, { ...list, before, limit: CHUNK });
    const isLast = chunk.length < CHUNK;
    const candidates: Session[] = [];
    let last: Session | undefined;
    for (const session of chunk) {
      if (calls >= MAX_CALLS) break;
      last = session;
      if (status !== undefined && session.status !== status) continue;
      candidates.push(session);
      if (words.some((word) => !textOf(session).includes(word))) calls += session.token_usage.model_calls;
    }
    found.push(...await keepMatching(ctx, candidates, words, callsOf));
    if (found.length >= list.limit) {
      found.length = list.limit;
      return { sessions: found, last: found.at(-1) };
    }
    if (isLast && last === chunk.at(-1)) return { sessions: found };
    sessions += chunk.length;
    if (calls >= MAX_CALLS || sessions >= MAX_SEARCHED_SESSIONS) return { sessions: found, last };
    before = [Date.parse(last!.updated_at), last!.session_id];
  }
}

/** As SQLite's `lower()`. */
function lowerCase(text: string): string {
  return text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** Returns the part of a session's text that is read without its calls. */
function textOf({ session_id, agent_id, tags }: Session): string {
  return lowerCase(
    [session_id, agent_id, ...Object.entries(tags).map(([key, value]) => `${key}:${value}`)].join("\n"),
  );
}

// The tags of a call are one text of JSON, in which a tag is searched as `key:value`.
const OF_CALLS =
  `WITH words(word, escaped) AS MATERIALIZED (SELECT value ->> 0, value ->> 1 FROM json_each(?2))
SELECT s.value, word FROM json_each(?1) s CROSS JOIN words
WHERE EXISTS (SELECT 1 FROM calls c ${indexedBy("calls_by_session")}
  WHERE c.session_id = s.value AND c.agent_id = coalesce(?3, c.agent_id) AND (
    instr(lower(c.agent_id || '\n' || c.provider || ':' || c.model), word) > 0
    OR instr(lower(replace(c.tags, '":"', ':')), escaped) > 0))`;

async function keepMatching(
  { store }: ReadContext,
  sessions: Session[],
  words: readonly string[],
  callsOf: string | undefined,
): Promise<Session[]> {
  const lacking = new Map(sessions.map((session) => {
    const own = textOf(session);
    return [session.session_id, words.filter((word) => !own.includes(word))];
  }));
  const unsure = [...lacking].filter(([, left]) => left.length > 0).map(([id]) => id);
  const inCalls = new Set<string>();
  if (unsure.length > 0) {
    const pairs = words.map((word) => [word, JSON.stringify(word).slice(1, -1)]);
    const args = [JSON.stringify(unsure), JSON.stringify(pairs), callsOf ?? null];
    const { rows } = await store.readLong({ sql: OF_CALLS, args });
    for (const [id, word] of rows) inCalls.add(`${id}\n${word}`);
  }
  return sessions.filter(({ session_id: id }) =>
    lacking.get(id)!.every((word) => inCalls.has(`${id}\n${word}`))
  );
}
