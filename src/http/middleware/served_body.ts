import type { MiddlewareHandler } from "hono";
import type { ByteReader } from "../../kernel/byte_reader.ts";

/*
 * A response of the web has its body as a stream. The server of this process writes what was made as a whole in one piece with its
 * headers and its length, and reads a provider's answer without a stream: for that, a response keeps its body as it was made.
 */

type ServedResponse = Response & { servedBody?: string | Uint8Array | ByteReader };

/** Returns a response that keeps its body as it was made: as a whole, or as the reader of one that is still arriving. */
export function withBody(response: Response, body: string | Uint8Array | ByteReader): Response {
  return Object.assign(response, { servedBody: body });
}

/** Returns the body of a response that was made as a whole; undefined for all others, which may be without end. */
export function wholeOf({ servedBody: body }: ServedResponse): string | Uint8Array | undefined {
  return typeof body === "string" || body instanceof Uint8Array ? body : undefined;
}

/** Returns the reader of a response's body; undefined for one without a body. */
export function readerOf({ servedBody, body }: ServedResponse): ByteReader | undefined {
  return servedBody && typeof servedBody === "object" && "read" in servedBody
    ? servedBody
    : body?.getReader();
}

/** Returns whether a response is written while it is made. */
export function isStreamed(response: ServedResponse): boolean {
  return wholeOf(response) === undefined && (response.servedBody !== undefined || response.body !== null);
}

/** Makes the texts that routes answer by `c.json()` and `c.body()` whole bodies. */
export const keepTexts: MiddlewareHandler = (c, next) => {
  type Init = [init?: unknown, headers?: Record<string, string>];
  const respond = c.body as (body: unknown, ...init: Init) => Response;
  const body = (given: unknown, ...init: Init) =>
    typeof given === "string" ? withBody(respond(given, ...init), given) : respond(given, ...init);
  const json = (value: unknown, init?: unknown, headers?: Record<string, string>) =>
    body(JSON.stringify(value), init, { "content-type": "application/json", ...headers });
  c.body = body as unknown as typeof c.body;
  c.json = json as unknown as typeof c.json;
  return next();
};
