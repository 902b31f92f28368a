import { PurserError } from "../errors.ts";
import { type ModelCall, recordCalls } from "../ledger/mod.ts";
import { ConstraintError, toObjects } from "../store/mod.ts";
import { logCalls, publishCost, readSettled, settle } from "./book_call.ts";
import type { BookingContext } from "./context.ts";
import { type ReportedCall, toReportedModelCall } from "./reported_call.ts";

/** What became of a report. */
export interface BookedReport {
  /** Calls that are in the ledger now and were not before. */
  booked: number;
  /** Calls that had been booked before, with the same content. */
  duplicates: number;
  /** Newly booked calls without a known price. */
  unpriced: number;
}

const FIND = "SELECT call_id, fingerprint FROM calls WHERE call_id IN (SELECT value FROM json_each(?))";
const MAX_RACES = 5;

/**
 * Books calls made elsewhere, all or none. Idempotent by `call_id`.
 *
 * @throws {PurserError} `invalid`, or `conflict` when a call is known with other content
 */
export async function bookReportedCalls(
  ctx: BookingContext,
  reports: readonly ReportedCall[],
): Promise<BookedReport> {
  const { calls, repeated } = withoutRepeats(
    reports.map((report, index) => toReportedModelCall(ctx, report, index)),
  );
  for (let attempt = 0;; attempt++) {
    const known = await findKnown(ctx, calls);
    const fresh = calls.filter((call) => !isKnown(call, known));
    if (fresh.length === 0) return { booked: 0, duplicates: reports.length, unpriced: 0 };
    try {
      const results = await ctx.store.write([...recordCalls(fresh), ...logCalls(fresh), readSettled(fresh)]);
      settle(ctx, results.at(-1)!);
    } catch (error) {
      // Somebody booked one of them since we looked: look again.
      if (error instanceof ConstraintError && attempt < MAX_RACES) continue;
      throw error;
    }
    for (const call of fresh) publishCost(ctx, call, null);
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
    if (first && first.fingerprint !== call.fingerprint) throw conflict(call.callId, "this request");
    byId.set(call.callId, first ?? call);
  }
  return { calls: [...byId.values()], repeated: calls.length - byId.size };
}

async function findKnown(
  ctx: BookingContext,
  calls: readonly ModelCall[],
): Promise<Map<string, string | null>> {
  const result = await ctx.store.read({
    sql: FIND,
    args: [JSON.stringify(calls.map((call) => call.callId))],
  });
  const rows = toObjects<{ call_id: string; fingerprint: string | null }>(result);
  return new Map(rows.map((row) => [row.call_id, row.fingerprint]));
}

function isKnown(call: ModelCall, known: ReadonlyMap<string, string | null>): boolean {
  const fingerprint = known.get(call.callId);
  if (fingerprint === undefined) return false;
  if (fingerprint === call.fingerprint) return true;
  throw conflict(call.callId, "the ledger");
}

function conflict(callId: string, where: string): PurserError {
  return new PurserError(
    "conflict",
    `Cannot book call ${callId}: it is in ${where} with other content; nothing of this request was booked`,
    { details: { call_id: callId } },
  );
}
