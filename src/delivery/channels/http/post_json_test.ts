import assert from "node:assert/strict";
import { httpResult } from "./post_json.ts";

const NOW = Date.parse("2026-11-21T09:30:00.000Z");
const answer = (status: number, body = "", headers: Record<string, string> = {}) => ({
  status,
  headers,
  body,
});

Deno.test("httpResult() distinguishes success, retryable and permanent failures", () => {
  assert.deepEqual(httpResult(answer(204), NOW), { ok: true });
  assert.deepEqual(httpResult(answer(307), NOW), {
    ok: false,
    retry: false,
    reason: "HTTP 307: a redirect, which is not followed",
  });
  assert.deepEqual(httpResult(answer(410), NOW), {
    ok: false,
    retry: false,
    reason: "HTTP 410: the receiver is gone for good",
  });
  assert.deepEqual(httpResult(answer(425), NOW), { ok: false, retry: true, reason: "HTTP 425" });
});

Deno.test("httpResult() quotes the response body as one short line, unless it is HTML", () => {
  const reasonOf = (status: number, body: string) =>
    (httpResult(answer(status, body), NOW) as { reason: string }).reason;
  assert.equal(reasonOf(404, "channel_not_found\n"), "HTTP 404: channel_not_found");
  assert.equal(reasonOf(404, "<!doctype html><title>404"), "HTTP 404: there is nothing at this address");
  assert.equal(reasonOf(500, "<html>"), "HTTP 500");
  assert.equal(reasonOf(400, "a\r\nb\u0000\u202Ec"), "HTTP 400: a b c");
  assert.equal(reasonOf(400, "x".repeat(1000)), `HTTP 400: ${"x".repeat(119)}…`);
});

Deno.test("httpResult() honors Retry-After of retryable failures only", () => {
  const waits = (status: number) => httpResult(answer(status, "", { "retry-after": "9" }), NOW);
  assert.deepEqual(waits(503), { ok: false, retry: true, reason: "HTTP 503", retryAfterMs: 9_000 });
  assert.ok(!("retryAfterMs" in waits(400)));
  assert.ok(!("retryAfterMs" in waits(301)));
});
