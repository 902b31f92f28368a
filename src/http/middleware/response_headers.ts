import type { MiddlewareHandler } from "hono";
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

/**
 * Adds the headers of every response. What has no ETag is not stored; what has one is revalidated before each use. An answer
 * that a provider has given has them already.
 */
export const addUniversalHeaders: MiddlewareHandler<ApiEnv> = async (c, next) => {
  await next();
  if (c.get("isOfProvider")) return;
  const { headers } = c.res;
  for (const name in UNIVERSAL_HEADERS) {
    headers.set(name, UNIVERSAL_HEADERS[name as keyof typeof UNIVERSAL_HEADERS]);
  }
  if (!headers.has("etag")) headers.set("cache-control", "no-store");
  else if (!headers.has("cache-control")) headers.set("cache-control", "private, no-cache");
};

/** Adds them to the headers of a provider's answer, which says itself how it is stored; as fields, since `Headers` take longer. */
export function withUniversalHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return {
    "cache-control": headers.etag === undefined ? "no-store" : "private, no-cache",
    ...headers,
    ...UNIVERSAL_HEADERS,
  };
}

/** Returns whether an `If-None-Match` names an ETag, by the weak comparison of RFC 9110. */
export function matchesWeakly(tags: string, etag: string): boolean {
  const opaque = (tag: string) => tag.trim().replace(/^W\//, "");
  return tags.trim() === "*" || tags.split(",").some((tag) => opaque(tag) === opaque(etag));
}
