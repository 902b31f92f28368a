import assert from "node:assert/strict";
import type { Clock } from "../../src/kernel/clock.ts";
import type { ReportedCall } from "../../src/calls/mod.ts";
import { PurserError } from "../../src/kernel/errors.ts";
import { usageOf } from "../../src/pricing/mod.ts";
import type { Store } from "../../src/store/mod.ts";
import { createBooking, type TestBooking } from "./booking.ts";
import { checkTotals } from "./check_books.ts";
import type { DatabaseKind } from "./databases.ts";
import { eagerClock } from "./eager_clock.ts";

/** The time at which the tests of bookings book. */
export const NOW = Date.parse("2026-11-21T09:30:00.000Z");

/** Returns a report of a call. */
export function report(callId: string, fields: Partial<ReportedCall> = {}): ReportedCall {
  return {
    callId,
    at: NOW,
    agentId: "agent",
    sessionId: null,
    runId: null,
    step: null,
    tools: [],
    provider: "local",
    model: "priced",
    usage: usageOf({ inputTokens: 10, outputTokens: 2 }),
    durationMs: null,
    ...fields,
  };
}

/** Returns whether an error has a code, and a message of a pattern. */
export const hasCode = (code: string, pattern = /./) => (error: unknown) =>
  error instanceof PurserError && error.code === code && pattern.test(error.message);

/** Every session's log counts from 1 without a gap, as its row says, and every booked call is published once. */
export async function checkLog({ store }: { store: Store }): Promise<void> {
  const gaps = await store.read({
    sql: `SELECT s.session_id, s.event_count, count(e.seq), coalesce(max(e.seq), 0) FROM sessions s
      LEFT JOIN events e ON e.session_id = s.session_id GROUP BY s.session_id
      HAVING s.event_count <> count(e.seq) OR s.event_count <> coalesce(max(e.seq), 0)`,
  });
  assert.deepEqual(gaps.rows, []);
  const untold = await store.read({
    sql:
      `SELECT c.call_id FROM calls c LEFT JOIN events e ON e.call_id = c.call_id AND e.type = 'cost.recorded'
      GROUP BY c.call_id HAVING count(e.event_id) <> 1`,
  });
  assert.deepEqual(untold.rows, []);
  const orphans = await store.read({
    sql:
      "SELECT call_id FROM events WHERE type = 'cost.recorded' AND call_id NOT IN (SELECT call_id FROM calls)",
  });
  assert.deepEqual(orphans.rows, []);
}

/** The options of `bookingTests()`. */
interface BookingTestOptions {
  /** Returns the clock of a test. */
  clock?: () => Clock;
  /** Called after each test; by default it checks the books. */
  check?: (ctx: TestBooking) => Promise<void>;
}

/** For a suite that checks what it is about by itself. */
export const unchecked = (): Promise<void> => Promise.resolve();

/** Returns the function that defines a test of bookings on a kind of database, whose books are checked at its end. */
export function bookingTests(
  kind: DatabaseKind,
  { clock: clockOf = () => eagerClock(NOW), check = checkBooks }: BookingTestOptions = {},
) {
  return (sentence: string, body: (ctx: TestBooking) => Promise<void>): void => {
    Deno.test({
      name: `${kind.name}: ${sentence}`,
      ignore: kind.ignore,
      async fn() {
        await using database = await kind.create();
        const clock = clockOf();
        const ctx = await createBooking(await database.open({ clock }), { clock });
        await body(ctx);
        await check(ctx);
        await ctx.rollUps.ended();
      },
    });
  };
}

async function checkBooks(ctx: TestBooking): Promise<void> {
  await checkLog(ctx);
  await checkTotals(ctx.store);
}
