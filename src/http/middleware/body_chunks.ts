import type { Context } from "hono";
import type { Core } from "../../service/mod.ts";
import { PurserError } from "../../kernel/errors.ts";
import { type ApiEnv, leaseOf } from "./principal.ts";

/**
 * A body counts so many times once it has arrived: as it was sent, as text, as values, and as what a run makes of them. One for the
 * gateway counts twice, until it has been sent.
 */
export const BODY_TIMES = 4;
export const GATEWAY_BODY_TIMES = 2;

/** Returns whether a request has a body. */
export function hasBody({ env, req }: Context<ApiEnv>): boolean {
  return env?.server ? env.server.body !== undefined : req.raw.body !== null;
}

/** Returns a body that has arrived whole, and counts its bytes; undefined for one that has to be waited for. */
export function arrivedBody(c: Context<ApiEnv>): Uint8Array | undefined {
  const body = c.env?.server?.body?.arrived();
  if (body) leaseOf(c)?.receive(body.length);
  return body;
}

/** Returns the declared length of a request's body; 0 where there is none or it is not a number. */
export function lengthOf({ env, req }: Context<ApiEnv>): number {
  const length = Number((env?.server ?? req.raw).headers.get("content-length"));
  return Number.isSafeInteger(length) && length > 0 ? length : 0;
}

/**
 * Reads a body, whose bytes are counted as they arrive. Where it breaks off, that is the client's error or this process's shutdown, and is not logged.
 */
export async function* bodyChunks(
  c: Context<ApiEnv>,
  { stopping }: Pick<Core, "stopping">,
): AsyncGenerator<Uint8Array> {
  const lease = leaseOf(c);
  try {
    for await (const chunk of c.env?.server?.body?.chunks() ?? c.req.raw.body ?? []) {
      lease?.receive(chunk.length);
      yield chunk;
    }
  } catch (cause) {
    if (cause instanceof PurserError) throw cause;
    throw stopping.aborted
      ? new PurserError("unavailable", "Cannot read the body: the server is shutting down; try again", {
        cause,
      })
      : new PurserError("invalid", "Cannot read the body: it broke off; nothing was changed", { cause });
  }
}
