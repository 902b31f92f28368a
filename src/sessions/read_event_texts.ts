import { toCanonicalText } from "../kernel/json/canonical_json.ts";
import type { Query } from "../store/mod.ts";
import { listSessionEvents } from "./list_events.ts";

const PAGE_ROWS = 500;

/**
 * The log of a session up to `lastSeq` as canonical JSON, in pages of bounded size. The position in the log of all
 * sessions is left out: it means nothing in another database.
 */
export async function* readEventTexts(
  ctx: { query: Query },
  { sessionId, lastSeq }: { sessionId: string; lastSeq: number },
): AsyncGenerator<string[]> {
  for (let after = 0; after < lastSeq;) {
    const limit = Math.min(PAGE_ROWS, lastSeq - after);
    const events = await listSessionEvents(ctx, { sessionId, after, limit });
    if (events.length === 0) throw new Error(`The log of session ${sessionId} has a gap after ${after}`);
    yield events.map(({ event_id: _eventId, ...event }) => toCanonicalText(event));
    after += events.length;
  }
}
