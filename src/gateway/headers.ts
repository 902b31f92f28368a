import { PurserError } from "../kernel/errors.ts";
import { mayPassHeader } from "../config/mod.ts";
import { CONNECTION_HEADERS, type HeaderFields } from "../kernel/header_fields.ts";
import type { Secrets } from "../redaction/values/mod.ts";
import type { HiddenSecrets } from "./hidden_secrets.ts";
import type { Family } from "./targets.ts";

/*
 * The headers that pass through the gateway. Those of a request are a list: proxies take the model, its price, the provider or
 * the account from headers (`x-litellm-…`, `x-portkey-…`, `helicone-…`, `cf-aig-…`, `openai-project`, `x-goog-user-project`).
 * Those of an answer pass unless they are listed here.
 */

/**
 * The headers that pass to any provider, and to those of each family: the ones that clients send and that change no model, no
 * price, no provider and no account. As of 2026-11-26, from recordings and the sources of the SDKs openai 6.49.0,
 * @anthropic-ai/sdk 1.14.0, @google/genai 2.32.0 and @openrouter/sdk, of Claude Code 2.1.332, Codex 0.171.0, Gemini CLI 0.61.0
 * and opencode.
 */
export const PASSED_HEADERS: Readonly<Record<"all" | Family, string>> = {
  all:
    "accept accept-language user-agent traceparent tracestate idempotency-key x-request-id x-client-request-id " +
    "x-session-id x-session-affinity x-app x-client-app x-stainless-*",
  openai:
    "openai-beta originator version session-id session_id thread-id conversation_id x-codex-* x-openai-subagent " +
    "x-openai-memgen-request x-responsesapi-include-timing-metrics x-grok-conv-id http-referer x-title " +
    "x-openrouter-title x-openrouter-categories",
  anthropic:
    "anthropic-version anthropic-beta anthropic-client-* anthropic-dangerous-direct-browser-access " +
    "x-anthropic-additional-protection x-claude-code-* x-claude-remote-* session-id session_id",
  google: "x-goog-api-client x-server-timeout x-gemini-api-privileged-user-id",
};

/** Names of headers; one with a `*` at its end stands for all that begin like it. */
export interface HeaderNames {
  exact: ReadonlySet<string>;
  beginnings: readonly string[];
}

export function namesOf(names: string): HeaderNames {
  const list = names.split(" ");
  return {
    exact: new Set(list),
    beginnings: list.filter((name) => name.endsWith("*")).map((name) => name.slice(0, -1)),
  };
}

const OF_FAMILY: Readonly<Record<Family, HeaderNames>> = {
  openai: namesOf(`${PASSED_HEADERS.all} ${PASSED_HEADERS.openai}`),
  anthropic: namesOf(`${PASSED_HEADERS.all} ${PASSED_HEADERS.anthropic}`),
  google: namesOf(`${PASSED_HEADERS.all} ${PASSED_HEADERS.google}`),
};

/** Returns whether a header is one of `HeaderNames`. */
export function has({ exact, beginnings }: HeaderNames, name: string): boolean {
  return exact.has(name) || beginnings.some((beginning) => name.startsWith(beginning));
}

/** The forms in which the gateway reads answers. */
const ACCEPTED = /^(?:(?:\*|application|text)\/(?:\*|json|event-stream|plain)(?:;\s*q=[\d.]+)?(?:,\s*|$))+$/i;

/** The only form in which the gateway reads bodies: some servers read another one as the fields of a form. */
const JSON_TYPE = /^application\/json(?:;\s*charset="?utf-?8"?)?$/i;

/** The beginning of a Purser key. Some clients send their key in a second header too, such as Azure's `api-key`. */
const PURSER_KEY = /psr_\w{12}/i;

/** Headers of the proxy in front of a provider. They mean nothing to a client, or harm it. */
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
  // A client that follows them sends its key there.
  "location",
  "content-location",
  "refresh",
  // They make a proxy before this server answer with a file of its own, or with an address of its network.
  "x-sendfile",
  "x-lighttpd-send-file",
  "x-reproxy-url",
]);

/** The headers of another Purser behind this one, and those by which nginx answers with something else. */
const OF_SERVERS = /^x-(?:purser|accel)-/;

/**
 * Returns the headers of a request for its provider: the client's headers that pass, and the provider's key and settings; also
 * the names of the client's headers that don't pass. No value that passes has a secret of this server, such as a Purser key in
 * any encoding.
 */
export function requestHeaders(
  client: HeaderFields,
  { family, configured, added, hasBody, secrets }: {
    family: Family;
    /** Those that the config adds to the headers that pass. */
    configured: HeaderNames | undefined;
    added: Readonly<Record<string, string>>;
    hasBody: boolean;
    secrets: Pick<Secrets, "scrub">;
  },
): { headers: Record<string, string>; dropped: string[] } {
  const headers: Record<string, string> = {};
  const dropped: string[] = [];
  const named = namedByConnection(client);
  const ofFamily = OF_FAMILY[family];
  const passes = (name: string) =>
    has(ofFamily, name) || (configured !== undefined && has(configured, name) && mayPassHeader(name));
  client.forEach((value, name) => {
    if (passes(name) && (name !== "accept" || ACCEPTED.test(value))) {
      const isClean = !PURSER_KEY.test(value) && secrets.scrub(value) === value;
      if (isClean && !named.has(name)) headers[name] = value;
    } else if (name !== "content-type") dropped.push(name);
  });
  if (hasBody) {
    const type = client.get("content-type");
    headers["content-type"] = type !== null && JSON_TYPE.test(type) ? type : "application/json";
  }
  for (const [name, value] of Object.entries(added)) headers[name.toLowerCase()] = value;
  // Deno decodes compressed answers unless a request says what it takes, and keeps the headers of the compressed ones.
  headers["accept-encoding"] = "identity";
  return { headers, dropped };
}

/** Returns the headers of a provider's answer for the client, without the credentials that were sent. */
export function answerHeaders(
  provider: HeaderFields,
  hidden: HiddenSecrets,
  callId?: string,
): Record<string, string> {
  const headers: Record<string, string> = {};
  const named = namedByConnection(provider);
  provider.forEach((value, name) => {
    if (CONNECTION_HEADERS.has(name) || OF_THE_PROVIDER.has(name) || named.has(name)) return;
    if (!OF_SERVERS.test(name)) headers[name] = hidden.inText(value);
  });
  // A page that a provider sends, such as an error of its proxy, must not run in this server's origin.
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
