import { HOUR_MS } from "../../kernel/clock.ts";
import type { MonitorContext } from "../context.ts";
import { detectUnusual } from "./detect_unusual.ts";
import type { Finding } from "./finding.ts";
import { costlyCallFound, fastCallsFound } from "./findings.ts";
import { KEPT, LIMITS, TTL } from "./limits.ts";
import { Lru } from "./lru.ts";
import type { CallNote } from "./note.ts";
import { type Baseline, modelKey, readBaseline, readHourCalls } from "./read_baseline.ts";

interface HourCalls {
  hour: number;
  calls: number;
  readAt: number;
}

/**
 * Compares calls with what the ledger says is usual. It is asked only about what passes an absolute floor, so that
 * ordinary calls cost one small read per agent and 15 seconds, for many agents at once.
 */
export class CallCheck {
  #baselines = new Lru<Baseline & { readAt: number }>(KEPT.baselines);
  #hours = new Lru<HourCalls>(KEPT.agents);

  constructor(private readonly ctx: Pick<MonitorContext, "store" | "clock">) {}

  /** How many agents are remembered; never more than `KEPT` says. */
  get size(): { baselines: number; agents: number } {
    return { baselines: this.#baselines.size, agents: this.#hours.size };
  }

  /** Whether a call cost far more than is usual. */
  async findCostly(call: CallNote): Promise<Finding | undefined> {
    const { costNanoUsd } = call;
    if (costNanoUsd === null || costNanoUsd < LIMITS.costlyCall.floor) return undefined;
    const { callCosts } = await this.#baselineOf(call.agentId);
    const verdict = detectUnusual(costNanoUsd, callCosts.get(modelKey(call)), LIMITS.costlyCall);
    return verdict.isFound ? costlyCallFound(call, verdict) : undefined;
  }

  /** Which agents have made far more calls in this hour than is usual; `isTold` knows what needs no new look. */
  async findFast(calls: readonly CallNote[], isTold: (finding: Finding) => boolean): Promise<Finding[]> {
    const hour = Math.floor(this.ctx.clock.now() / HOUR_MS) * HOUR_MS;
    const latest = await this.#count(calls.filter(({ at }) => at >= hour && at < hour + HOUR_MS), hour);
    const findings: Finding[] = [];
    for (const call of latest.values()) {
      const judge = async () => {
        const { calls } = this.#hours.get(call.agentId)!;
        if (calls < LIMITS.fastCalls.floor) return undefined;
        const { hourCalls } = await this.#baselineOf(call.agentId);
        const verdict = detectUnusual(BigInt(calls), hourCalls, LIMITS.fastCalls);
        return verdict.isFound ? fastCallsFound(call, hour, verdict) : undefined;
      };
      const supposed = await judge();
      if (supposed === undefined || isTold(supposed)) continue;
      // What was counted here may have been in what was read before; what is told has to be exact.
      await this.#read([call.agentId], hour);
      const finding = await judge();
      if (finding) findings.push(finding);
    }
    return findings;
  }

  /** Counts calls of an hour, and reads what others have booked where that was not done lately. */
  async #count(calls: readonly CallNote[], hour: number): Promise<Map<string, CallNote>> {
    const stale = new Set<string>();
    const latest = new Map<string, CallNote>();
    const now = this.ctx.clock.now();
    for (const call of calls) {
      const known = this.#hours.get(call.agentId);
      // A clock that was set back would keep an entry fresh for as long.
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
