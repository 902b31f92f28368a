import type { BusEvent } from "../bus/mod.ts";
import { messageOf } from "../kernel/errors.ts";
import { CallCheck } from "./detect/check_calls.ts";
import type { MonitorContext } from "./context.ts";
import { type Finding, keyOf } from "./detect/finding.ts";
import { keepAnomaly } from "./keep_anomaly.ts";
import { KEPT, LATE_MS } from "./detect/limits.ts";
import { Lru } from "./detect/lru.ts";
import { type CallNote, isNoted, readNote } from "./detect/note.ts";
import { RunWatch } from "./watch_runs.ts";
import { WorkQueue } from "./work_queue.ts";

/** A monitor at work. */
export interface Monitor {
  /** Resolves when all that was published up to now has been looked at, and what was found is written. */
  idle(): Promise<void>;
  /** Hears nothing more, and resolves when what it has heard is looked at and written. */
  stop(): Promise<void>;
}

/** How many notes are looked at in one turn, and how many calls are compared in one read. */
const BATCH = 200;

/**
 * Notices what agents do out of the ordinary: see `docs/monitor.md`. On the bus's path it only takes notes. What a run
 * does is watched in memory, so that a slow database makes nothing wait that holds the texts of a run; calls
 * are compared with the ledger, and findings written, behind that.
 */
export function startMonitor(ctx: MonitorContext): Monitor {
  const runs = new RunWatch();
  const calls = new CallCheck(ctx);
  const told = new Lru<true>(KEPT.told);
  const isTold = (finding: Finding) =>
    told.get(keyOf(finding)) !== undefined ||
    told.get(keyOf({ ...finding, severity: "critical" })) !== undefined;
  const keep = async (finding: Finding) => {
    if (isTold(finding)) return;
    await keepAnomaly(ctx, finding);
    told.set(keyOf(finding), true);
  };

  const checks = new WorkQueue<CallNote | Finding>({
    ...queueOptions(ctx, KEPT.checks, "comparing calls with the ledger"),
    async work(batch) {
      for (const item of batch) {
        const finding = "kind" in item ? item : await calls.findCostly(item);
        if (finding) await keep(finding);
      }
      const notes = batch.filter((item): item is CallNote => !("kind" in item));
      for (const finding of await calls.findFast(notes, isTold)) await keep(finding);
    },
  });
  const notes = new WorkQueue<BusEvent>({
    ...queueOptions(ctx, KEPT.notes, "watching runs"),
    work(batch) {
      for (const event of batch) {
        const note = readNote(event);
        if (note === undefined || ctx.clock.now() - note.at > LATE_MS) continue;
        for (const finding of runs.watch(note)) if (!isTold(finding)) checks.push(finding);
        if (note.type === "call") checks.push(note);
      }
    },
  });
  const unsubscribe = ctx.bus.subscribe((event) => {
    if (isNoted(event)) notes.push(event);
  });
  return {
    async idle() {
      await notes.idle();
      await checks.idle();
    },
    async stop() {
      unsubscribe();
      await notes.close();
      await checks.close();
    },
  };
}

function queueOptions({ clock, log }: MonitorContext, limit: number, doing: string) {
  return {
    clock,
    limit,
    batchSize: BATCH,
    onOverflow: () =>
      log.warn("The behaviour monitor can't keep up; the oldest it has not seen is left out", { doing }),
    onError: (error: unknown) =>
      log.warn("The behaviour monitor could not look at everything", { doing, reason: messageOf(error) }),
  };
}
