import type { Clock } from "../kernel/clock.ts";
import type { NanoUsd } from "../kernel/money.ts";
import { scopesOf } from "../ledger/mod.ts";
import type { Statement, Store } from "../store/mod.ts";
import {
  type CallBounds,
  decideCall,
  decideElsewhere,
  outputOf,
  type Refusal,
  type ReservedAmounts,
  type Standing,
} from "./decide_call.ts";
import type { KnownBudgets } from "./known/mod.ts";
import { countRefusals, wouldRefuse } from "./refusals.ts";
import {
  freeGoneReservations,
  freeRunStatements,
  freeStatements,
  loseStatements,
  renewStatement,
  RESERVATION_MS,
  reservationWriter,
  writeElsewhere,
} from "./reservations/reservations.ts";
import type { ElsewhereRequest, ReservedUntil } from "./reservations/reserve_elsewhere.ts";
import { readStandingsOf } from "./standings.ts";
import {
  type AskNotifier,
  isAskable,
  mayBeApproved,
  openTickets,
  readTickets,
  withTickets,
} from "./tickets/open_tickets.ts";
import type { CallScopes, CallToDecide } from "./call_to_decide.ts";

/** A request to make a call. */
export type CallRequest = CallScopes & {
  /** Returns the bounds of the call at a time. Its worst case is computed only with `withWorst`, where a strict budget may count it. */
  bound(at: number, withWorst: boolean): CallBounds;
  /** Returns the calls that may be made instead, which every budget has to allow too. */
  others?(): readonly Pick<CallRequest, "subjects" | "bound">[];
  /** Ends the wait for room. It is created when it is read, so only a call that waits reads it. */
  readonly signal?: AbortSignal | undefined;
  /** True for a call whose caller waits minutes for a person who is asked for more; else it waits as long as for room. */
  waitsLong?: boolean;
  /** Called when it begins to wait for a person, with the budgets that ask. */
  asks?(refusals: readonly Refusal[]): void;
};

/** Permission to make one call. Its reservation is held until the call is booked or released. */
export interface Grant {
  reservationId: string;
  scopes: CallScopes;
  amounts: ReservedAmounts;
  /** The upper limit of output tokens, where a strict budget counts the call. */
  outputLimit?: number;
  /** True if a strict budget counts the call: what it may cost at most is reserved. */
  isStrict: boolean;
  /**
   * Set before a strict call is booked whose provider has not reported its usage: the amount that it may have cost beyond the
   * booked estimate. It stays held in its budgets.
   */
  lostNanoUsd?: NanoUsd;
}

/** The answer of the gate to a request. `grant` is undefined if no budget counts the call. */
export type Admission =
  | { go: true; grant: Grant | undefined; at: number }
  | { go: false; refusals: Refusal[] };

/** Shares budgets among concurrent calls by reservations in the database, over any number of processes. */
export interface BudgetGate {
  /** Reserves the cost of a call, waiting for room where needed, or refuses. Rejects with the reason of an aborted signal. */
  admit(request: CallRequest): Promise<Admission>;
  /** Reserves for a call that is made elsewhere, or refuses; it never waits. */
  admitElsewhere(
    request: ElsewhereRequest,
  ): Promise<{ go: true } & ReservedUntil | { go: false; refusals: Refusal[] }>;
  /** Reports that the call of a grant was committed, and its reservation freed with it. */
  booked(grant: Grant): void;
  /** Frees the reservation of a call that was not sent, or not charged; where that fails, it is tried again later. */
  release(grant: Pick<Grant, "reservationId">): Promise<void>;
  /** Keeps the reservation of a call that waits in the spool until it is booked, also beyond the end of its run. */
  keep(grant: Grant): void;
  /**
   * Ends a call that may have been charged and is not booked: what strict budgets reserve for it stays held, what others
   * reserve is freed.
   */
  hold(grant: Grant): Promise<void>;
  /** Returns the statements that free the reservations of a run, for the unit that ends it. */
  endRun(runId: string): Statement[];
  /**
   * Renews the leases of this process's reservations, in one statement. It is called at least every `RENEW_MS`, and writes
   * only if a call has been in progress for that long.
   */
  renew(): Promise<void>;
  /** Tries once more to free the reservations that could not be freed. */
  close(): Promise<void>;
}

