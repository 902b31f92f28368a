import { advanceCounters, decideAlerts, readFired, warnOfBudgets } from "../alerts/mod.ts";
import type { BookedScopes } from "../budgets/mod.ts";
import {
  freeReported,
  type Grant,
  type ReservedElsewhere,
  settleReservations,
} from "../budgets/reservations/mod.ts";
import {
  HAS_ENABLED_RULES,
  type ModelCall,
  recordCalls,
  recordPrices,
  recordUpstreams,
  rollUpTotals,
  scopesOf,
} from "../ledger/mod.ts";
import {
  appendEvents,
  appendMessages,
  countInSessions,
  type Progress,
  type RunRef,
  type RunState,
} from "../sessions/mod.ts";
import type { ResultSet, SetWriter, Statement } from "../store/mod.ts";
import type { CallContext } from "./context.ts";
import { withdrawLesser } from "./sightings/entries.ts";
import { LONG_SET, SIGHTED_UNITS } from "./sightings/known_calls.ts";

/** The booking of one caller: committed as a whole or not at all. */
export interface Booking {
  calls: readonly ModelCall[];
  /** The run that has made the call, and its progress since the last commit; such a booking has one call. */
  run?: { ref: RunRef; progress: Progress };
  grant?: Grant;
  /** The reservations that reported calls settle. */
  settles?: readonly ReservedElsewhere[];
  /** The changes that witnesses of calls have led to. Such a booking has a commit of its own. */
  witnessed?: {
    /** The statements before the calls are booked, and after. */
    before: readonly Statement[];
    after: readonly Statement[];
    /** The calls whose counts have changed. */
    amended: readonly ModelCall[];
  };
  /** True where a power loss may undo the commit: the caller waits for a later one, which is flushed. */
  mayLose?: boolean;
}

/** The state of a run after a booking. */
export interface BookedRun extends RunState {
  /** The seq of the last event, `cost.recorded`, in the session's log. */
  lastSeq: number;
}

/** The result of the commit of a booking. */
export interface Booked {
  /** Set for the booking of a run. */
  run?: BookedRun;
  ledger: LedgerState;
  /** The ids of the alerts that the commit fired. The first booking of a commit has them, the others have none. */
  fired: readonly string[];
  /** True if it was planned as if there were no sightings, and there are. */
  hasMissedSightings: boolean;
}

/** The state of the ledger right after the commit. */
export interface LedgerState {
  hasRules: boolean;
  /** The number of calls after those in the totals of reports. */
  unrolledCalls: number;
  /** The number of calls after those in the counters, on which rules and budgets are decided. */
  undecidedCalls: number;
  /** True if there are witnesses of calls other than their callers. */
  hasSightings: boolean;
}

// Searched from the end of the log, where the seq is.
const READ_RUNS = `SELECT v.call_id, coalesce((SELECT e.seq FROM events e
    WHERE e.session_id = v.session_id AND e.call_id = v.call_id ORDER BY e.seq DESC LIMIT 1), 0),
  CASE WHEN s.active_run_id = v.run_id THEN 1 ELSE 0 END, coalesce(r.cancel_requested, 0)
FROM each_row v LEFT JOIN sessions s ON s.session_id = v.session_id LEFT JOIN runs r ON r.run_id = v.run_id`;
const RUN_COLUMNS = ["call_id", "session_id", "run_id"];

/** SQL for a {@link LedgerState}. */
export const READ_LEDGER = `SELECT ${HAS_ENABLED_RULES},
  p.newest - (SELECT position FROM rollup_positions WHERE name = 'totals'),
  p.newest - (SELECT position FROM rollup_positions WHERE name = 'decisions'),
  ${SIGHTED_UNITS}
FROM (SELECT coalesce(max(position), 0) AS newest FROM calls) p`;

/**
 * A booking under a budget advances the counters once this many calls follow them. Fewer are added up by each that reads the
 * budget, which is cheaper.
 */
const MAX_UNDECIDED_CALLS = 16;

