import { Durations } from "../kernel/clock.ts";
import type { Viewer } from "../ledger/mod.ts";
import type { LiveRun } from "../sessions/mod.ts";
import type { GatewayContext, GatewayState } from "./context.ts";

/** A call that is with its provider. The end of the process cancels it: its stream is then booked as an estimate. */
export interface LiveCall extends LiveRun {
  /** Aborts the request to the provider. */
  signal: AbortSignal;
  /** The reason for which it was cancelled. */
  cancelledBy: string | undefined;
  readonly viewer: Viewer;
  /** Ends its registration. */
  end(): void;
  /** When its request was sent, on the monotonic clock; undefined before. */
  sentAt: number | undefined;
  /** Since when the provider has sent nothing, on the monotonic clock; undefined while the client is slower. */
  quietSince: number | undefined;
}

/**
 * The longest time for which a provider may send nothing. Clients give up before: their SDKs after ten minutes, command line
 * agents after five minutes without an event.
 */
export const QUIET_MS = 15 * 60_000;

/** The interval at which quiet calls are looked for. */
const LOOK_MS = 30_000;

/** The durations of booked calls of a provider, in seconds. */
export interface CallTimes {
  /** From the request's body to its sending: reading it, and the admission by budgets, with its commit. */
  before: Durations;
  /** From the sending to the end of the answer, as fast as the client has read it. */
  provider: Durations;
  /** From the end of the answer to the commit that has booked the call. */
  booking: Durations;
}

/** Returns the times of a provider's calls. */
export function callTimesOf({ times }: Pick<GatewayState, "times">, provider: string): CallTimes {
  let found = times.get(provider);
  if (!found) {
    found = { before: new Durations(), provider: new Durations(), booking: new Durations() };
    times.set(provider, found);
  }
  return found;
}

/** Registers a call that is about to be sent, until `end()`. */
export function beginCall(
  { gateway: { calls } }: Pick<GatewayContext, "gateway">,
  callId: string,
  viewer: Viewer,
): LiveCall {
  const controller = new AbortController();
  const ended = Promise.withResolvers<void>();
  const live: LiveCall = {
    signal: controller.signal,
    ended: ended.promise,
    viewer,
    sentAt: undefined,
    quietSince: undefined,
    cancelledBy: undefined,
    cancel(reason) {
      live.cancelledBy ??= reason;
      controller.abort(new DOMException(reason, "AbortError"));
    },
    end() {
      calls.delete(callId);
      ended.resolve();
    },
  };
  calls.set(callId, live);
  return live;
}

/** Cancels calls whose providers send nothing, until the signal aborts. */
export async function endQuietCalls(
  { gateway: { calls }, clock }: Pick<GatewayContext, "gateway" | "clock">,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(LOOK_MS, signal);
    const now = clock.monotonic();
    for (const call of calls.values()) {
      if (call.quietSince === undefined || now - call.quietSince < QUIET_MS) continue;
      call.cancel(`it has sent nothing for ${QUIET_MS / 60_000} minutes`);
    }
  }
}
