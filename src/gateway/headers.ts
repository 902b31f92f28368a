import { PurserError } from "../kernel/errors.ts";
import type { HeaderFields } from "../kernel/header_fields.ts";

/* The headers that pass through the gateway. Lists are open: what is unknown passes. */

/** The headers of one connection (RFC 9110, 7.6.1), and those that are set anew. */
const OF_THE_CONNECTION = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "host",
  "content-length",
  "expect",
]);

/**
 * The headers of a client that no provider gets: its key, its cookies, the way that it came, and those by which some servers
 * take a request for another one than it is, or leave the usage out of its answer.
 */
const OF_THE_CLIENT = new Set([
  "authorization",
  "x-api-key",
  "x-goog-api-key",
  "cookie",
  "forwarded",
  "via",
  "x-real-ip",
  "accept-encoding",
  "origin",
  "referer",
  "x-http-method",
  "x-http-method-override",
  "x-method-override",
  "x-original-url",
  "x-rewrite-url",
  "x-goog-fieldmask",
]);

/** The prefixes of Purser's own headers, of proxies' and of browsers'. */
const OF_PROXIES = /^(?:x-purser-|x-forwarded-|sec-)/;

/** A key of Purser's, which some clients send in a header more, such as Azure's `api-key`. */
const PURSER_KEY = /\bpsr_\w{12}/;

/** The headers of a provider's front that mean nothing, or harm, beyond it. */
const OF_THE_PROVIDER = new Set([
  "set-cookie",
  "alt-svc",
  "strict-transport-security",
  "www-authenticate",
  "content-encoding",
  "server",
  "nel",
  "report-to",
  "clear-site-data",
]);

/** Returns the headers of a request for its provider: the client's, with the provider's key and settings. */
export function requestHeaders(
  client: HeaderFields,
  added: Readonly<Record<string, string>>,
): Record<string, string> {
  const headers: Record<string, string> = {};
  const named = namedByConnection(client);
  for (const [name, value] of client) {
    if (OF_THE_CONNECTION.has(name) || OF_THE_CLIENT.has(name) || named.has(name)) continue;
    if (OF_PROXIES.test(name) || PURSER_KEY.test(value)) continue;
    headers[name] = value;
  }
  for (const [name, value] of Object.entries(added)) headers[name.toLowerCase()] = value;
  // Deno decodes compressed answers unless a request says what it takes, and keeps the headers of the compressed ones.
  headers["accept-encoding"] = "identity";
  return headers;
}

/** Returns the headers of a provider's answer for the client. */
export function answerHeaders(provider: HeaderFields, callId: string | undefined): Record<string, string> {
  const headers: Record<string, string> = {};
  const named = namedByConnection(provider);
  for (const [name, value] of provider) {
    if (OF_THE_CONNECTION.has(name) || OF_THE_PROVIDER.has(name) || named.has(name)) continue;
    if (name.startsWith("x-purser-")) continue; // those of a Purser behind this one are not this one's
    headers[name] = value;
  }
  // A page of a provider, such as an error of its front, must not run in this server's origin.
  if (/html|xml/i.test(headers["content-type"] ?? "")) headers["content-security-policy"] = "sandbox";
  if (callId !== undefined) headers["x-purser-call-id"] = callId;
  return headers;
}

/** The headers that `Connection` names, which are those of the connection too (RFC 9110, 7.6.1). */
function namedByConnection(headers: HeaderFields): ReadonlySet<string> {
  const names = headers.get("connection");
  if (names === null || /^keep-alive$/i.test(names)) return NONE;
  return new Set(names.split(",").map((name) => name.trim().toLowerCase()));
}

const NONE: ReadonlySet<string> = new Set();

const KEY_HEADERS = ["x-api-key", "x-goog-api-key"];

/**
 * Returns the `Authorization` that a request to the gateway amounts to: SDKs send their key in the header of their wire.
 *
 * @throws {PurserError} `unauthorized` where two headers hold different keys, `invalid` for a key in the address
 */
export function authorizationOf(headers: Pick<Headers, "get">, search: string): string | null {
  if (search !== "" && new URLSearchParams(search).has("key")) {
    throw new PurserError(
      "invalid",
      "Cannot take a key from the address, which logs keep: send it as x-goog-api-key",
    );
  }
  const authorization = headers.get("authorization");
  let key = authorization?.replace(/^bearer(?: +|$)/i, "").trim() || undefined;
  const isOfHeader = key !== undefined;
  for (const name of KEY_HEADERS) {
    const other = headers.get(name)?.trim();
    if (!other) continue;
    if (key !== undefined && key !== other) {
      throw new PurserError(
        "unauthorized",
        "Cannot choose an API key: the request's headers hold different ones",
      );
    }
    key = other;
  }
  return isOfHeader ? authorization : key === undefined ? null : `Bearer ${key}`;
}
