import { type CallContext, type Sender, sightCalls, type Sighting } from "../../calls/mod.ts";
import { MAX_SIGHTINGS } from "../../contract/limits.ts";
import type { Clock } from "../../kernel/clock.ts";
import { RecentMap } from "../../kernel/recent_map.ts";
import { inTurns, SLICE_UNITS, type Turns } from "../../kernel/turns.ts";
import { nameAfter } from "../../ledger/mod.ts";
import { flushCommits } from "../../store/mod.ts";
import { type Decoded, MAX_RECORDS } from "./decode/mod.ts";
import { FaultCounts } from "./export_faults.ts";
import { type CallRecord, createReader } from "./read_records.ts";

/** The outcome of a request. */
export interface Received {
  /** The records that are not taken. */
  rejected: number;
  /** Facts that the sender has to know; `''` for none. */
  message: string;
}

/** Takes the records of requests. It keeps what later requests of the same sender need of earlier ones. */
export interface Receiver {
  /**
   * Books the calls of some records, in sets; all are committed when it resolves. Where it rejects, some may be: sent again, they
   * are duplicates.
   */
  receive(ctx: ReceiverContext, decoded: Generator<number, Decoded>, sender: Sender): Promise<Received>;
  /** Returns a hint as it is to be told to a sender: `''` if it was told within the last hour. */
  hintOnce(ctx: Pick<ReceiverContext, "clock">, hint: string, sender: Sender): string;
}

export type ReceiverContext = CallContext & { turns: Turns; clock: Clock };

/** The hints that are kept, and the time until one is told again. */
const MAX_HINTS = 1_000;
const HINT_MS = 3_600_000;

/** The records that are read in one piece, and the time of one commit: what others wait for, a few times. */
const READ_RECORDS = 1_000;
const BOOK_MS = 60;
/** The fewest sightings of one commit; the most are `MAX_SIGHTINGS`. Fewer at once write more pages of indexes for each. */
const LEAST_SIGHTINGS = 250;

/** The calls that are kept of a request that could not be booked, and the senders of such requests. */
const MAX_LEFT = 500;
const MAX_SENDERS = 20;

/** The reasons of rejected records that a message names. */
const MAX_REASONS = 5;

/** The settings of a receiver, see `Core`. */
interface ReceiverSettings {
  plans?: readonly string[];
  sums?: readonly string[];
}

export function createReceiver({ plans = [], sums = [] }: ReceiverSettings = {}): Receiver {
  const reader = createReader({ sumsOf: sums });
  const toldAt = new RecentMap<number>(MAX_HINTS);
  /** The sightings of the next commit. */
  let atOnce = LEAST_SIGHTINGS;
  // Sent again, a request says its own calls again, but not where those of earlier requests were made.
  const leftOf = new RecentMap<CallRecord[]>(MAX_SENDERS);

  const receiver: Receiver = {
    async receive(ctx, decoding, sender) {
      const { records, beyond } = await inTurns(ctx.turns, decoding);
      const rejected = new Counts();
      const hints = new Set<string>();
      if (beyond > 0) {
        rejected.add(`beyond the first ${MAX_RECORDS} of the request: send fewer at a time`, beyond);
      }
      const key = sender.keyId ?? "";
      const calls = [...leftOf.get(key) ?? []];
      leftOf.set(key, []);
      const unmetered = new Counts();
      const faults = new FaultCounts(sender);
      let mayLose = false;
      /** The last set: while it is committed, the next records are read. */
      let booked = Promise.resolve();
      const readNext = () => {
        const read = reader.read(records.splice(0, READ_RECORDS), key);
        for (
          const [kind, told, left] of [
            ["rejected", rejected, read.rejected],
            ["unmetered", unmetered, read.unmetered],
            ["rollup", unmetered, read.rollups],
          ] as const
        ) {
          for (const fault of left) {
            told.add(fault.reason);
            faults.add(kind, fault);
          }
        }
        for (const hint of read.hints) hints.add(hint);
        calls.push(...read.calls);
      };
      const bookSet = async (set: readonly CallRecord[], onCommit: () => void) => {
        const before = ctx.clock.monotonic();
        try {
          await book(ctx, set, sender, { rejected, faults, plans, mayLose, onCommit });
        } catch (error) {
          leftOf.set(key, [...set, ...calls].slice(0, MAX_LEFT));
          throw error;
        }
        if (set.length === atOnce) atOnce = nextSize(atOnce, ctx.clock.monotonic() - before);
      };
      while (records.length > 0 || calls.length > 0) {
        await ctx.turns.spend(SLICE_UNITS);
        if (records.length > 0 && calls.length < atOnce) {
          readNext();
          continue;
        }
        await booked;
        mayLose ||= records.length > 0 || calls.length > atOnce;
        const { promise, resolve } = Promise.withResolvers<void>();
        booked = bookSet(calls.splice(0, atOnce), resolve).finally(resolve);
        booked.catch(() => {}); // thrown below
        await promise;
      }
      await booked;
      // One commit flushes all sets, before the sender is told.
      if (mayLose) await flushCommits(ctx.store);
      await faults.save(ctx);
      if (unmetered.all > 0) hints.add(`not booked: ${unmetered}`);
      const said = [...hints].map((hint) => receiver.hintOnce(ctx, hint, sender)).filter(Boolean);
      if (rejected.all > 0) said.unshift(`rejected: ${rejected}`);
      return { rejected: rejected.all, message: said.join("; ") };
    },
    hintOnce({ clock }, hint, { keyId }) {
      // The same hint has other numbers each time.
      const name = `${keyId}\0${hint.replaceAll(/\d+/g, "N")}`;
      const now = clock.monotonic();
      if (now - (toldAt.get(name) ?? -Infinity) < HINT_MS) return "";
      toldAt.set(name, now);
      return hint;
    },
  };
  return receiver;
}