/** The number of calls after the totals from which they are rolled up: in the commit of a set of so many, else after one. */
export const MAX_TAIL = 512;

/** The writer of bookings: one per process, so that waiting bookings share a commit. */
export type BookingWriter = SetWriter<Booking, Booked>;

/**
 * Creates the writer of bookings: it commits ledger rows, events, messages, sessions and reservations of all waiting
 * bookings together, in a constant number of statements and without a read before the write.
 */
export function createBookingWriter(
  ctx: Pick<CallContext, "clock" | "ids" | "rules" | "budgets" | "outboxChannels">,
): BookingWriter {
  /** See `LedgerState`; as of the last commit. */
  let undecidedCalls = 0;
  /** As of the last commit, as it costs bookings two statements; before the first one it may be so. */
  let hasSightings = true;
  /** The rate cards that are in the database. */
  const knownPrices = new Set<number>();
  /** The ids of the upstreams that are in the database. */
  const knownUpstreams = new Set<number>();
  return {
    sizeOf,
    mayLose: ({ mayLose }) => mayLose === true,
    isLong: ({ witnessed, calls }) => witnessed !== undefined && calls.length >= LONG_SET,
    fits: (booking, others) =>
      !booking.witnessed && !others.some(({ witnessed }) => witnessed) &&
      hasOneRunPerSession(booking, others),
    plan(bookings) {
      const calls = bookings.flatMap((booking) => booking.calls);
      const { statements: prices, priceIds } = recordPrices(calls, knownPrices);
      const { statements: upstreams, upstreamIds } = recordUpstreams(calls, knownUpstreams);
      const mayHaveSightings = hasSightings;
      const statements = [
        ...prices,
        ...upstreams,
        // First what refuses the unit if the calls have changed since they were read.
        ...bookings.flatMap(({ witnessed }) => witnessed?.before ?? []),
        ...mayHaveSightings ? withdrawLesser(calls) : [],
        ...recordCalls(calls),
        ...writeSessions(bookings),
        ...bookings.flatMap(({ witnessed }) => witnessed?.after ?? []),
      ];
      /** The statements that fire alerts. */
      const firing: number[] = [];
      const add = (decisions: readonly Statement[]) => {
        if (decisions.length === 0) return;
        statements.push(...decisions);
        firing.push(statements.length - 1);
      };
      // Before the rest, which reads the counters and the calls after them.
      const isLong = calls.length >= (bookings.some(isSighted) ? LONG_SET : MAX_TAIL);
      add(passOf(bookings, calls.length, isLong));
      if (isLong) statements.push(...rollUpTotals());
      const reading = readRuns(bookings);
      const runs = reading.length > 0 ? statements.push(...reading) - 1 : undefined;
      if (ctx.budgets.mayExist) {
        add(warnOfBudgets(ctx, toBookedScopes(bookings, ctx.clock.now())));
      }
      statements.push(...settle(bookings), { sql: READ_LEDGER });
      return {
        statements,
        read(results) {
          for (const priceId of priceIds) knownPrices.add(priceId);
          for (const upstreamId of upstreamIds) knownUpstreams.add(upstreamId);
          const ledger = toLedgerState(results.at(-1)!);
          undecidedCalls = ledger.undecidedCalls;
          hasSightings = ledger.hasSightings;
          const states = runs === undefined ? undefined : toRunStates(results[runs]!);
          const fired = firing.flatMap((index) => readFired(results.slice(0, index + 1)));
          return bookings.map((booking, index) => ({
            ledger,
            run: booking.run && states?.get(booking.calls[0]!.callId),
            fired: index === 0 ? fired : [],
            hasMissedSightings: ledger.hasSightings && !mayHaveSightings,
          }));
        },
      };
    },
  };

  function passOf(bookings: readonly Booking[], calls: number, isLong: boolean): Statement[] {
    if (ctx.rules.mayExist) return decideAlerts(ctx, calls);
    const isBudgeted = ctx.budgets.mayExist || bookings.some(({ grant }) => grant);
    const isDue = isLong || (isBudgeted && undecidedCalls >= MAX_UNDECIDED_CALLS);
    return isDue ? advanceCounters(ctx) : [];
  }
}

