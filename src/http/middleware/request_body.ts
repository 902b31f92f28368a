import type { MiddlewareHandler } from "hono";
import { PurserError } from "../../kernel/errors.ts";
import { type ApiEnv, leaseOf } from "./principal.ts";
import type { RequestLease } from "./request_limits.ts";

/** Methods that no route has, and that `new Request` refuses. */
const FORBIDDEN_METHOD = /^(CONNECT|TRACE|TRACK)$/i;
const JSON_TYPE = /^application\/(json|[\w.+-]+\+json)\s*(;|$)/i;

/** Returns the declared length of a request's body; 0 where there is none or it is not a number. */
export function lengthOf({ headers }: Request): number {
  const length = Number(headers.get("content-length"));
  return Number.isSafeInteger(length) && length > 0 ? length : 0;
}

/** Returns whether a request's content type is JSON. */
export function isJsonBody(request: Request): boolean {
  return JSON_TYPE.test(request.headers.get("content-type") ?? "");
}

/**
 * Accepts only JSON of a bounded size. A request without a body needs no type; its stream has to be read to know, since
 * `Deno.serve` gives every POST and DELETE a stream, if an empty one.
 */
export function checkBody(maxBytes: number): MiddlewareHandler<ApiEnv> {
  return async (c, next) => {
    const { raw } = c.req;
    const lease = leaseOf(c);
    if (raw.body === null || FORBIDDEN_METHOD.test(raw.method)) return await next();
    const length = raw.headers.get("content-length");
    if (Number(length) > maxBytes) throw tooLarge(maxBytes);
    if (!isJsonBody(raw)) {
      if (!await isEmpty(raw.body)) throw notJson();
      c.req.raw = new Request(raw.url, { method: raw.method, headers: raw.headers });
      return await next();
    }
    lease?.beginBody(lengthOf(raw), { isHeld: true });
    if (length === null || raw.headers.has("transfer-encoding")) {
      const body = await readUpTo(raw.body, maxBytes, lease);
      c.req.raw = new Request(raw.url, { method: raw.method, headers: raw.headers, body });
    }
    await next();
  };
}

async function isEmpty(body: ReadableStream<Uint8Array>): Promise<boolean> {
  const reader = body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return true;
    if (value.length === 0) continue;
    await reader.cancel();
    return false;
  }
}

/** Reads a body without a declared length. */
async function readUpTo(body: ReadableStream<Uint8Array>, maxBytes: number, lease?: RequestLease) {
  const chunks: BlobPart[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge(maxBytes);
    lease?.receive(chunk.length);
    chunks.push(chunk as Uint8Array<ArrayBuffer>);
  }
  return new Blob(chunks);
}

/** Returns the error for a body of another type. */
export function notJson(): PurserError {
  return new PurserError(
    "unsupported_media_type",
    "Cannot read the body: send it as Content-Type: application/json",
  );
}

function tooLarge(maxBytes: number): PurserError {
  return new PurserError("too_large", `Cannot read the body: it is over ${maxBytes} bytes`);
}
