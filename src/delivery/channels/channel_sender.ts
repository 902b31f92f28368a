import type { Clock } from "../../kernel/clock.ts";
import { messageOf } from "../../kernel/errors.ts";
import type { Log } from "../../kernel/log.ts";
import type { Channel } from "./channel.ts";
import { type Delivery, DeliveryError, type Notification, type SendResult } from "./notification.ts";
import type { Scrub } from "./settings/scrub_secrets.ts";
import { settleWithin } from "./settle_within.ts";
import { oneLine } from "./text.ts";

/**
 * The longest delay that a receiver can request (`Retry-After`, `retryAfterMs`): one hour, so that no receiver puts an
 * alert off for good. It is applied here only, to the result of every channel.
 */
export const MAX_RETRY_AFTER_MS = 3_600_000;

/** The longest reason of a failure, in UTF-16 units. */
const MAX_REASON_CHARS = 300;

/** An open channel, with the function that removes its secrets from a text. */
export interface OpenChannel {
  channel: Channel;
  scrub: Scrub;
}

/** Sends through one channel. */
export interface ChannelSender {
  /**
   * Makes one attempt. It takes at most `timeoutMs`, or until the delivery's signal aborts, and never rejects;
   * the reason of a failure holds no secret, is one line, and has at most 300 characters.
   */
  attempt(notification: Notification, delivery: Delivery): Promise<SendResult>;
  /** Closes the channel if it is open; later attempts fail as retryable. */
  close(): Promise<void>;
}

interface SenderOptions {
  name: string;
  timeoutMs: number;
  open: () => Promise<OpenChannel>;
  clock: Clock;
  log: Log;
}

/** Creates the sender of a channel: it opens once, bounds each attempt, and removes secrets from results. */
export function createSender(options: SenderOptions): ChannelSender {
  const { name, timeoutMs, clock } = options;
  const opener = createOpener(options);
  let isClosed = false;
  return {
    async attempt(notification, delivery) {
      if (isClosed) return { ok: false, retry: true, reason: `Cannot send through ${name}: it is closed` };
      let open: OpenChannel | undefined;
      const result = await runAttempt({
        clock,
        timeoutMs,
        signal: delivery.signal,
        timeoutReason: () =>
          open
            ? `no answer within ${timeoutMs / 1000} s`
            : `Cannot open the channel ${name}: ${notReady(timeoutMs)}`,
        async send(signal) {
          open = await opener.open(signal);
          signal.throwIfAborted(); // opened after the timeout: another attempt sends, or has sent
          // A copy, since the other channels get the same: a plugin's change must not reach them.
          return await open.channel.send(structuredClone(notification), { ...delivery, signal });
        },
      });
      if (result.ok) return result;
      const reason = open?.scrub(result.reason) ?? result.reason;
      return { ...result, reason: oneLine(reason, MAX_REASON_CHARS) };
    },
    async close() {
      isClosed = true;
      await opener.close();
    },
  };
}

/** The reason of a channel whose plugin or settings take too long. */
export const notReady = (timeoutMs: number) => `it is not ready after ${timeoutMs / 1000} s`;

interface Opener {
  /**
   * Opens on first use, and again after a failure, which may have been fixed. Every attempt waits for one opening at
   * most: after a timeout the next attempt starts another.
   */
  open(signal: AbortSignal): Promise<OpenChannel>;
  /** Closes a channel that is open or opening; never rejects, and takes at most `timeoutMs`. */
  close(): Promise<void>;
}

function createOpener(options: SenderOptions): Opener {
  const { name, timeoutMs, clock } = options;
  let opened: OpenChannel | undefined;
  let opening: Promise<OpenChannel> | undefined;
  let isClosed = false;

  async function openNew(): Promise<OpenChannel> {
    const created = await options.open().catch((error) => {
      throw new Error(`Cannot open the channel ${name}: ${messageOf(error)}`, { cause: error });
    });
    if (!isClosed && opened === undefined) return opened = created;
    // Meanwhile another was opened, or the channel was closed.
    await release(created);
    if (opened) return opened;
    throw new Error(`Cannot open the channel ${name}: it is closed`);
  }

  const warn = (reason: string) =>
    options.log.warn(`Cannot close the channel ${name}: ${reason}`, { channel: name });

  async function release({ channel, scrub }: OpenChannel): Promise<void> {
    const close = async () => await channel.close?.();
    await settleWithin(close().catch((error) => warn(scrub(messageOf(error)))), {
      clock,
      timeoutMs,
      onTimeout: () => warn(`it takes longer than ${timeoutMs / 1000} s`),
    });
  }

  return {
    async open(signal) {
      if (opened) return opened;
      const mine = opening ??= openNew();
      const forget = () => void (opening = opening === mine ? undefined : opening);
      signal.addEventListener("abort", forget, { once: true });
      return await mine.finally(forget);
    },
    async close() {
      isClosed = true;
      const open = opened;
      opened = undefined;
      if (open) return await release(open);
      // `openNew` releases a channel that opens after this.
      await settleWithin(Promise.resolve(opening).then(() => {}, () => {}), {
        clock,
        timeoutMs,
        onTimeout: () => warn(`it is not open after ${timeoutMs / 1000} s`),
      });
    },
  };
}

interface AttemptOptions {
  clock: Clock;
  timeoutMs: number;
  /** Ends the attempt earlier. */
  signal: AbortSignal;
  timeoutReason: () => string;
  send: (signal: AbortSignal) => Promise<SendResult> | SendResult;
}

/** Runs `send` until it settles, times out or is aborted, also where it ignores its signal; never rejects. */
async function runAttempt(options: AttemptOptions): Promise<SendResult> {
  const { clock, timeoutMs, signal, timeoutReason, send } = options;
  const own = new AbortController();
  const over = new AbortController();
  const timeout = clock.sleep(timeoutMs, over.signal).then((): SendResult => ({
    ok: false,
    retry: true,
    reason: timeoutReason(),
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

async function sendSafely(send: AttemptOptions["send"], signal: AbortSignal): Promise<SendResult> {
  try {
    return checkResult(await send(signal));
  } catch (error) {
    const retry = error instanceof DeliveryError ? error.retry : true;
    return { ok: false, retry, reason: messageOf(error) };
  }
}

/** Validates the result of a plugin, which may return anything. */
function checkResult(result: unknown): SendResult {
  if (typeof result !== "object" || result === null || typeof (result as { ok?: unknown }).ok !== "boolean") {
    return { ok: false, retry: true, reason: "the channel returned no result" };
  }
  const { ok, retry, reason, retryAfterMs } = result as Record<string, unknown>;
  if (ok === true) return { ok };
  const delayMs = typeof retryAfterMs === "number" && retryAfterMs >= 0 && retry !== false
    ? Math.min(retryAfterMs, MAX_RETRY_AFTER_MS)
    : undefined;
  return {
    ok: false,
    // In doubt it is retried: a needless attempt costs less than a lost alert.
    retry: retry !== false,
    reason: typeof reason === "string" && reason.trim() !== "" ? reason : "the channel gave no reason",
    ...(delayMs !== undefined && { retryAfterMs: delayMs }),
  };
}