/** Ends the reservations of booked calls. */
function settle(bookings: readonly Booking[]): Statement[] {
  const grants = bookings.flatMap(({ grant }) => grant ?? []);
  return [...settleReservations(grants), ...freeReported(bookings.flatMap(({ settles }) => settles ?? []))];
}

/** The scopes that booked calls count in, as of now. */
function toBookedScopes(bookings: readonly Booking[], now: number): BookedScopes[] {
  return bookings.flatMap(({ calls, grant, witnessed }) =>
    [...calls, ...witnessed?.amended ?? []].map((call) => {
      const billing = call.planNanoUsd === undefined ? "billed" : "plan";
      return {
        scopes: {
          ...(grant?.scopes ?? { ...scopesOf(call), budget: null }),
          subjects: { ...call, billing },
        },
        at: now,
        // One that was made for a call that another one pays for has asked other budgets.
        reservationId: grant?.scopes.subjects?.billing === billing ? grant.reservationId : null,
      };
    })
  );
}

/** Appends events and messages, and counts them in their sessions. */
function writeSessions(bookings: readonly Booking[]): Statement[] {
  const events = bookings.flatMap(({ run, calls }) => [
    ...(run?.progress.events ?? []).map((event) => ({ ...run!.ref, event })),
    ...calls.filter(isLogged).map((call) => ({
      ...(run?.ref ?? { sessionId: call.sessionId, runId: call.runId, agentId: call.agentId }),
      event: { type: "cost.recorded" as const, at: call.at, callId: call.callId },
    })),
  ]);
  const messages = bookings.flatMap(({ run }) =>
    run ? [{ ...run.ref, messages: run.progress.messages }] : []
  );
  return [...appendEvents(events), ...appendMessages(messages), ...countInSessions(events, messages)];
}

/** An event says that a call is made: not that an import has read of one, perhaps long ago. */
const isLogged = ({ source }: ModelCall) => source !== "log" && source !== "otlp";

const isSighted = ({ witnessed }: Booking) => witnessed !== undefined;

function readRuns(bookings: readonly Booking[]): Statement[] {
  const rows = bookings.flatMap(({ run, calls }) =>
    run ? [[calls[0]!.callId, run.ref.sessionId, run.ref.runId]] : []
  );
  return rows.length === 0 ? [] : [{ sql: READ_RUNS, each: { columns: RUN_COLUMNS, rows } }];
}

function toRunStates(result: ResultSet): Map<string, BookedRun> {
  return new Map(result.rows.map(([callId, seq, holds, cancel]) => [
    callId as string,
    { lastSeq: Number(seq), holdsSession: holds === 1n, isCancelRequested: Number(cancel) !== 0 },
  ]));
}

/** Converts the result of `READ_LEDGER`. */
export function toLedgerState(result: ResultSet): LedgerState {
  const [hasRules, unrolled, undecided, sightings] = result.rows[0]!;
  return {
    hasRules: hasRules === 1n,
    unrolledCalls: Number(unrolled),
    undecidedCalls: Number(undecided),
    hasSightings: sightings !== 0n,
  };
}

/** A session counts the messages of the one run that holds it, so a set may have messages of one run per session. */
function hasOneRunPerSession({ run }: Booking, others: readonly Booking[]): boolean {
  if (!run || run.progress.messages.length === 0) return true;
  const { sessionId, runId } = run.ref;
  return others.every((other) => other.run?.ref.sessionId !== sessionId || other.run.ref.runId === runId);
}

const BYTES_PER_CALL = 400;

function sizeOf({ calls, run }: Booking): number {
  let bytes = calls.length * BYTES_PER_CALL;
  // Inputs and outputs of tools are in an event as well.
  for (const { text } of run?.progress.messages ?? []) bytes += 2 * text.length;
  return bytes;
}
