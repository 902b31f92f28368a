import { and, asc, eq, gt, isNull, or } from "drizzle-orm";
import { type Query, tables } from "../store/mod.ts";
import { toCostEvent } from "./cost_event.ts";
import type { CostEvent } from "../contract/usage.ts";
import { toModelCall } from "./stored_call.ts";

const { calls } = tables;

/** The calls of a session in the order in which they happened, as cost events. */
export async function listCalls(
  query: Query,
  input: { sessionId: string; limit: number; after?: { at: number; callId: string } },
): Promise<CostEvent[]> {
  const { sessionId, after, limit } = input;
  const rows = await query.select().from(calls).where(and(
    eq(calls.sessionId, sessionId),
    isNull(calls.adjusts),
    after && or(gt(calls.at, after.at), and(eq(calls.at, after.at), gt(calls.callId, after.callId))),
  )).orderBy(asc(calls.at), asc(calls.callId)).limit(limit);
  return rows.map((row) => toCostEvent(toModelCall(row)));
}
