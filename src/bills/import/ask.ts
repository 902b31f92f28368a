import type { Environment } from "../../config/mod.ts";
import { type Clock, MINUTE_MS } from "../../kernel/clock.ts";
import { messageOf, PurserError } from "../../kernel/errors.ts";
import { readText } from "../../kernel/files/download.ts";
import { parseRetryAfter } from "../../kernel/header_fields.ts";
import { parseWithNumberTexts } from "../../kernel/json/number_texts.ts";
import { withoutRedirects } from "../../kernel/single_send.ts";
import { BillRefusal, type BillRequest, type FetchContext } from "../sources/bill_source.ts";

/** The parts that requests to the API of a source need. */
export interface AskContext {
  fetch: typeof globalThis.fetch;
  clock: Pick<Clock, "now" | "sleep">;
  signal?: AbortSignal | undefined;
}

const TIMEOUT_MS = MINUTE_MS;
/** The largest answer: 1,000 rows have less than 1 MiB. */
const MAX_BYTES = 64 * 1024 * 1024;
/** Statuses below 500 that a later request may not get: timeout, too early, too many requests. */
const PASSING = [408, 425, 429];

const REMEDIES: Readonly<Record<number, string>> = {
  400: "the request is refused; see the message",
  401: "the key is not accepted; check it",
  403: "the key may not read this",
  404: "there is nothing at this address",
};

/** The API that is asked. */
export interface AskedApi {
  /** The part of it that is read: `the bill of openai`. */
  what: string;
  /** `https://api.openai.com`. */
  origin: string;
  key: string;
  headers: Readonly<Record<string, string>>;
  /** More to check, by status. */
  remedies: Readonly<Record<number, string>>;
}

/** A source that can't answer now: the import goes on later, at the same page. */
export class BillBusy extends PurserError {
  constructor(readonly retryAfterMs: number | undefined, message: string) {
    super("unavailable", message);
  }
}

/** Returns the key in variables, its parts joined by colons. Throws `invalid`, with what can't be done and the key that it needs. */
export function keyIn(env: Environment, variables: readonly string[], action: string, scope: string): string {
  const keys = variables.map((name) => env[name]?.trim() ?? "");
  const wrong = keys.findIndex((key) => !/^[\x21-\x7e]+$/.test(key));
  if (wrong === -1) return keys.join(":");
  const state = keys[wrong] === "" ? "is not set" : "holds blanks or characters that no key has";
  throw new PurserError("invalid", `Cannot ${action}: ${variables[wrong]} ${state}; it needs ${scope}`);
}

/** Returns the function that makes the requests to an API. No message has the key, which is only sent to the API's own address. */
export function createAsk(ctx: AskContext, { what, key, remedies, ...api }: AskedApi): FetchContext["ask"] {
  const origin = api.origin.replace(/\/+$/, "");
  const say = (state: string) => `Cannot read ${what}: ${state}`;
  const tooLarge = () => new BillRefusal(200, "provider_error", say("the answer is over 64 MiB"));
  const send = withoutRedirects(ctx.fetch, (reason) => new BillRefusal(302, "provider_error", say(reason)));
  return async (request) => {
    const over = new AbortController();
    void ctx.clock.sleep(TIMEOUT_MS, over.signal).then(() => over.abort(new Error("it takes over a minute")));
    const signal = ctx.signal === undefined ? over.signal : AbortSignal.any([over.signal, ctx.signal]);
    const { headers, body } = request;
    let response: Response;
    let text: string;
    try {
      response = await send(origin + pathOf(request), {
        method: body === undefined ? "GET" : "POST",
        headers: {
          accept: "application/json",
          ...headers,
          ...(body !== undefined && { "content-type": "application/json" }),
          ...api.headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal,
      });
      text = await readText(response.body ?? [], MAX_BYTES, tooLarge);
    } catch (error) {
      if (error instanceof PurserError) throw error;
      throw new BillBusy(
        undefined,
        say(`${origin} gives no answer: ${messageOf(error).replaceAll(key, "…")}`),
      );
    } finally {
      over.abort();
    }
    const { status } = response;
    if (status >= 500 || PASSING.includes(status)) {
      throw new BillBusy(
        parseRetryAfter(response.headers.get("retry-after"), ctx.clock.now()),
        say(`${origin} answers with status ${status}`),
      );
    }
    if (!response.ok) {
      const remedy = [REMEDIES[status], remedies[status]].filter(Boolean).join("; ");
      const why = [remedy, messageIn(text).replaceAll(key, "…")].filter(Boolean).join(": ");
      throw new BillRefusal(
        status,
        "provider_error",
        say(`${origin} answers with status ${status}${why && `: ${why}`}`),
      );
    }
    try {
      return parseWithNumberTexts(text);
    } catch {
      throw new BillBusy(
        undefined,
        say(`the answer of ${origin} is no JSON, or cut off after ${text.length} characters`),
      );
    }
  };
}

function pathOf({ path, query = {} }: BillRequest): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== undefined) parameters.append(name, String(each));
    }
  }
  return parameters.size === 0 ? path : `${path}?${parameters}`;
}

/** Returns the beginning of the message in the JSON of an error. */
function messageIn(text: string): string {
  try {
    const { error, message } = JSON.parse(text);
    const said = error?.message ?? error ?? message;
    return typeof said === "string" ? said.replaceAll(/\p{Cc}+/gu, " ").slice(0, 200) : "";
  } catch {
    return "";
  }
}
