import { toCanonicalText } from "../canonical_json.ts";
import type { Query, Store } from "../store/mod.ts";
import { listSessionEvents } from "./list_events.ts";

/** A page of events has at most so many rows and, but for a last one that is larger, so many bytes. */
const PAGE_ROWS = 500;
const PAGE_BYTES = 1024 * 1024;

// Payloads are weighed before they are read; those of booked calls are rows of the ledger, and small.
const COUNT_FITTING = `SELECT count(*) FROM (
  SELECT sum(coalesce(octet_length(payload), 500)) OVER (ORDER BY seq ROWS UNBOUNDED PRECEDING)
    - coalesce(octet_length(payload), 500) AS before
  FROM events WHERE session_id = ? AND seq > ? AND seq <= ?) WHERE before < ?`;

/**
 * The log of a session up to `lastSeq` as canonical JSON, in pages of bounded size. The position in the log of all
 * sessions is left out: it means nothing in another database.
 */
export async function* readEventTexts(
  ctx: { store: Pick<Store, "read">; query: Query },
  { sessionId, lastSeq }: { sessionId: string; lastSeq: number },
): AsyncGenerator<string[]> {
  for (let after = 0; after < lastSeq;) {
    const until = Math.min(after + PAGE_ROWS, lastSeq);
    const args = [sessionId, after, until, PAGE_BYTES];
    const fitting = Number((await ctx.store.read({ sql: COUNT_FITTING, args })).rows[0]![0]);
    const events = await listSessionEvents(ctx, { sessionId, after, limit: fitting });
    if (events.length === 0) throw new Error(`The log of session ${sessionId} has a gap after ${after}`);
    yield events.map(({ event_id: _eventId, ...event }) => toCanonicalText(event));
    after += events.length;
  }
}
