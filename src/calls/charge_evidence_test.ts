import assert from "node:assert/strict";
import {
  APICallError,
  EmptyResponseBodyError,
  InvalidArgumentError,
  JSONParseError,
  TypeValidationError,
  UnsupportedFunctionalityError,
} from "@ai-sdk/provider";
import { type ChargeEvidence, chargeEvidence } from "./charge_evidence.ts";

const url = "https://api.example/v1";

function apiError(fields: Partial<ConstructorParameters<typeof APICallError>[0]>): APICallError {
  return new APICallError({ message: "Failed", url, requestBodyValues: {}, ...fields });
}

/** The error of Node's `fetch`, as the AI SDK wraps it. */
function nodeError(cause: { message?: string; code?: string; syscall?: string }): APICallError {
  return apiError({ cause: Object.assign(new Error(cause.message), cause) });
}

/** The error of Deno's `fetch`, as it is and as the AI SDK wraps it. */
function denoErrors(message: string): unknown[] {
  const cause = new Error(message);
  return [new TypeError("fetch failed", { cause }), apiError({ cause })];
}

const sending = "error sending request for url (https://api.example/v1): client error";
const EVENT_STREAM = { "content-type": "text/event-stream; charset=utf-8" };

/** Errors as of 2026-11-26: of @ai-sdk/provider 4.0.38, and as Deno 2.9.6, Node 24 and workerd make them. */
const TABLE: [name: string, evidence: ChargeEvidence, errors: unknown[]][] = [
  ["an error status", "none", [
    apiError({ statusCode: 400 }),
    apiError({ statusCode: 429, responseBody: '{"error":{"message":"Slow down"}}' }),
    apiError({ statusCode: 529, responseBody: "" }),
    apiError({ statusCode: 429, responseBody: '{"error":{}}', responseHeaders: EVENT_STREAM }),
    apiError({ statusCode: 502, responseBody: "<html>", responseHeaders: EVENT_STREAM }),
    Object.assign(new Error("429 Slow down"), { status: 429 }),
    Object.assign(new Error("Throttled"), { $metadata: { httpStatusCode: 429 } }),
  ]],
  ["an answer that the SDK could not read", "possible", [
    apiError({ statusCode: 200, responseBody: "<html>" }),
    apiError({ statusCode: 204 }),
    apiError({ statusCode: 200, cause: new TypeError("error reading a body from connection") }),
    apiError({ statusCode: 200, cause: Object.assign(new Error(), { code: "ECONNREFUSED" }) }),
    new JSONParseError({ text: "<html>", cause: new SyntaxError() }),
    new TypeValidationError({ value: {}, cause: new Error() }),
    new EmptyResponseBodyError({}),
  ]],
  ["a status that the SDK has made up for an answer with status 200", "possible", [
    apiError({ statusCode: 500, responseBody: { id: "resp_1" } as unknown as string }),
    apiError({
      statusCode: 529,
      responseBody: '{"type":"overloaded_error","message":"Overloaded"}',
      responseHeaders: EVENT_STREAM,
    }),
  ]],
  ["a connection that was never made, in Deno", "none", [
    ...denoErrors(`${sending} (Connect): tcp connect error: Connection refused (os error 111)`),
    ...denoErrors(`${sending} (Connect): tcp connect error: Connection reset by peer (os error 104)`),
    ...denoErrors(`${sending} (Connect): dns error: failed to lookup address information`),
    ...denoErrors(`${sending} (Connect): invalid peer certificate: UnknownIssuer`),
    ...denoErrors(`${sending} (Connect): tls handshake eof`),
    ...denoErrors(`${sending} (Connect): received corrupt message of type InvalidContentType`),
    ...denoErrors(`${sending} (Connect): unsuccessful tunnel`),
    new TypeError("Fetch failed: Requests to port 22 are blocked"),
    new Deno.errors.ConnectionRefused("Connection refused"),
    new Deno.errors.NotCapable("Requires net access"),
  ]],
  ["a connection that was never made, in Node", "none", [
    nodeError({ code: "ECONNREFUSED", syscall: "connect" }),
    nodeError({ code: "ECONNRESET", syscall: "connect" }),
    nodeError({ code: "ETIMEDOUT", syscall: "connect" }),
    nodeError({ code: "EHOSTUNREACH", syscall: "connect" }),
    nodeError({ code: "ENOTFOUND", syscall: "getaddrinfo" }),
    nodeError({ code: "EAI_AGAIN" }),
    nodeError({ code: "UND_ERR_CONNECT_TIMEOUT" }),
    nodeError({ code: "ERR_SSL_WRONG_VERSION_NUMBER" }),
    nodeError({ code: "UNABLE_TO_VERIFY_LEAF_SIGNATURE" }),
    nodeError({ code: "DEPTH_ZERO_SELF_SIGNED_CERT" }),
    nodeError({ code: "CERT_HAS_EXPIRED" }),
    nodeError({ code: "ERR_TLS_CERT_ALTNAME_INVALID" }),
    nodeError({
      code: "ECONNRESET",
      message: "Client network socket disconnected before secure TLS connection was established",
    }),
    nodeError({ message: "bad port" }),
    Object.assign(new TypeError("Invalid character in header content"), { code: "ERR_INVALID_CHAR" }),
    new TypeError("Failed to parse URL", { cause: Object.assign(new Error(), { code: "ERR_INVALID_URL" }) }),
    new AggregateError([Object.assign(new Error(), { code: "ECONNREFUSED", syscall: "connect" })]),
  ]],
  ["a connection that ended before the answer or in its middle, in Deno", "possible", [
    ...denoErrors("Connection reset by peer (os error 104)"),
    ...denoErrors(
      "error sending request from 127.0.0.1:2 for http://127.0.0.1:1/ (127.0.0.1:1): client error (SendRequest): " +
        "connection closed before message completed",
    ),
    ...denoErrors(`${sending} (SendRequest): invalid HTTP version parsed`),
    new TypeError("error reading a body from connection"),
    new Deno.errors.ConnectionReset("Connection reset by peer"),
    new Deno.errors.Http("connection error"),
  ]],
  ["a connection that ended before the answer or in its middle, in Node", "possible", [
    nodeError({ code: "ECONNRESET", syscall: "read", message: "read ECONNRESET" }),
    nodeError({ code: "ETIMEDOUT", syscall: "read" }),
    nodeError({ code: "UND_ERR_SOCKET", message: "other side closed" }),
    nodeError({ code: "UND_ERR_HEADERS_TIMEOUT" }),
    nodeError({ code: "UND_ERR_BODY_TIMEOUT" }),
    nodeError({ code: "HPE_INVALID_CONSTANT" }),
    new TypeError("terminated"),
    Object.assign(new Error("socket hang up"), { code: "ECONNRESET" }),
  ]],
  ["a write that failed before any answer", "partial", [
    Object.assign(new Error("write EPIPE"), { code: "EPIPE", syscall: "write" }),
    nodeError({ code: "EPIPE", syscall: "write" }),
    nodeError({ code: "ECONNRESET", syscall: "write" }),
    ...denoErrors(`${sending} (SendRequest): connection error: Broken pipe (os error 32)`),
    new Deno.errors.BrokenPipe("Broken pipe (os error 32)"),
    Object.assign(new Error("Failed after 2 attempts"), {
      errors: [nodeError({ code: "EPIPE", syscall: "write" }), nodeError({ code: "ECONNREFUSED" })],
    }),
  ]],
  ["an answer that the SDK could not read, after which a write failed", "possible", [
    new JSONParseError({ text: "<html>", cause: Object.assign(new Error(), { code: "EPIPE" }) }),
  ]],
  ["a connection that ended, elsewhere", "possible", [
    new Error("Network connection lost."),
    new TypeError("Failed to fetch"),
    new Error("Connection error.", { cause: new TypeError("fetch failed") }),
    new Error("Request timed out."),
  ]],
  ["a deadline", "possible", [
    new DOMException("The operation was aborted due to timeout", "TimeoutError"),
    new DOMException("The signal has been aborted", "AbortError"),
  ]],
  ["several attempts of which one was sent", "possible", [
    Object.assign(new Error("Failed after 2 attempts"), {
      errors: [nodeError({ code: "ECONNRESET", syscall: "read" }), nodeError({ code: "ECONNREFUSED" })],
    }),
  ]],
  ["several attempts that were all refused", "none", [
    Object.assign(new Error("Failed after 2 attempts"), {
      errors: [apiError({ statusCode: 500 }), nodeError({ code: "ECONNREFUSED" })],
    }),
  ]],
  ["a request that could not be built, or an error of a library user's model", "unknown", [
    new TypeError("Cannot read properties of undefined (reading 'text')"),
    new TypeError("Invalid URL: 'http://'"),
    new TypeError('Invalid header value: "x\\ny"'),
    new InvalidArgumentError({ argument: "providerOptions", message: "invalid" }),
    new UnsupportedFunctionalityError({ functionality: "audio" }),
    new Error("No capacity"),
    "a text",
    undefined,
    null,
    7,
  ]],
];

for (const [name, evidence, errors] of TABLE) {
  Deno.test(`chargeEvidence() is "${evidence}" for ${name}`, () => {
    for (const error of errors) {
      assert.equal(chargeEvidence(error), evidence, Deno.inspect(error));
    }
  });
}

Deno.test("chargeEvidence() ends on errors that hold themselves", () => {
  const error: Error & { errors?: unknown[] } = new Error("again");
  error.cause = error;
  error.errors = [error, error];
  assert.equal(chargeEvidence(error), "unknown");
});
