import type { BusEvent } from "../bus/mod.ts";
import { messageOf } from "../kernel/errors.ts";
import type { ModelCall } from "../ledger/mod.ts";
import type { MonitorContext } from "./context.ts";
import { type Detection, keyOf } from "./detect/detection.ts";
import { KEPT, MAX_AGE_MS } from "./detect/limits.ts";
import { type CallObservation, observeCall, observeTools } from "./detect/observation.ts";
import { recordAnomaly } from "./anomalies.ts";
import { CallCheck } from "./call_check.ts";
import { Lru } from "./lru.ts";
import { RunWatch } from "./watch.ts";
import { WorkQueue } from "./work_queue.ts";

/** A running monitor. */
export interface Monitor {
  /** Resolves when all events published so far are observed, and the anomalies are recorded. */
  idle(): Promise<void>;
  /** Unsubscribes, and resolves when all events received so far are observed and the anomalies are recorded. */
  stop(): Promise<void>;
}

/** The number of events per turn, and of calls that are compared in one read. */
const BATCH = 200;

/**
 * Starts detecting anomalies: see `docs/monitor.md`. The subscriber only queues events. A first queue watches runs in
 * memory, so that events, which hold the texts of a run, don't wait for a slow database; a second one compares calls
 * with the ledger and records detections.
 */
export function startMonitor(ctx: MonitorContext): Monitor {
  const runs = new RunWatch();
  const calls = new CallCheck(ctx);
  const recorded = new Lru<true>(KEPT.recorded);
  const isRecorded = (detection: Detection) =>
    recorded.get(keyOf(detection)) !== undefined ||
    recorded.get(keyOf({ ...detection, severity: "critical" })) !== undefined;
  const record = async (detection: Detection) => {
    if (isRecorded(detection)) return;
    await recordAnomaly(ctx, detection);
    recorded.set(keyOf(detection), true);
  };

  const checks = new WorkQueue<CallObservation | Detection>({
    ...queueOptions(ctx, KEPT.checks, "comparing calls with the ledger"),
    async work(batch) {
      for (const item of batch) {
        const detection = "kind" in item ? item : await calls.detectCostly(item);
        if (detection) await record(detection);
      }
      const observed = batch.filter((item): item is CallObservation => !("kind" in item));
      for (const detection of await calls.detectCostlyRuns(observed, isRecorded)) await record(detection);
      for (const detection of await calls.detectHours(observed, isRecorded)) await record(detection);
    },
  });
  const events = new WorkQueue<ModelCall | BusEvent>({
    ...queueOptions(ctx, KEPT.observations, "watching runs"),
    work(batch) {
      for (const event of batch) {
        const observation = "callId" in event ? observeCall(event) : observeTools(event);
        if (observation === undefined || ctx.clock.now() - observation.at > MAX_AGE_MS) continue;
        for (const detection of runs.watch(observation)) if (!isRecorded(detection)) checks.push(detection);
        if (observation.type === "call") checks.push(observation);
      }
    },
  });
  const subscriptions = [
    ctx.bookedCalls.subscribe((call) => events.push(call)),
    ctx.bus.subscribe((event) => events.push(event), "model.called"),
  ];
  return {
    async idle() {
      await events.idle();
      await checks.idle();
    },
    async stop() {
      for (const unsubscribe of subscriptions) unsubscribe();
      await events.close();
      await checks.close();
    },
  };
}

function queueOptions({ clock, log }: MonitorContext, limit: number, doing: string) {
  return {
    clock,
    limit,
    batchSize: BATCH,
    onOverflow: () => log.warn("The behavior monitor can't keep up; it drops the oldest events", { doing }),
    onError: (error: unknown) =>
      log.warn("The behavior monitor failed on some events", { doing, reason: messageOf(error) }),
  };
}
