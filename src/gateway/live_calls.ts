import type { LiveRun } from "../sessions/mod.ts";
import type { GatewayContext } from "./context.ts";

/** A call that is with its provider. The end of the process cancels it: its stream is then booked as an estimate. */
export interface LiveCall extends LiveRun {
  /** Aborts the request to the provider. */
  signal: AbortSignal;
  /** The reason for which it was cancelled. */
  cancelledBy: string | undefined;
  /** Ends its registration. */
  end(): void;
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

/** Registers a call that is about to be sent, until `end()`. */
export function beginCall(ctx: Pick<GatewayContext, "gateway" | "clock">, callId: string): LiveCall {
  const { calls } = ctx.gateway;
  const controller = new AbortController();
  const ended = Promise.withResolvers<void>();
  const live: LiveCall = {
    signal: controller.signal,
    ended: ended.promise,
    quietSince: undefined,
    cancelledBy: undefined,
    cancel(reason) {
      live.cancelledBy ??= reason;
      controller.abort(new DOMException(reason, "AbortError"));
    },
    end() {
      calls.delete(callId);
      if (calls.size === 0) ctx.gateway.stopLooking?.();
      ended.resolve();
    },
  };
  calls.set(callId, live);
  if (!ctx.gateway.stopLooking) void endQuietCalls(ctx);
  return live;
}

/** Cancels calls whose providers send nothing, as long as there are calls. */
async function endQuietCalls({ gateway, clock }: Pick<GatewayContext, "gateway" | "clock">): Promise<void> {
  const over = new AbortController();
  gateway.stopLooking = () => over.abort();
  while (!over.signal.aborted) {
    await clock.sleep(LOOK_MS, over.signal);
    const now = clock.monotonic();
    for (const call of gateway.calls.values()) {
      if (call.quietSince === undefined || now - call.quietSince < QUIET_MS) continue;
      call.cancel(`it has sent nothing for ${QUIET_MS / 60_000} minutes`);
    }
  }
  gateway.stopLooking = undefined;
  if (gateway.calls.size > 0) void endQuietCalls({ gateway, clock });
}