/** Returns how many sightings take `BOOK_MS`, by the time of the last ones: at most twice as many as those. */
function nextSize(last: number, ms: number): number {
  const size = Math.round(last * Math.min(2, BOOK_MS / Math.max(1, ms)));
  return Math.min(MAX_SIGHTINGS, Math.max(LEAST_SIGHTINGS, size));
}

async function book(
  ctx: ReceiverContext,
  calls: readonly CallRecord[],
  sender: Sender,
  { rejected, faults, plans, mayLose, onCommit }: {
    rejected: Counts;
    faults: FaultCounts;
    plans: readonly string[];
    mayLose: boolean;
    onCommit: () => void;
  },
): Promise<void> {
  const { agentId: only } = sender;
  const sightings: Sighting[] = [];
  for (const { sighting, origin } of calls) {
    let { agentId } = origin;
    if (only !== undefined) {
      // Without an agent of its own, a record has the name of its exporter.
      if (agentId !== only && agentId !== origin.name) {
        const reason = `agent ${agentId}: the API key is for agent ${only} only`;
        rejected.add(reason);
        faults.add("rejected", { origin, scope: origin.name, reason });
        continue;
      }
      agentId = only;
      if (sighting.session !== undefined) sighting.session = nameAfter(only, sighting.session);
      if (sighting.run !== undefined) sighting.run = nameAfter(only, sighting.run);
    }
    if (plans.includes(origin.name)) sighting.isPlan = true;
    // What was no UTF-8 has replacements, which make one id of two.
    if (sighting.responseId?.includes("\ufffd")) sighting.responseId = undefined;
    sighting.of = { ...origin, agentId };
    sightings.push(sighting);
  }
  const { reasons, outcomes } = await sightCalls(
    ctx,
    { source: "otlp", name: "otlp", agentId: only ?? "otlp", sender },
    sightings,
    { mayLose, onCommit },
  );
  for (const reason of reasons.values()) rejected.add(reason);
  outcomes.forEach((outcome, index) => {
    if (outcome !== "refused" && outcome !== "duplicate") return;
    const origin = sightings[index]!.of!;
    const kind = outcome === "refused" ? "rejected" : "duplicate";
    faults.add(kind, { origin, scope: origin.name, reason: reasons.get(index) ?? "" });
  });
}

/** Numbers of records by reason. */
class Counts {
  all = 0;
  readonly #by = new Map<string, number>();

  add(reason: string, count = 1): void {
    this.all += count;
    // Reasons may repeat texts of records.
    if (this.#by.has(reason) || this.#by.size < MAX_REASONS) {
      this.#by.set(reason, (this.#by.get(reason) ?? 0) + count);
    }
  }

  toString(): string {
    return [...this.#by].map(([reason, count]) => `${count} (${reason})`).join(", ");
  }
}
