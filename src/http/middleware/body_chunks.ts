import type { Core } from "../../service/mod.ts";
import { PurserError } from "../../kernel/errors.ts";
import type { RequestLease } from "./request_limits.ts";

/** The key of a function that reads a request's body without a stream, where the server has one. */
export const BODY_CHUNKS = Symbol("body chunks");

interface ServerRequest extends Request {
  [BODY_CHUNKS]?: () => AsyncIterable<Uint8Array>;
}

/** Returns whether a request has a body. */
export function hasBody(request: ServerRequest): boolean {
  return request[BODY_CHUNKS] !== undefined || request.body !== null;
}

/** Returns the declared length of a request's body; 0 where there is none or it is not a number. */
export function lengthOf({ headers }: Request): number {
  const length = Number(headers.get("content-length"));
  return Number.isSafeInteger(length) && length > 0 ? length : 0;
}

/**
 * Reads a body, whose bytes are counted as they arrive. Where it breaks off, that is the client's error or this process's shutdown, and is not logged.
 */
export async function* bodyChunks(
  request: ServerRequest,
  { stopping }: Pick<Core, "stopping">,
  lease: RequestLease | undefined,
): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of request[BODY_CHUNKS]?.() ?? request.body ?? []) {
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
