import type { BookedReport } from "../contract/cost_events.ts";
import { inArray, sql } from "drizzle-orm";
import { PurserError } from "../kernel/errors.ts";
import { type ModelCall, toModelCall } from "../ledger/mod.ts";
import { ConstraintError, tables } from "../store/mod.ts";
import { bookLooseCalls } from "./book_call.ts";
import type { BookingContext } from "./context.ts";
import { isSameReport, type ReportedCall, toReportedModelCall } from "./reported_call.ts";

const { calls: ledger } = tables;

/**
 * Books calls made elsewhere, all or none. Idempotent by `call_id`.
 *
 * @throws {PurserError} `invalid`; `conflict` when a call is known with other content
 */
export async function bookReportedCalls(
  ctx: BookingContext,
  reports: readonly ReportedCall[],
): Promise<BookedReport> {
  await ctx.prices.ready?.();
  const { calls, repeated } = withoutRepeats(
    reports.map((report, index) => toReportedModelCall(ctx, report, index)),
  );
  // Nothing is looked up before: nearly every report is new, and the ledger itself refuses a call that it has.
  for (let fresh: readonly ModelCall[] = calls;;) {
    if (fresh.length === 0) return { booked: 0, duplicates: reports.length, unpriced: 0 };
    try {
      await bookLooseCalls(ctx, fresh);
    } catch (error) {
      if (!(error instanceof ConstraintError)) throw error;
      const left = await findFresh(ctx, calls);
      if (left.length === fresh.length) throw error;
      fresh = left;
      continue;
    }
    return {
      booked: fresh.length,
      duplicates: calls.length - fresh.length + repeated,
      unpriced: fresh.filter((call) => call.costNanoUsd === null).length,
    };
  }
}

/** One report may tell of a call twice; it counts once. */
function withoutRepeats(calls: readonly ModelCall[]): { calls: ModelCall[]; repeated: number } {
  const byId = new Map<string, ModelCall>();
  for (const call of calls) {
    const first = byId.get(call.callId);
    if (first && !isSameReport(first, call)) throw conflict(call.callId, "this request");
    byId.set(call.callId, first ?? call);
  }
  return { calls: [...byId.values()], repeated: calls.length - byId.size };
}

/** The calls that are not in the ledger. */
async function findFresh(ctx: BookingContext, calls: readonly ModelCall[]): Promise<ModelCall[]> {
  const known = await findKnown(ctx, calls);
  return calls.filter((call) => !isKnown(call, known));
}

async function findKnown(ctx: BookingContext, calls: readonly ModelCall[]): Promise<Map<string, ModelCall>> {
  const ids = JSON.stringify(calls.map((call) => call.callId));
  const rows = await ctx.query.select().from(ledger)
    .where(inArray(ledger.callId, sql`(SELECT value FROM json_each(${ids}))`));
  return new Map(rows.map((row) => [row.callId, toModelCall(row)]));
}

function isKnown(call: ModelCall, known: ReadonlyMap<string, ModelCall>): boolean {
  const booked = known.get(call.callId);
  if (booked === undefined) return false;
  if (isSameReport(booked, call)) return true;
  throw conflict(call.callId, "the ledger");
}

function conflict(callId: string, where: string): PurserError {
  return new PurserError(
    "conflict",
    `Cannot book call ${callId}: it is in ${where} with other content; nothing of this request was booked`,
    { details: { call_id: callId } },
  );
}
