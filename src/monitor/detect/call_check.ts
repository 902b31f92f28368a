import { HOUR_MS } from "../../kernel/clock.ts";
import type { MonitorContext } from "../context.ts";
import { type Baseline, modelKey, readBaseline, readHourCalls } from "./baseline.ts";
import { costlyCallDetection, type Detection, fastCallsDetection } from "./detection.ts";
import { detectOutlier } from "./detectors.ts";
import { KEPT, LIMITS, TTL } from "./limits.ts";
import { Lru } from "./lru.ts";
import type { CallObservation } from "./observation.ts";

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
