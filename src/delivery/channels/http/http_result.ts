import type { SendResult } from "../channel.ts";
import type { PostAnswer } from "./post_json.ts";
import { oneLine } from "../text.ts";

/** The longest wait that a receiver may ask for: one hour. An alert must not be put off for good. */
export const MAX_RETRY_AFTER_MS = 3_600_000;

/** Statuses below 500 after which a later attempt may succeed: timeout, too early, too many requests. */
const PASSING = new Set([408, 425, 429]);

const HINTS: Readonly<Record<number, string>> = {
  401: "the receiver does not accept the credentials",
  403: "the receiver refuses",
  404: "there is nothing at this address",
  410: "the receiver is gone for good",
};

/** How much of the receiver's own words a reason carries. */
const MAX_BODY_CHARS = 120;

/**
 * What an answer means, by the Standard Webhooks rules: 2xx is success; 408, 425, 429 and 5xx may pass, and
 * their `Retry-After` counts; everything else, redirects too, stays as it is. `now` in epoch milliseconds.
 */
export function httpResult({ status, headers, body }: PostAnswer, now: number): SendResult {
  if (status >= 200 && status < 300) return { ok: true };
  const reason = `HTTP ${status}${explain(status, body)}`;
  if (!PASSING.has(status) && status < 500) return { ok: false, retry: false, reason };
  const retryAfterMs = readRetryAfter(headers["retry-after"], now);
  return { ok: false, retry: true, reason, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

/** The receiver's own words, where it has any that are not a page for a browser. */
function explain(status: number, body: string): string {
  if (status >= 300 && status < 400) return ": a redirect, which is not followed";
  const said = oneLine(body, MAX_BODY_CHARS);
  const hint = said !== "" && !said.startsWith("<") ? said : HINTS[status];
  return hint === undefined ? "" : `: ${hint}`;
}

/** Seconds or an HTTP date (RFC 9110, 10.2.3) as milliseconds from now, at most an hour. */
function readRetryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  const text = value.trim();
  const isDate = /^[A-Z][a-z]+,? .*\d{2}:\d{2}:\d{2}/.test(text);
  const delay = /^\d+$/.test(text) ? Number(text) * 1000 : isDate ? Date.parse(text) - now : NaN;
  return delay >= 0 ? Math.min(delay, MAX_RETRY_AFTER_MS) : undefined;
}
