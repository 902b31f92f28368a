import type { Context } from "hono";
import { messageOf } from "../../kernel/errors.ts";
import { createKeyCheck, isAuthRequired } from "../../keys/mod.ts";
import type { Core } from "../../service/mod.ts";
import { type ApiEnv, principalOf } from "./principal.ts";

/** The parts that streams without an end of their own have in common. */

export const HEARTBEAT_MS = 15_000;
export const HEARTBEAT = new TextEncoder().encode(": still here\n\n");

export const STREAM_HEADERS = { "content-type": "text/event-stream", "cache-control": "no-cache" };

/** Returns a check that fails once the stream's key is no longer valid or, without one, once there is a key. */
export function accessCheckOf(c: Context<ApiEnv>, core: Core): () => Promise<boolean> {
  const principal = principalOf(c);
  if (principal) return createKeyCheck(core, principal);
  return async () => !c.env?.isKeyless || !await isAuthRequired(core);
}

/** An error that ends many streams at once is logged for the first of them. */
const logged = new WeakSet<object>();

/** Logs the error of a stream, unless it has ended another one before. */
export function logOnce({ log }: Pick<Core, "log">, error: unknown): void {
  if (error instanceof Error && logged.has(error)) return;
  if (error instanceof Error) logged.add(error);
  log.error("The event stream broke", { reason: messageOf(error) });
}
