import type { Grant } from "../budgets/reservations/mod.ts";
import { messageOf } from "../kernel/errors.ts";
import { type ModelCall, toCostEvent } from "../ledger/mod.ts";
import { countSteps } from "../sessions/mod.ts";
import { checkWritable, ConstraintError } from "../store/mod.ts";
import { bookLooseCalls } from "./book_call.ts";
import type { CallContext } from "./context.ts";
import { type CallSpool, type KeptCall, readLedgerId, type SpooledCall } from "./spool/mod.ts";

/*
 * A call that was made and can't be booked goes into the spool of this process. Once the ledger takes writes again, this process
 * or a later one books it. Its reservation stays until then.
 */

/**
 * Books a call of `meter()` or the gateway that was made. Resolves once it is durable: in the ledger, or in the spool.
 *
 * @throws the reason that it could not be booked, if it could not be spooled either
 */
export async function bookMadeCall(ctx: CallContext, call: ModelCall, grant?: Grant): Promise<void> {
  try {
    await bookLooseCalls(ctx, [call], { grant });
  } catch (error) {
    await keepCall(ctx, { call, grant }, error);
  }
}

/**
 * Spools a call that was made and could not be booked; resolves once it is on the disk. With `isClaimed`, its run tries again to
 * book it, and then calls `done()`; if it can't, it calls `giveUpClaim()`.
 *
 * @throws the given reason, if it can't be spooled
 */
export async function keepCall(
  ctx: CallContext,
  { call, grant }: { call: ModelCall; grant: Grant | undefined },
  reason: unknown,
  { isClaimed = false }: { isClaimed?: boolean } = {},
): Promise<KeptCall> {
  ctx.callSpool.isLedgerDown = true;
  let kept: KeptCall;
  try {
    kept = await ctx.callSpool.write({ call, grant });
  } catch (error) {
    // The money is spent: a call that is neither in the ledger nor in the spool must at least be in the log.
    ctx.log.error("A model call was made and could not be booked", {
      cost_event: toCostEvent(call),
      reason: messageOf(reason),
      ...(ctx.callSpool.folder !== null && { not_spooled: messageOf(error) }),
    });
    // If this fails, strict budgets hold it anyway once its lease has ended.
    if (grant) await ctx.gate.hold(grant).catch(() => {});
    throw reason;
  }
  kept.isClaimed = isClaimed;
  if (grant) ctx.gate.keep(grant);
  ctx.log.warn("A model call was made and waits in the spool until the ledger takes it", {
    call_id: call.callId,
    folder: ctx.callSpool.folder,
    reason: messageOf(reason),
  });
  if (!isClaimed) void retry(ctx);
  return kept;
}

/** Leaves a claimed call to the spool, since its run could not book it. If the ledger `hasAnswered`, it is booked at once. */
export async function giveUpClaim(
  ctx: CallContext,
  kept: KeptCall,
  { hasAnswered }: { hasAnswered: boolean },
): Promise<void> {
  kept.isClaimed = false;
  if (hasAnswered) await bookKept(ctx);
  void retry(ctx);
}

/**
 * Checks that the ledger takes writes again if it has refused a booking. Until it does, no call is made.
 *
 * @throws {PurserError} `unavailable`
 */
export async function requireLedger(ctx: CallContext): Promise<void> {
  if (!ctx.callSpool.isLedgerDown) return;
  await checkWritable(ctx.store);
  ctx.callSpool.isLedgerDown = false;
}

/** The pause before the spool is tried again. */
const RETRY_MS = 1_000;

/** Returns true the first time it is asked about `what`. */
function isNew({ callSpool: { logged } }: CallContext, what: string): boolean {
  return logged.size < logged.add(what).size;
}

/** Books what this process has spooled, once the ledger takes it. */
async function retry(ctx: CallContext): Promise<void> {
  const { callSpool: spool, clock } = ctx;
  if (spool.isRetrying) return;
  spool.isRetrying = true;
  while (waitingIn(spool).length > 0 && !spool.stopping.aborted) {
    await clock.sleep(RETRY_MS, spool.stopping);
    if (!spool.stopping.aborted) await bookKept(ctx);
  }
  spool.isRetrying = false;
}

function waitingIn(spool: CallSpool): KeptCall[] {
  return spool.kept().filter(({ isClaimed, call }) => !isClaimed && !spool.logged.has(call.callId));
}

async function bookKept(ctx: CallContext): Promise<void> {
  const booked = await Promise.all(
    waitingIn(ctx.callSpool).map(async (kept) => {
      const outcome = await bookSpooled(ctx, kept);
      // If this fails, the next attempt finds it in the ledger.
      if (outcome !== "waits") await kept.done().catch(() => {});
      return outcome;
    }),
  );
  report(ctx, booked);
}

/** Books what dead processes have spooled. Any process may do this at any time; a call that can't be booked waits for the next time. */
export async function bookLeftCalls(ctx: CallContext): Promise<void> {
  for (const { file, calls, remove } of await ctx.callSpool.readLeft()) {
    const own = await ofThisLedger(ctx, calls);
    const booked = await Promise.all(own.map((spooled) => bookSpooled(ctx, spooled)));
    report(ctx, booked, file);
    if (own.length < calls.length && isNew(ctx, file)) {
      ctx.log.error("A spool has calls of another database that was at the same path", { file });
    }
    if (own.length === calls.length && !booked.includes("waits")) await remove();
  }
}

/** Leaves out the calls of another ledger that was at the same path. */
async function ofThisLedger(
  ctx: CallContext,
  calls: readonly SpooledCall[],
): Promise<readonly SpooledCall[]> {
  if (calls.length === 0) return calls;
  const id = await readLedgerId(ctx.store);
  return calls.filter(({ ledger }) => ledger === null || ledger === id);
}

/** The fate of a spooled call: booked now, found in the ledger, or not booked yet. */
type Outcome = "booked" | "known" | "waits";

/** Books a spooled call under its own id and time, unless it is in the ledger already. */
async function bookSpooled(ctx: CallContext, { call, grant }: SpooledCall): Promise<Outcome> {
  try {
    await bookLooseCalls(ctx, [call], { grant });
    ctx.callSpool.isLedgerDown = false;
    if (call.runId !== null) await countSteps(ctx, call.runId).catch(() => {});
    return "booked";
  } catch (error) {
    if (!(error instanceof ConstraintError)) return "waits";
    const isBooked = await isInLedger(ctx, call.callId).catch(() => undefined);
    // Its first commit has settled the reservation, too.
    if (isBooked && grant) ctx.gate.booked(grant);
    if (isBooked === false) reportRefused(ctx, call, error);
    return isBooked === true ? "known" : "waits";
  }
}

/** Logs a call that the database refuses; it stays in the spool. */
function reportRefused(ctx: CallContext, call: ModelCall, error: unknown): void {
  if (!isNew(ctx, call.callId)) return;
  ctx.log.error("A call in the spool is refused by the database", {
    cost_event: toCostEvent(call),
    reason: messageOf(error),
  });
}

async function isInLedger({ store }: CallContext, callId: string): Promise<boolean> {
  return (await store.read({ sql: "SELECT 1 FROM calls WHERE call_id = ?", args: [callId] })).rows.length > 0;
}

function report({ log }: CallContext, outcomes: readonly Outcome[], file?: string): void {
  const calls = outcomes.filter((outcome) => outcome === "booked").length;
  if (calls > 0) log.warn("Calls that waited in the spool are booked", { calls, ...(file && { file }) });
}
