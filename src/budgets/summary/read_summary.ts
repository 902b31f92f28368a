import type { SpendingSummary } from "../../contract/costs/spending_summary.ts";
import { calendarWith } from "../../contract/calendars/calendar_input.ts";
import { type Calendar, UTC } from "../../contract/calendars/zones.ts";
import { DIMENSIONS } from "../../contract/costs/dimensions.ts";
import { startOf } from "../../contract/windows.ts";
import { toUsd } from "../../kernel/money.ts";
import { COUNTED_COLUMNS, readCostTotal, type Scopes, STORED } from "../../ledger/mod.ts";
import { indexedBy, readDatabaseFile, type StoreReads } from "../../store/mod.ts";
import type { CallSubjects } from "../call_to_decide.ts";
import { readStandingsOf } from "../standings.ts";

const HAS_BUDGETS = "SELECT 1 FROM budgets WHERE enabled = 1 LIMIT 1";
const NEWEST_CALL = `SELECT model, provider, source, tags, ${COUNTED_COLUMNS} FROM calls ${
  indexedBy("calls_by_session")
}
WHERE session_id = ?1 ORDER BY at DESC LIMIT 1`;

/** The newest call of a session: budgets that count it count the next one, as far as it is known. */
export interface SessionCall {
  scopes: Partial<Scopes>;
  subjects: CallSubjects;
}

/** Finds the newest call of a session. */
export async function findSessionCall(
  store: Pick<StoreReads, "read">,
  sessionId: string,
): Promise<SessionCall | undefined> {
  const [row] = (await store.read({ sql: NEWEST_CALL, args: [sessionId] })).rows;
  if (row === undefined) return undefined;
  const [model, provider, source, tags, ...values] = row as (string | null)[];
  const scopes = Object.fromEntries(STORED.map((kind, index) => [DIMENSIONS[kind].property, values[index]]));
  const subjects = { model, provider, source, tags: tags === null ? undefined : JSON.parse(tags!) };
  return { scopes, subjects: subjects as CallSubjects };
}

/** The session, the agent and the time of a line. */
interface Asked {
  sessionId: string | null;
  agentId: string;
  now: number;
}

/**
 * Reads the spending of a session and of today from the file of a database, which is left as it is. A session without calls is one
 * of `agentId`. Returns undefined where there is no file.
 */
export async function readSummary(
  path: string,
  { sessionId, agentId, now, timeZone }: Asked & { timeZone: string | undefined },
): Promise<SpendingSummary | undefined> {
  return await readDatabaseFile(path, async (store) => {
    const [session, today] = await Promise.all([
      sessionId === null ? undefined : readCostTotal(store, { sessionId }),
      readCostTotal(store, todayOf(calendarWith({ time_zone: timeZone }, UTC), now)),
    ]);
    return { session, today, budget: await findTightest(store, { sessionId, agentId, now }) };
  });
}

/** Returns the span of the day of a calendar that has a time. */
export const todayOf = (calendar: Calendar, now: number) => ({
  from: startOf("day", now, 0, calendar),
  to: startOf("day", now, 1, calendar),
});

async function findTightest(
  store: StoreReads,
  { sessionId, agentId, now }: Asked,
): Promise<SpendingSummary["budget"]> {
  // The statement on budgets takes longer to prepare than all else here.
  if ((await store.read({ sql: HAS_BUDGETS })).rows.length === 0) return null;
  const call = sessionId === null ? undefined : await findSessionCall(store, sessionId);
  const scopes = {
    agentId,
    ...call?.scopes,
    sessionId,
    runId: null,
    budget: null,
    ...(call && { subjects: call.subjects }),
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
