import { parseRetryAfter } from "../../../kernel/header_fields.ts";
import type { SendResult } from "../notification.ts";
import { oneLine } from "../text.ts";

/** A POST of JSON text to a configured URL. */
export interface PostRequest {
  url: string;
  body: string;
  headers?: Readonly<Record<string, string>>;
  signal: AbortSignal;
}

/** An HTTP response: at most 64 KiB of its body. */
export interface PostAnswer {
  status: number;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  body: string;
}

/** Posts; rejects with a DeliveryError when there is no response. Never follows a redirect. */
export type PostJson = (request: PostRequest) => Promise<PostAnswer>;

/** Returns true for a URL that channels post to: http or https, with a host, and without user and password, which belong in a header. */
export function isHttpUrl(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url !== undefined && /^https?:$/.test(url.protocol) && url.hostname !== "" &&
    url.username === "" && url.password === "";
}

/** Statuses below 500 that are retried: timeout, too early, too many requests. */
const RETRYABLE = new Set([408, 425, 429]);

const HINTS: Readonly<Record<number, string>> = {
  401: "the receiver does not accept the credentials",
  403: "the receiver refuses",
  404: "there is nothing at this address",
  410: "the receiver is gone for good",
};

/** The number of characters of the response body in a reason. */
const MAX_BODY_CHARS = 120;

/**
 * Maps an HTTP response to a result, by the rules of Standard Webhooks: 2xx is success; 408, 425, 429 and 5xx are
 * retried, not before their `Retry-After`, or the seconds that their JSON states as Discord's and Telegram's does;
 * everything else, redirects too, is permanent. `now` in epoch milliseconds.
 */
export function httpResult({ status, headers, body }: PostAnswer, now: number): SendResult {
  if (status >= 200 && status < 300) return { ok: true };
  const reason = `HTTP ${status}${explain(status, body)}`;
  if (!RETRYABLE.has(status) && status < 500) return { ok: false, retry: false, reason };
  const retryAfterMs = parseRetryAfter(headers["retry-after"], now) ?? readStatedDelay(body);
  return { ok: false, retry: true, reason, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

/** Returns the response body as an explanation, unless it is a page for a browser. */
function explain(status: number, body: string): string {
  if (status >= 300 && status < 400) return ": a redirect, which is not followed";
  const said = oneLine(body, MAX_BODY_CHARS);
  const hint = said !== "" && !said.startsWith("<") ? said : HINTS[status];
  return hint === undefined ? "" : `: ${hint}`;
}

/**
 * Reads the delay in a response's JSON, in milliseconds: `retry_after` of Discord, which has fractions of seconds
 * (https://discord.com/developers/docs/topics/rate-limits, 2026-11-27), and `parameters.retry_after` of Telegram
 * (https://core.telegram.org/bots/api#responseparameters, 2026-11-27).
 */
function readStatedDelay(body: string): number | undefined {
  if (!body.includes('"retry_after"')) return undefined;
  try {
    const { retry_after, parameters } = JSON.parse(body);
    const seconds = retry_after ?? parameters?.retry_after;
    return typeof seconds === "number" && seconds >= 0 ? Math.ceil(seconds * 1000) : undefined;
  } catch {
    return undefined; // not JSON, or cut
  }
}