/** The interval at which reservations are renewed. Leases are three times as long, so that one failed renewal ends none. */
export const RENEW_MS = RESERVATION_MS / 3;

/** Reservations are not renewed after this time: a stream that its caller has dropped would hold one for good. */
const LONGEST_CALL_MS = 2 * 3_600_000;

/** The longest time that a call waits until calls in flight free their reservations in a shared budget. */
export const LONGEST_WAIT_MS = 30_000;

const FIRST_POLL_MS = 50;
const LONGEST_POLL_MS = 500;

/** The interval at which a call that waits for a person looks for the answer, and that at which its budgets are read again. */
const ANSWER_POLL_MS = 1_000;
const ASKING_MS = 5_000;

/** A call that fits by what was read, but loses the room to others, tries so often before it pauses. */
const ATTEMPTS = 5;

/**
 * Creates the budget gate of a process. It writes the reservation on the condition that it fits in every budget, without a
 * read before; only if it does not fit, it decides on the state of the database.
 */
export function createBudgetGate(options: {
  store: Store;
  clock: Clock;
  /** This process, as the holder of reservations. */
  instanceId: string;
  newId: (kind: "req" | "rsv" | "tkt" | "alert") => string;
  known: KnownBudgets;
  /** Without it, a budget whose action is ask refuses. */
  notifier?: AskNotifier;
  /** The time that a call with `waitsLong` waits for a person. */
  approvalTimeoutMs?: number;
}): BudgetGate {
  const { store, clock, instanceId, known, notifier, approvalTimeoutMs = LONGEST_WAIT_MS } = options;
  const tickets = notifier && { store, newId: options.newId, notifier };
  const newReservationId = () => `${instanceId}/${options.newId("req")}`;
  /** Reservations that this process renews, with the monotonic times at which they were made. */
  const inFlight = new Map<string, number>();
  /** Reservations of calls that were sent and are not booked: the end of their run doesn't free them. */
  const held = new Set<string>();
  /** Reservations whose write has failed, so that they may exist or may still be committed, each with the time of the failure. */
  const unfreed = new Map<string, number>();
  let renewedAt = -Infinity;
  let hasReserved = false;
  /** Wakes the calls of this process that wait for room. */
  const waiting = new Set<AbortController>();
  /** The number of times that room was made. */
  let wakes = 0;

  async function reserve(request: CallRequest, call: CallToDecide, outputLimit: number | undefined) {
    if (!hasReserved) {
      await store.instances.hold(instanceId);
      hasReserved = true;
    }
    const { isReserved, isStrict } = await store.writeInSet(reservationWriter, call)
      .catch((error) => {
        unfreed.set(call.reservationId, clock.monotonic()); // it may be committed nevertheless, even later
        throw error;
      });
    if (!isReserved) return undefined;
    inFlight.set(call.reservationId, clock.monotonic());
    const { budget, above, subjects } = request;
    return {
      reservationId: call.reservationId,
      scopes: { ...scopesOf(request), budget, above, ...(subjects && { subjects }) },
      amounts: call.amounts,
      ...(isStrict && outputLimit !== undefined && { outputLimit }),
      isStrict,
    };
  }

  /** Frees reservations, which are not renewed from now on. */
  async function free(grants: readonly Pick<Grant, "reservationId">[]): Promise<void> {
    const ids = grants.map(({ reservationId }) => reservationId);
    for (const id of ids) inFlight.delete(id);
    try {
      await store.write(freeStatements(ids));
    } catch (error) {
      for (const id of ids) unfreed.set(id, clock.monotonic());
      throw error;
    }
    wake();
  }

  /** Tries again to free these reservations; each for two leases, since a write that was given up may be committed late. */
  async function freeAgain(): Promise<void> {
    if (unfreed.size === 0) return;
    const until = clock.monotonic() - 2 * RESERVATION_MS;
    await store.write(freeStatements([...unfreed.keys()]));
    for (const [id, since] of unfreed) if (since <= until) unfreed.delete(id);
    wake();
  }

  /** Waits. Returns early when room is made, and at once if room was made after the caller has read the state. */
  async function pause(delayMs: number, readAt: number, signal: AbortSignal | undefined): Promise<void> {
    if (wakes !== readAt) return;
    const woken = new AbortController();
    waiting.add(woken);
    try {
      await clock.sleep(delayMs, signal ? AbortSignal.any([signal, woken.signal]) : woken.signal);
    } finally {
      waiting.delete(woken);
    }
  }

  function wake(): void {
    wakes++;
    for (const pause of waiting) pause.abort();
  }

  /** Adds the call to the counts of the watching budgets that would have refused it. */
  async function countWatched(call: CallToDecide, bounds: CallBounds): Promise<void> {
    const standings = await readStandingsOf({ store }, call);
    const watched = standings.filter((standing) =>
      standing.action === "watch" && wouldRefuse(standing, bounds)
    );
    if (watched.length > 0) await store.write(countRefusals(watched, clock.now()));
  }

  /** Waits until a ticket is answered, for so long at most. Rejects with the reason of an aborted signal. */
  async function awaitAnswer(refusals: readonly Refusal[], waitMs: number, signal: AbortSignal | undefined) {
    const ids = refusals.map(({ ticket }) => ticket!.ticketId);
    const until = clock.monotonic() + waitMs;
    for (;;) {
      await clock.sleep(Math.min(ANSWER_POLL_MS, until - clock.monotonic()), signal);
      signal?.throwIfAborted();
      const states = await readTickets({ store }, ids, clock.now());
      const read = refusals.map((each) => ({ ...each, ticket: states.get(each.ticket!.ticketId) }));
      if (clock.monotonic() >= until || read.some(({ ticket }) => ticket?.state !== "waiting")) return read;
    }
  }

  return {
    async admit(request) {
      const { budget, above = [] } = request;
      await known.refresh();
      const ofRuns = [budget, ...above.map((run) => run.budget)].filter((each) => each !== null);
      if (!known.mayExist && ofRuns.length === 0) return { go: true, grant: undefined, at: clock.now() };
      for (const { subjects, bound } of request.others?.() ?? []) {
        // Nothing is reserved in budgets of another model alone: mostly the call is not made under it.
        const at = clock.now();
        const standings = await readStandingsOf({ store }, { scopes: { ...request, subjects }, at });
        const decision = decideCall({ standings, call: bound(at, true) });
        if (!decision.go && !decision.wait) return await refuse(decision.refusals);
      }
      const isStrict = ofRuns.some(({ mode }) => mode === "strict");
      let standings: Standing[] = [];
      let since: number | undefined;
      let delayMs = FIRST_POLL_MS;
      let attempts = 0;
      let readAt = wakes;
      let asked: Refusal[] | undefined;
      let askedAt: number | undefined;
      for (;;) {
        const at = clock.now();
        const withWorst = isStrict || known.mayBeStrict;
        const bounds = request.bound(at, withWorst);
        const decision = decideCall({ standings, call: bounds });
        if (decision.go) {
          const call: CallToDecide = {
            reservationId: newReservationId(),
            scopes: request,
            at,
            amounts: decision.amounts,
            isUnpriced: bounds.isUnpriced,
            leaseMs: RESERVATION_MS,
            mayLose: !withWorst,
          };
          const grant = await reserve(request, call, decision.outputLimit ?? outputOf(bounds));
          if (grant) {
            if (known.mayWatch) await countWatched(call, bounds).catch(() => {});
            return { go: true, grant, at };
          }
          readAt = wakes;
          standings = await readStandingsOf({ store }, call);
          if (standings.length === 0) return { go: true, grant: undefined, at }; // no budget counts it
          known.mayBeStrict ||= standings.some(({ mode }) => mode === "strict");
          if (++attempts % ATTEMPTS === 0) await pause(FIRST_POLL_MS, readAt, request.signal);
          request.signal?.throwIfAborted();
          continue;
        }
        if (!decision.wait && tickets && decision.refusals.every(isAskable)) {
          asked = withTickets(decision.refusals, asked) ??
            await openTickets(tickets, decision.refusals, { scopes: request, call: bounds, at });
          const longestMs = request.waitsLong ? approvalTimeoutMs : LONGEST_WAIT_MS;
          if (askedAt === undefined && mayBeApproved(asked)) request.asks?.(asked);
          askedAt ??= clock.monotonic();
          const leftMs = askedAt + longestMs - clock.monotonic();
          if (leftMs <= 0 || !mayBeApproved(asked)) return await refuse(asked);
          asked = await awaitAnswer(asked, Math.min(leftMs, ASKING_MS), request.signal);
          readAt = wakes;
          standings = await readStandingsOf({ store }, { scopes: request, at: clock.now() });
          continue;
        }
        if (!decision.wait) return await refuse(decision.refusals);
        // A run waits for its own calls as long as they take.
        const shared = decision.held.filter(({ standing }) => standing.budgetId !== null);
        since = shared.length === 0 ? undefined : since ?? clock.monotonic();
        if (since !== undefined && clock.monotonic() - since >= LONGEST_WAIT_MS) return await refuse(shared);
        const { signal } = request;
        await pause(delayMs, readAt, signal);
        delayMs = Math.min(delayMs * 1.5, LONGEST_POLL_MS);
        signal?.throwIfAborted();
        await freeGoneReservations({ store, instanceId });
        readAt = wakes;
        standings = await readStandingsOf({ store }, { scopes: request, at: clock.now() });
      }
    },

    async admitElsewhere(request) {
      const { estimateNanoUsd, worstNanoUsd, ttlMs, alongWith } = request;
      const call: CallToDecide = {
        reservationId: options.newId("rsv"),
        scopes: { ...scopesOf({ ...request, runId: null }), budget: null, subjects: request.subjects },
        at: clock.now(),
        amounts: { estimateNanoUsd, worstNanoUsd },
        isUnpriced: false,
        leaseMs: ttlMs,
      };
      const bounds: CallBounds = {
        estimateNanoUsd,
        isUnpriced: false,
        ...(worstNanoUsd !== null && { worst: { costNanoUsd: worstNanoUsd } }),
      };
      const made = { reservationId: call.reservationId, expiresAt: call.at + ttlMs };
      await known.refresh();
      for (;;) {
        const isReserved = await writeElsewhere(store, call, alongWith?.(made) ?? []);
        if (isReserved && known.mayWatch) await countWatched(call, bounds).catch(() => {});
        if (isReserved) return { go: true, ...made };
        await freeGoneReservations({ store, instanceId });
        const standings = await readStandingsOf({ store }, call);
        const refusals = decideElsewhere({ standings, call: bounds });
        if (refusals.length > 0 && tickets && refusals.every(isAskable)) {
          return await refuse(
            await openTickets(tickets, refusals, { scopes: call.scopes, call: bounds, at: call.at }),
          );
        }
        if (refusals.length > 0) return await refuse(refusals); // else others have ended meanwhile
      }
    },

    booked({ reservationId }) {
      held.delete(reservationId);
      inFlight.delete(reservationId);
      wake();
    },

    release: (grant) => free([grant]),

    keep: ({ reservationId }) => void held.add(reservationId),

    async hold(grant) {
      const { reservationId, isStrict, amounts } = grant;
      if (!isStrict || !amounts.worstNanoUsd) return await free([grant]);
      held.add(reservationId);
      inFlight.delete(reservationId);
      await store.write(loseStatements([{ reservationId, lostNanoUsd: amounts.worstNanoUsd }]));
      wake();
    },

    endRun: (runId) => hasReserved ? freeRunStatements(runId, held) : [], // a process that has reserved nothing frees nothing

    async renew() {
      const now = clock.monotonic();
      if (now - renewedAt < RENEW_MS / 2) return; // another caller has just done it
      await freeAgain();
      const old: string[] = [];
      for (const [reservationId, since] of inFlight) {
        if (now - since > LONGEST_CALL_MS) inFlight.delete(reservationId);
        else if (now - since >= RENEW_MS) old.push(reservationId);
      }
      if (old.length === 0) return;
      await store.write([renewStatement(old)]);
      renewedAt = now;
    },

    async close() {
      await freeAgain().catch(() => {}); // else their lease ends them
    },
  };

  async function refuse(refusals: Refusal[]): Promise<Admission & { go: false }> {
    const counted = countRefusals(refusals.map(({ standing }) => standing), clock.now());
    if (counted.length > 0) await store.write(counted).catch(() => {}); // it is refused, whether it is counted or not
    return { go: false, refusals };
  }
}
