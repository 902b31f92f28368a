import { startOf } from "../contract/windows.ts";
import { HOUR_MS } from "../kernel/clock.ts";
import type { NanoUsd } from "../kernel/money.ts";
import type { MonitorContext } from "./context.ts";
import {
  type Baseline,
  type BaselineStats,
  type HourUsage,
  modelKey,
  readBaseline,
  readHours,
  readRunBaseline,
  readRunCosts,
} from "./detect/baseline.ts";
import {
  costlyCallDetection,
  costlyHourDetection,
  costlyRunDetection,
  type Detection,
  fastCallsDetection,
} from "./detect/detection.ts";
import { detectOutlier } from "./detect/detectors.ts";
import { KEPT, LIMITS, TTL } from "./detect/limits.ts";
import { type CallObservation, type Unit, unitOf } from "./detect/observation.ts";
import { Lru } from "./lru.ts";

/** The usage of an agent in an hour, as it was read, with the calls observed since. */
interface KnownHour extends HourUsage {
  hour: number;
  readAt: number;
}

/** The spending of a run or session that this process has seen, and its cost as it was read, with the calls since. */
interface Spending {
  unit: Unit;
  agentId: string;
  seenNanoUsd: NanoUsd;
  costNanoUsd: NanoUsd;
  readAt: number;
}

/**
 * Compares calls with the agent's baseline in the ledger. Only values above an absolute floor are compared, so that
 * ordinary calls cost one small read per agent and 15 seconds, for many agents at once.
 */
export class CallCheck {
  #baselines = new Lru<Baseline & { readAt: number }>(KEPT.baselines);
  #hours = new Lru<KnownHour>(KEPT.agents);
  #spending = new Lru<Spending>(KEPT.spending);
  #runBaselines = new Lru<{ stats: BaselineStats | undefined; readAt: number }>(KEPT.baselines);

  constructor(private readonly ctx: Pick<MonitorContext, "store" | "clock">) {}

