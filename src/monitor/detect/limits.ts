import { DAY_MS, HOUR_MS } from "../../kernel/clock.ts";

/**
 * Where behaviour stops being ordinary: every number that the monitor decides by. `docs/monitor.md` has the formulas.
 */
export const LIMITS = {
  /** The same call so many times, with no call in between that the run had not made before. */
  repeatedToolCall: { times: 5, criticalTimes: 25 },
  /** Input that grew in so many steps running, to so many times what it was, and to at least so many tokens. */
  growingInput: { steps: 8, factor: 8, tokens: 100_000, criticalFactor: 20, criticalTokens: 500_000 },
  /** Nano-USD of one call, against the hourly means of the agent and model. */
  costlyCall: { floor: 100_000_000n, factor: 10n, minHours: 8, minCalls: 30 },
  /** Calls of an agent within one UTC hour, against the hours in which it made any. */
  fastCalls: { floor: 100n, factor: 5n, minHours: 8, minCalls: 8 },
  /** What belongs to the measure of what is usual. */
  usual: { madFactor: 10n, peakFactor: 2n, criticalFactor: 5n },
} as const;

/** How far back what is usual is read from, in milliseconds. */
export const BASELINE_MS = 14 * DAY_MS;

/** What happened longer ago than this when it is booked is history, not news. */
export const LATE_MS = DAY_MS;

/** For how long anomalies are kept; what is looked at is never as old. */
export const KEPT_MS = 90 * DAY_MS;

/** For how long figures are used that were read. */
export const TTL = { baselineMs: HOUR_MS / 6, hourCallsMs: 15_000 } as const;

/** What bounds the memory: how many of each are kept, the latest used. */
export const KEPT = {
  runs: 5_000,
  callsPerRun: 32,
  growths: 10_000,
  agents: 10_000,
  baselines: 1_000,
  modelsPerBaseline: 50,
  told: 10_000,
  notes: 10_000,
  checks: 2_000,
} as const;
