/** After which waits a delivery is tried again, in milliseconds: eight attempts within about 18 hours. */
export const RETRY_WAITS_MS = [
  5_000,
  30_000,
  5 * 60_000,
  30 * 60_000,
  2 * 3_600_000,
  5 * 3_600_000,
  10 * 3_600_000,
] as const;

/** How often a delivery is attempted at most. */
export const MAX_ATTEMPTS = RETRY_WAITS_MS.length + 1;

/** A receiver may ask for more patience, but not for more than this. */
export const LONGEST_WAIT_MS = 24 * 3_600_000;

/** What came of a failed attempt. */
export interface FailedAttempt {
  /** Which one it was, from 1. */
  attempt: number;
  /** Whether the channel says that it may work later. */
  retry: boolean;
  /** What the receiver asked for. */
  retryAfterMs?: number;
}

/** When to try again, or why not. */
export type RetryDecision = { retry: true; waitMs: number } | {
  retry: false;
  reason: "permanent" | "exhausted";
};

/**
 * Decides what follows a failed attempt: the schedule, up to a fifth longer, so that what failed together does not come
 * back together; longer where the receiver asks for it.
 *
 * @param random from 0 up to 1
 */
export function decideRetry(failed: FailedAttempt, random: number): RetryDecision {
  if (!failed.retry) return { retry: false, reason: "permanent" };
  const scheduled = RETRY_WAITS_MS[failed.attempt - 1];
  if (scheduled === undefined) return { retry: false, reason: "exhausted" };
  const waitMs = Math.round(scheduled * (1 + random / 5));
  return { retry: true, waitMs: Math.min(LONGEST_WAIT_MS, Math.max(waitMs, failed.retryAfterMs ?? 0)) };
}
