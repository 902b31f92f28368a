import { linksOf } from "../kernel/error_links.ts";
import { isRecord } from "../kernel/records.ts";

/**
 * The evidence of an error about a charge for its call: `none` if the provider can't have charged, `partial` if the connection
 * ended before the provider had all of the request, `possible` if it may have charged, `unknown` if the error says nothing.
 */
export type ChargeEvidence = "none" | "partial" | "possible" | "unknown";

/** The deepest nesting of errors that hold the errors of several attempts. */
const MAX_DEPTH = 3;

/**
 * Reads the evidence from the form of an error: those of the AI SDK, of `fetch` (Deno, Node, workerd) and of Node's sockets. The
 * names, codes and messages below are as of 2026-11-26, those of @ai-sdk/provider 4.0.38, Deno 2.9.6, and Node 22.20 and 24.7.
 *
 * `none`: the provider has answered with an error status; or there was no connection, since there was no address or no TLS, or
 * the provider or a proxy has refused it; or the caller has cancelled before all was sent. This holds only if no layer has sent
 * the request twice, since a second connection may fail after the first was answered: see `createSingleSendFetch()` in
 * kernel/single_send.ts.
 * `partial`: a write has failed before any answer, so the provider has not got all of the request and can't have processed it.
 * `possible`: the provider has answered with any other status, or the connection ended after it was made.
 *
 * The usage in an error is not read here: see `readFailedAnswer()`.
 */
export function chargeEvidence(error: unknown, depth = 0): ChargeEvidence {
  let evidence: ChargeEvidence = "unknown";
  let hasAnswered = false;
  for (const link of linksOf(error)) {
    // The errors of several attempts: each may have been charged.
    const attempts = Array.isArray(link.errors) && depth < MAX_DEPTH
      ? link.errors.map((each) => chargeEvidence(each, depth + 1))
      : [];
    const strongest = (["possible", "partial", "none"] as const).find((each) => attempts.includes(each));
    if (strongest !== undefined) return strongest;
    const status = statusOf(link);
    if (status !== undefined) return status >= 400 ? "none" : "possible";
    if (isUnconnected(link)) return "none";
    hasAnswered ||= isAnswered(link);
    if (!hasAnswered && isPartlySent(link)) evidence = "partial";
    else if (hasAnswered || (evidence !== "partial" && isBroken(link))) evidence = "possible";
  }
  return evidence;
}

/** Returns the status with which the provider has answered. */
function statusOf(link: Record<string, unknown>): number | undefined {
  const { statusCode, status, $metadata } = link;
  const found = [statusCode, status, isRecord($metadata) && $metadata.httpStatusCode]
    .find((value) => typeof value === "number" && value >= 100 && value <= 599) as number | undefined;
  return found !== undefined && isStatusOfSdk(link) ? 200 : found;
}

/**
 * Returns true for a status that the AI SDK has made up for a failure inside an answer with status 200: such an error has the
 * parsed body in place of its text, or the headers of an event stream and one event in place of the provider's error body.
 */
function isStatusOfSdk({ responseBody, responseHeaders }: Record<string, unknown>): boolean {
  if (responseBody === undefined || responseBody === null) return false;
  if (typeof responseBody !== "string") return true;
  const type = isRecord(responseHeaders) ? responseHeaders["content-type"] : undefined;
  if (typeof type !== "string" || !type.startsWith("text/event-stream")) return false;
  try {
    return JSON.parse(responseBody).error === undefined;
  } catch {
    return false;
  }
}

/** Codes of connections that were never made, and of requests that can't be written: those of Node, undici, OpenSSL and Bun. */
const UNCONNECTED_CODES =
  /^(ECONNREFUSED|ENOTFOUND|EAI_\w+|EADDRNOTAVAIL|EACCES|EPROTO|ConnectionRefused|FailedToOpenSocket|UND_ERR_(CONNECT_TIMEOUT|INVALID_ARG|PRX_TLS)|ERR_(INVALID_(URL|CHAR|HTTP_TOKEN)|UNESCAPED_CHARACTERS|SSL_\w+|TLS_\w+)|CERT_\w+|UNABLE_TO_\w+|\w*SELF_SIGNED_CERT\w*|HOSTNAME_MISMATCH)$/;

/** Names of Deno's errors for connections that were never made, and of Purser's for requests cancelled before all was sent. */
const UNCONNECTED_NAMES = /^(ConnectionRefused|AddrNotAvailable|NotCapable|UnsentError)$/;

/** Messages for connections that were never made: hyper's name of the phase (Deno), TLS in Node, and what `fetch` refuses to send. */
const UNCONNECTED_MESSAGES =
  /client error \(Connect\)|[Rr]equests to port \d+ are blocked|before secure TLS connection|^(bad port|unknown scheme|invalid onRequestStart method)$/;

function isUnconnected({ code, name, message, syscall }: Record<string, unknown>): boolean {
  return syscall === "connect" || syscall === "getaddrinfo" || UNCONNECTED_CODES.test(String(code)) ||
    UNCONNECTED_NAMES.test(String(name)) || UNCONNECTED_MESSAGES.test(String(message));
}

/** Codes of a failed write, and of other failures. EPIPE is not among them, since only writes have it. */
const WRITE_CODES = /^(ECONNRESET|ECONNABORTED)$/;
const WRITE_MESSAGES = /\bbroken pipe\b/i;

function isPartlySent({ code, name, message, syscall }: Record<string, unknown>): boolean {
  return code === "EPIPE" || name === "PartlySentError" || name === "BrokenPipe" ||
    (syscall === "write" && WRITE_CODES.test(String(code))) || WRITE_MESSAGES.test(String(message));
}

/** Errors of the AI SDK about what an answer contained. */
const ANSWERED_NAMES =
  /^AI_(JSONParseError|TypeValidationError|EmptyResponseBodyError|InvalidResponseDataError|NoContentGeneratedError)$/;

/** The AI SDK's message for a stream of Anthropic whose first event it can't read. */
const ANSWERED_MESSAGES = /^Expected a normalized Anthropic stream error/;

function isAnswered({ name, message }: Record<string, unknown>): boolean {
  return ANSWERED_NAMES.test(String(name)) || ANSWERED_MESSAGES.test(String(message));
}

/** Codes of connections that ended later. */
const BROKEN_CODES =
  /^(ECONNRESET|ECONNABORTED|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENETDOWN|ConnectionClosed|ERR_(HTTP2|STREAM)_\w+|HPE_\w+|UND_ERR_\w+)$/;

/** Names of errors of Deno and of signals for connections that ended later; an `AI_APICallError` without a status is of `fetch`. */
const BROKEN_NAMES =
  /^(AI_APICallError|AbortError|TimeoutError|ResponseAborted|Connection(Reset|Aborted)|TimedOut|UnexpectedEof|Http)$/;

/**
 * Messages for connections that ended later: `fetch` of Deno, Node, browsers and workerd, and the SDKs of OpenAI and Anthropic.
 * Those of workerd are the same for a connection that was refused.
 */
const BROKEN_MESSAGES =
  /^(fetch failed|failed to fetch|load failed|terminated|network connection lost|internal error; reference|networkerror|error sending request|error reading a body|connection (reset|closed|error)|socket hang up|request timed out)/i;

function isBroken({ code, name, message }: Record<string, unknown>): boolean {
  return BROKEN_CODES.test(String(code)) || BROKEN_NAMES.test(String(name)) ||
    BROKEN_MESSAGES.test(String(message));
}
