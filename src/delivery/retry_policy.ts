/** The delays before a delivery is retried, in milliseconds: eight attempts within about 18 hours. */
export const RETRY_WAITS_MS = [
  5_000,
  30_000,
  5 * 60_000,
  30 * 60_000,
  2 * 3_600_000,
  5 * 3_600_000,
  10 * 3_600_000,
] as const;

/** The maximum number of attempts of one delivery. */
export const MAX_ATTEMPTS = RETRY_WAITS_MS.length + 1;

/**
 * The number of claims of one delivery whose process may die before it is given up: it may be the cause. They don't count as
 * attempts, and wait by the same schedule.
 */
export const MAX_LOST_CLAIMS = MAX_ATTEMPTS;

/** A failed attempt. */
export interface FailedAttempt {
  /** The number of the attempt, from 1. */
  attempt: number;
  /** True if the channel says that a later attempt may succeed. */
  retry: boolean;
  /** The delay that the receiver requested; the channel has capped it, see `MAX_RETRY_AFTER_MS`. */
  retryAfterMs?: number;
}

/** The delay until the next attempt, or the reason why it was the last one. */
export type RetryDecision = { retry: true; waitMs: number } | {
  retry: false;
  reason: "permanent" | "exhausted";
};

/**
 * Decides what follows a failed attempt: the delay of the schedule with a jitter of up to a fifth, so that deliveries
 * that failed together are not retried together; longer where the receiver requests it.
 *
 * @param random from 0 up to 1
 */
export function decideRetry(failed: FailedAttempt, random: number): RetryDecision {
  if (!failed.retry) return { retry: false, reason: "permanent" };
  const scheduled = RETRY_WAITS_MS[failed.attempt - 1];
  if (scheduled === undefined) return { retry: false, reason: "exhausted" };
  const waitMs = Math.round(scheduled * (1 + random / 5));
  return { retry: true, waitMs: Math.max(waitMs, failed.retryAfterMs ?? 0) };
}
