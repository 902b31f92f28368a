import { DAY_MS, HOUR_MS } from "../../kernel/clock.ts";

/** Every threshold of the monitor. `docs/monitor.md` has the formulas. */
export const LIMITS = {
  /** Repetitions of the same call, with no call in between that the run had not made before. */
  repeatedToolCall: { times: 5, criticalTimes: 25 },
  /**
   * Consecutive steps of growth, the factor of growth, and the least number of input tokens. A call that reads so many percent
   * of the input before from a cache continues its conversation.
   */
  growingInput: {
    steps: 8,
    factor: 8,
    tokens: 100_000,
    criticalFactor: 20,
    criticalTokens: 500_000,
    cachedPercent: 70,
  },
  /** Nano-USD of one call, against the hourly means of the agent and model. */
  costlyCall: { floor: 100_000_000n, factor: 10n, minHours: 8, minCalls: 30 },
  /**
   * Nano-USD of a run or of a session without one, against those of the agent before; without enough of these, the amount from
   * which it is remarkable. Totals are read for those for which this process has seen so much spending.
   */
  costlyRun: {
    floor: 5_000_000_000n,
    factor: 10n,
    minHours: 8,
    minCalls: 8,
    alone: 10_000_000_000n,
    readFrom: 500_000_000n,
  },
  /** Nano-USD of an agent within one UTC hour, against the hours in which it made calls. */
  costlyHour: { floor: 5_000_000_000n, factor: 5n, minHours: 8, minCalls: 8, alone: 10_000_000_000n },
  /** Calls of an agent within one UTC hour, against the hours in which it made any. */
  fastCalls: { floor: 100n, factor: 5n, minHours: 8, minCalls: 8 },
  /** Factors of the limit of an outlier. */
  outlier: { madFactor: 10n, peakFactor: 2n, criticalFactor: 5n },
} as const;

/** The period of the baseline, in milliseconds. */
export const BASELINE_MS = 14 * DAY_MS;

/** The age from which a call is not observed when it is booked. */
export const MAX_AGE_MS = DAY_MS;

/** The retention of anomalies, longer than any period that is observed. */
export const RETENTION_MS = 90 * DAY_MS;

/** The time for which figures are cached. */
export const TTL = { baselineMs: HOUR_MS / 6, hourCallsMs: 15_000, runCostMs: 15_000 } as const;

/** The number of entries of each kind that are kept in memory, the latest used. */
export const KEPT = {
  runs: 5_000,
  callsPerRun: 32,
  growths: 10_000,
  /** Conversations of one run or session and model that grow side by side. */
  linesPerRun: 4,
  /** Runs and sessions with their spending. */
  spending: 10_000,
  agents: 10_000,
  baselines: 1_000,
  modelsPerBaseline: 50,
  recorded: 10_000,
  observations: 10_000,
  checks: 2_000,
} as const;
