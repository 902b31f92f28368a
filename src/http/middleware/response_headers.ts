import type { MiddlewareHandler } from "hono";
import type { ByteReader } from "../../kernel/byte_reader.ts";
import { PlainHeaders } from "../../kernel/header_fields.ts";
import type { ApiEnv } from "./principal.ts";

/** Headers of every response: browsers guess no other type than the declared one, and pass no address on. */
export const UNIVERSAL_HEADERS = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
} as const;

/**
 * The headers of the pages for browsers. Scripts and styles come from this origin alone, nothing is inline, and nothing
 * may be embedded elsewhere.
 */
export const PAGE_HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
} as const;

const WHOLE = Symbol("whole body");

/** Marks a response as one whose body is this, so that a server need not read it as a stream. */
export function withWhole<Answer extends Response>(response: Answer, body: string | Uint8Array): Answer {
  return Object.assign(response, { [WHOLE]: body });
}

/** Returns the body of a response that was made of a whole one; undefined for all others, which may be without end. */
export function wholeOf(
  response: Response & { [WHOLE]?: string | Uint8Array },
): string | Uint8Array | undefined {
  return response[WHOLE];
}

/**
 * Returns a response for the server of this process alone, which has no body of the web's: `withWhole()` or `withReader()` mark
 * it with one.
 */
export function plainResponse(status: number, headers: Readonly<Record<string, string>>): Response {
  return Object.defineProperty(new Response(null, { status }), "headers", {
    value: new PlainHeaders(headers),
  });
}

const READER = Symbol("reader of the body");

/** Marks a response as one whose body this reads, so that a server need not read it as a stream. */
export function withReader<Answer extends Response>(response: Answer, reader: ByteReader): Answer {
  return Object.assign(response, { [READER]: reader });
}

/** Returns the reader of a response's body; undefined for one without a body. */
export function readerOf(response: ReadResponse): ByteReader | undefined {
  return response[READER] ?? response.body?.getReader();
}

/** Returns whether a response is written while it is made. */
export function isStreamed(response: ReadResponse): boolean {
  return wholeOf(response) === undefined && (response[READER] !== undefined || response.body !== null);
}

type ReadResponse = Response & { [READER]?: ByteReader };

const texts = new WeakMap<object, string>();

/** Sets the JSON of a value that a route answers by `c.json()`, which then does not encode it. */
export function setJson(value: object, text: string): void {
  texts.set(value, text);
}

/** Marks what routes answer by `c.json()`, and by `c.body()` with a text. */
export const markWhole: MiddlewareHandler = (c, next) => {
  type Init = [init?: unknown, headers?: Record<string, string>];
  const respond = c.body as (body: unknown, ...init: Init) => Response;
  const body = (given: unknown, ...init: Init) =>
    typeof given === "string" ? withWhole(respond(given, ...init), given) : respond(given, ...init);
  const json = (value: unknown, init?: unknown, headers?: Record<string, string>) =>
    body(texts.get(value as object) ?? JSON.stringify(value), init, {
      "content-type": "application/json",
      ...headers,
    });
  c.body = body as unknown as typeof c.body;
  c.json = json as unknown as typeof c.json;
  return next();
};

/**
 * Adds the headers of every response. What has no ETag is not stored; what has one is revalidated before each use. For an
 * answer that a provider has given, that is the provider's to say.
 */
export const addUniversalHeaders: MiddlewareHandler<ApiEnv> = async (c, next) => {
  await next();
  const { headers } = c.res;
  for (const name in UNIVERSAL_HEADERS) {
    headers.set(name, UNIVERSAL_HEADERS[name as keyof typeof UNIVERSAL_HEADERS]);
  }
  if (c.get("isOfProvider") && headers.has("cache-control")) return;
  if (!headers.has("etag")) headers.set("cache-control", "no-store");
  else if (!headers.has("cache-control")) headers.set("cache-control", "private, no-cache");
};

/** Returns whether an `If-None-Match` names an ETag, by the weak comparison of RFC 9110. */
export function matchesWeakly(tags: string, etag: string): boolean {
  const opaque = (tag: string) => tag.trim().replace(/^W\//, "");
  return tags.trim() === "*" || tags.split(",").some((tag) => opaque(tag) === opaque(etag));
}
