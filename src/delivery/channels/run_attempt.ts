import type { Clock } from "../../kernel/clock.ts";
import { messageOf } from "../../kernel/errors.ts";
import type { SendResult } from "./channel.ts";
import { DeliveryError } from "./delivery_error.ts";
import { MAX_RETRY_AFTER_MS } from "./http/http_result.ts";
import { oneLine } from "./text.ts";

/** How long a reason may be, in UTF-16 units. */
const MAX_REASON_CHARS = 300;

/** One attempt to run. */
export interface AttemptInput {
  clock: Clock;
  timeoutMs: number;
  /** Ends the attempt earlier. */
  signal: AbortSignal;
  /** The reason when the time is over. */
  late: () => string;
  send: (signal: AbortSignal) => Promise<SendResult> | SendResult;
}

/**
 * Runs an attempt and says what became of it; never rejects. It is over when `send` is, the time is, or the
 * signal says so, whichever comes first, and also where `send` heeds no signal.
 */
export async function runAttempt(input: AttemptInput): Promise<SendResult> {
  const { clock, timeoutMs, signal, late, send } = input;
  const own = new AbortController();
  const over = new AbortController();
  const timeout = clock.sleep(timeoutMs, over.signal).then((): SendResult => ({
    ok: false,
    retry: true,
    reason: late(),
  }));
  const { promise: stopped, resolve: stop } = Promise.withResolvers<SendResult>();
  const onAbort = () => stop({ ok: false, retry: true, reason: "stopped before there was an answer" });
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort);
  try {
    const sent = signal.aborted ? stopped : sendSafely(send, own.signal);
    return await Promise.race([sent, stopped, timeout]);
  } finally {
    signal.removeEventListener("abort", onAbort);
    over.abort();
    own.abort();
  }
}

async function sendSafely(send: AttemptInput["send"], signal: AbortSignal): Promise<SendResult> {
  try {
    return checkResult(await send(signal));
  } catch (error) {
    const retry = error instanceof DeliveryError ? error.retry : true;
    return { ok: false, retry, reason: messageOf(error) };
  }
}

/** A plugin is somebody's TypeScript: what it returns may be anything. */
function checkResult(result: unknown): SendResult {
  if (typeof result !== "object" || result === null || typeof (result as { ok?: unknown }).ok !== "boolean") {
    return { ok: false, retry: true, reason: "the channel returned no result" };
  }
  const { ok, retry, reason, retryAfterMs } = result as Record<string, unknown>;
  if (ok === true) return { ok };
  const wait = typeof retryAfterMs === "number" && retryAfterMs >= 0 && retry !== false
    ? Math.min(retryAfterMs, MAX_RETRY_AFTER_MS)
    : undefined;
  return {
    ok: false,
    // In doubt it is tried again: a needless attempt costs less than an alert that is lost.
    retry: retry !== false,
    reason: typeof reason === "string" && reason.trim() !== "" ? reason : "the channel gave no reason",
    ...(wait !== undefined && { retryAfterMs: wait }),
  };
}

/** A result that may be stored and shown: its reason without secrets, in one line, and short. */
export function presentResult(result: SendResult, scrub: (text: string) => string): SendResult {
  return result.ok ? result : { ...result, reason: oneLine(scrub(result.reason), MAX_REASON_CHARS) };
}