  /** The number of agents, and of runs and sessions, in memory, at most those of `KEPT`. */
  get size(): { baselines: number; agents: number; spending: number } {
    return { baselines: this.#baselines.size, agents: this.#hours.size, spending: this.#spending.size };
  }

  /** Detects a call that cost far more than usual. */
  async detectCostly(call: CallObservation): Promise<Detection | undefined> {
    const { costNanoUsd } = call;
    if (costNanoUsd === null || costNanoUsd < LIMITS.costlyCall.floor) return undefined;
    const { callCosts } = await this.#baselineOf(call.agentId);
    const result = detectOutlier(costNanoUsd, callCosts.get(modelKey(call)), LIMITS.costlyCall);
    return result.isAnomaly ? costlyCallDetection(call, result) : undefined;
  }

  /** Detects runs, and sessions without one, that have cost far more than usual, except for those that `isRecorded` knows. */
  async detectCostlyRuns(
    calls: readonly CallObservation[],
    isRecorded: (detection: Detection) => boolean,
  ): Promise<Detection[]> {
    const latest = new Map<Spending, CallObservation>();
    for (const call of calls) {
      const unit = unitOf(call);
      if (unit === undefined || !call.costNanoUsd) continue;
      const { agentId, costNanoUsd } = call;
      const key = `${agentId}/${unit.key}`;
      let spending = this.#spending.get(key);
      if (spending === undefined) {
        spending = { unit, agentId, seenNanoUsd: 0n, costNanoUsd: 0n, readAt: 0 };
        this.#spending.set(key, spending);
      }
      spending.seenNanoUsd += costNanoUsd;
      spending.costNanoUsd += costNanoUsd;
      latest.set(spending, call);
    }
    const remarkable = [...latest.keys()].filter((one) => one.seenNanoUsd >= LIMITS.costlyRun.readFrom);
    await this.#readCosts(remarkable.filter(({ readAt }) => this.#isOld(readAt, TTL.runCostMs)));
    const detections: Detection[] = [];
    for (const spending of remarkable) {
      const judge = async () => {
        const { unit, agentId, costNanoUsd } = spending;
        if (costNanoUsd < LIMITS.costlyRun.floor) return undefined;
        const baseline = await this.#runBaselineOf(unit, agentId);
        const result = detectOutlier(costNanoUsd, baseline, LIMITS.costlyRun);
        return result.isAnomaly
          ? costlyRunDetection(latest.get(spending)!, { ...result, unit: unit.kind })
          : undefined;
      };
      const estimated = await judge();
      if (estimated === undefined || isRecorded(estimated)) continue;
      // As with the hours below.
      await this.#readCosts([spending]);
      const detection = await judge();
      if (detection) detections.push(detection);
    }
    return detections;
  }

  /** Detects agents with far more calls or spending in this hour than usual, except for those that `isRecorded` knows. */
  async detectHours(
    calls: readonly CallObservation[],
    isRecorded: (detection: Detection) => boolean,
  ): Promise<Detection[]> {
    const hour = startOf("hour", this.ctx.clock.now());
    const latest = await this.#count(calls.filter(({ at }) => at >= hour && at < hour + HOUR_MS), hour);
    const detections: Detection[] = [];
    for (const call of latest.values()) {
      for (const judge of this.#judgesOf(call.agentId)) {
        const estimated = await judge.call(this, call, hour);
        if (estimated === undefined || isRecorded(estimated)) continue;
        // The count is an estimate: a call counted here may be in the number that was read. A detection has to be exact.
        await this.#read([call.agentId], hour);
        const detection = await judge.call(this, call, hour);
        if (detection) detections.push(detection);
      }
    }
    return detections;
  }

  /** Returns the checks that an hour needs; none for an ordinary hour. */
  #judgesOf(agentId: string) {
    const { calls, costNanoUsd } = this.#hours.get(agentId)!;
    return [
      ...(calls >= LIMITS.fastCalls.floor ? [this.#judgeCalls] : []),
      ...(costNanoUsd >= LIMITS.costlyHour.floor ? [this.#judgeCost] : []),
    ];
  }

  async #judgeCalls(call: CallObservation, hour: number): Promise<Detection | undefined> {
    const { calls } = this.#hours.get(call.agentId)!;
    if (calls < LIMITS.fastCalls.floor) return undefined;
    const { hourCalls } = await this.#baselineOf(call.agentId);
    const result = detectOutlier(BigInt(calls), hourCalls, LIMITS.fastCalls);
    return result.isAnomaly ? fastCallsDetection(call, hour, result) : undefined;
  }

  async #judgeCost(call: CallObservation, hour: number): Promise<Detection | undefined> {
    const { costNanoUsd } = this.#hours.get(call.agentId)!;
    if (costNanoUsd < LIMITS.costlyHour.floor) return undefined;
    const { hourCosts } = await this.#baselineOf(call.agentId);
    const result = detectOutlier(costNanoUsd, hourCosts, LIMITS.costlyHour);
    return result.isAnomaly ? costlyHourDetection(call, hour, result) : undefined;
  }

  /** Counts calls of an hour, and reads those that other processes have booked where the count is stale. */
  async #count(calls: readonly CallObservation[], hour: number): Promise<Map<string, CallObservation>> {
    const stale = new Set<string>();
    const latest = new Map<string, CallObservation>();
    for (const call of calls) {
      const known = this.#hours.get(call.agentId);
      if (known?.hour === hour && !this.#isOld(known.readAt, TTL.hourCallsMs)) {
        known.calls++;
        known.costNanoUsd += call.costNanoUsd ?? 0n;
      } else stale.add(call.agentId);
      latest.set(call.agentId, call);
    }
    if (stale.size > 0) await this.#read([...stale], hour);
    return latest;
  }

  async #read(agentIds: readonly string[], hour: number): Promise<void> {
    const readAt = this.ctx.clock.now();
    const read = await readHours(this.ctx.store, hour, agentIds);
    for (const agentId of agentIds) {
      this.#hours.set(agentId, { hour, ...read.get(agentId) ?? { calls: 0, costNanoUsd: 0n }, readAt });
    }
  }

  async #readCosts(all: readonly Spending[]): Promise<void> {
    const groups = Map.groupBy(all, ({ unit, agentId }) => unit.kind === "run" ? "" : agentId);
    for (const [agentId, spending] of groups) {
      const readAt = this.ctx.clock.now();
      const { kind } = spending[0]!.unit;
      const ids = spending.map(({ unit }) => unit.id);
      const costs = await readRunCosts(this.ctx.store, kind, ids, agentId);
      for (const one of spending) Object.assign(one, { costNanoUsd: costs.get(one.unit.id) ?? 0n, readAt });
    }
  }

  async #baselineOf(agentId: string): Promise<Baseline> {
    const now = this.ctx.clock.now();
    const known = this.#baselines.get(agentId);
    if (known && !this.#isOld(known.readAt, TTL.baselineMs)) return known;
    const baseline = { ...await readBaseline(this.ctx.store, agentId, now), readAt: now };
    this.#baselines.set(agentId, baseline);
    return baseline;
  }

  async #runBaselineOf(unit: Unit, agentId: string): Promise<BaselineStats | undefined> {
    const now = this.ctx.clock.now();
    const key = `${agentId}/${unit.key}`;
    const known = this.#runBaselines.get(key);
    if (known && !this.#isOld(known.readAt, TTL.baselineMs)) return known.stats;
    const stats = await readRunBaseline(this.ctx.store, unit, { agentId, now });
    this.#runBaselines.set(key, { stats, readAt: now });
    return stats;
  }

  /** After a clock was set back, values that were read in its future are stale. */
  #isOld(readAt: number, ttlMs: number): boolean {
    return Math.abs(this.ctx.clock.now() - readAt) >= ttlMs;
  }
}
