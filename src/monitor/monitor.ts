import type { BusEvent } from "../bus/mod.ts";
import { messageOf } from "../kernel/errors.ts";
import type { MonitorContext } from "./context.ts";
import {
  costlyCallDetection,
  type Detection,
  fastCallsDetection,
  growingInputDetection,
  keyOf,
  repeatedCallDetection,
} from "./detect/detection.ts";
import { KEPT, LIMITS, MAX_AGE_MS, TTL } from "./detect/limits.ts";
import {
  type CallObservation,
  isObservable,
  readObservation,
  type ToolCallsObservation,
} from "./detect/observation.ts";
import { recordAnomaly } from "./anomalies.ts";
import { WorkQueue } from "./work_queue.ts";
import { createHash } from "node:crypto";
import { toCanonicalText } from "../kernel/json/canonical_json.ts";
import {
  detectGrowingInput,
  detectOutlier,
  detectRepeatedCall,
  type InputGrowth,
  type SeenCalls,
} from "./detect/detectors.ts";
import { HOUR_MS } from "../kernel/clock.ts";
import { type Baseline, modelKey, readBaseline, readHourCalls } from "./detect/baseline.ts";

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
      for (const detection of await calls.detectFast(observed, isRecorded)) await record(detection);
    },
  });
  const events = new WorkQueue<BusEvent>({
    ...queueOptions(ctx, KEPT.observations, "watching runs"),
    work(batch) {
      for (const event of batch) {
        const observation = readObservation(event);
        if (observation === undefined || ctx.clock.now() - observation.at > MAX_AGE_MS) continue;
        for (const detection of runs.watch(observation)) if (!isRecorded(detection)) checks.push(detection);
        if (observation.type === "call") checks.push(observation);
      }
    },
  });
  const unsubscribe = ctx.bus.subscribe((event) => {
    if (isObservable(event)) events.push(event);
  });
  return {
    async idle() {
      await events.idle();
      await checks.idle();
    },
    async stop() {
      unsubscribe();
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

/** Watches the runs of this process, the latest ones only, in memory. */
export class RunWatch {
  #seen = new Lru<SeenCalls>(KEPT.runs);
  #growths = new Lru<InputGrowth>(KEPT.growths);

  /** The number of runs in memory, at most those of `KEPT`. */
  get size(): { runs: number; growths: number } {
    return { runs: this.#seen.size, growths: this.#growths.size };
  }

  /** Adds an observation to its run and returns the detections. */
  watch(observation: CallObservation | ToolCallsObservation): Detection[] {
    return observation.type === "tool_calls" ? this.#watchTools(observation) : this.#watchInput(observation);
  }

  #watchTools(observation: ToolCallsObservation): Detection[] {
    const key = `${observation.agentId}/${observation.runId}`;
    let seen = this.#seen.get(key) ?? [];
    const detections: Detection[] = [];
    for (const { toolName, input } of observation.calls) {
      const next = detectRepeatedCall(seen, hashCall(toolName, input));
      seen = next.seen;
      if (next.result.isAnomaly) {
        detections.push(repeatedCallDetection(observation, { toolName, ...next.result }));
      }
    }
    this.#seen.set(key, seen);
    return detections;
  }

  #watchInput(observation: CallObservation): Detection[] {
    const { agentId, runId, provider, model } = observation;
    // Estimated token counts are not comparable.
    if (runId === null || observation.isEstimated) return [];
    const key = `${agentId}/${runId}/${provider}/${model}`;
    const { growth, result } = detectGrowingInput(this.#growths.get(key), observation);
    this.#growths.set(key, growth);
    return result.isAnomaly ? [growingInputDetection({ ...observation, runId }, result)] : [];
  }
}

/** Hashes a tool call by its name and input, regardless of the order of keys. */
export function hashCall(toolName: string, input: unknown): string {
  return createHash("sha256").update(JSON.stringify(toolName)).update(textOf(input)).digest("hex").slice(
    0,
    32,
  );
}

function textOf(input: unknown): string {
  try {
    return toCanonicalText(input ?? null); // JSON has no undefined
  } catch {
    return JSON.stringify(input); // an input that is not portable JSON
  }
}

interface HourCalls {
  hour: number;
  calls: number;
  readAt: number;
}

/**
 * Compares calls with the agent's baseline in the ledger. Only values above an absolute floor are compared, so that
 * ordinary calls cost one small read per agent and 15 seconds, for many agents at once.
 */
export class CallCheck {
  #baselines = new Lru<Baseline & { readAt: number }>(KEPT.baselines);
  #hours = new Lru<HourCalls>(KEPT.agents);

  constructor(private readonly ctx: Pick<MonitorContext, "store" | "clock">) {}

  /** The number of agents in memory, at most those of `KEPT`. */
  get size(): { baselines: number; agents: number } {
    return { baselines: this.#baselines.size, agents: this.#hours.size };
  }

  /** Detects a call that cost far more than usual. */
  async detectCostly(call: CallObservation): Promise<Detection | undefined> {
    const { costNanoUsd } = call;
    if (costNanoUsd === null || costNanoUsd < LIMITS.costlyCall.floor) return undefined;
    const { callCosts } = await this.#baselineOf(call.agentId);
    const result = detectOutlier(costNanoUsd, callCosts.get(modelKey(call)), LIMITS.costlyCall);
    return result.isAnomaly ? costlyCallDetection(call, result) : undefined;
  }

  /** Detects agents with far more calls in this hour than usual, except for those that `isRecorded` knows. */
  async detectFast(
    calls: readonly CallObservation[],
    isRecorded: (detection: Detection) => boolean,
  ): Promise<Detection[]> {
    const hour = Math.floor(this.ctx.clock.now() / HOUR_MS) * HOUR_MS;
    const latest = await this.#count(calls.filter(({ at }) => at >= hour && at < hour + HOUR_MS), hour);
    const detections: Detection[] = [];
    for (const call of latest.values()) {
      const judge = async () => {
        const { calls } = this.#hours.get(call.agentId)!;
        if (calls < LIMITS.fastCalls.floor) return undefined;
        const { hourCalls } = await this.#baselineOf(call.agentId);
        const result = detectOutlier(BigInt(calls), hourCalls, LIMITS.fastCalls);
        return result.isAnomaly ? fastCallsDetection(call, hour, result) : undefined;
      };
      const estimated = await judge();
      if (estimated === undefined || isRecorded(estimated)) continue;
      // The count is an estimate: a call counted here may be in the number that was read. A detection has to be exact.
      await this.#read([call.agentId], hour);
      const detection = await judge();
      if (detection) detections.push(detection);
    }
    return detections;
  }

  /** Counts calls of an hour, and reads those that other processes have booked where the count is stale. */
  async #count(calls: readonly CallObservation[], hour: number): Promise<Map<string, CallObservation>> {
    const stale = new Set<string>();
    const latest = new Map<string, CallObservation>();
    const now = this.ctx.clock.now();
    for (const call of calls) {
      const known = this.#hours.get(call.agentId);
      // After a clock was set back, an entry from the future is stale.
      const isFresh = known?.hour === hour && Math.abs(now - known.readAt) < TTL.hourCallsMs;
      if (isFresh) known.calls++;
      else stale.add(call.agentId);
      latest.set(call.agentId, call);
    }
    if (stale.size > 0) await this.#read([...stale], hour);
    return latest;
  }

  async #read(agentIds: readonly string[], hour: number): Promise<void> {
    const readAt = this.ctx.clock.now();
    const read = await readHourCalls(this.ctx.store, hour, agentIds);
    for (const agentId of agentIds) this.#hours.set(agentId, { hour, calls: read.get(agentId) ?? 0, readAt });
  }

  async #baselineOf(agentId: string): Promise<Baseline> {
    const now = this.ctx.clock.now();
    const known = this.#baselines.get(agentId);
    if (known && Math.abs(now - known.readAt) < TTL.baselineMs) return known;
    const baseline = { ...await readBaseline(this.ctx.store, agentId, now), readAt: now };
    this.#baselines.set(agentId, baseline);
    return baseline;
  }
}

/** A map of bounded size that evicts the least recently used entries. */
class Lru<Value> {
  #entries = new Map<string, Value>();

  constructor(private readonly limit: number) {}

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): Value | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined) this.set(key, value);
    return value;
  }

  set(key: string, value: Value): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size > this.limit) this.#entries.delete(this.#entries.keys().next().value!);
  }
}
