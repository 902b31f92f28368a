import { type Clock, systemClock } from "../kernel/clock.ts";
import { type Config, readKeyFile } from "../config/mod.ts";
import { messageOf, PurserError } from "../kernel/errors.ts";
import type { Log } from "../kernel/log.ts";
import { createSingleSendFetch } from "../kernel/single_send.ts";

/** Options of `createServerSend`. */
export interface ServerOptions {
  config: Pick<Config, "apiKey" | "apiKeyFile" | "remoteTimeoutMs">;
  log: Log;
  clock?: Clock;
}

/**
 * Returns a function that sends requests to a server, with its API key; only the URL's host is replaced. Requests that
 * change something are never sent twice.
 *
 * @throws {PurserError} `unauthorized` when the key is no valid header value
 */
export async function createServerSend(
  options: ServerOptions,
  server: string,
): Promise<(request: Request) => Promise<Response>> {
  const where = new URL(server).host;
  const apiKey = await readApiKey(options);
  if (apiKey !== undefined && !/^[\x21-\x7e]+$/.test(apiKey.trim())) {
    // The platform's own error would contain the key.
    throw new PurserError(
      "unauthorized",
      "Cannot use the API key: it holds blanks or characters that no key has",
    );
  }
  const lost = (cause: unknown) =>
    new PurserError("unavailable", `Cannot read the answer: the connection to the server at ${where} broke`, {
      cause,
    });
  const fetch = createSingleSendFetch();
  return async (request) => {
    try {
      const response = await fetchInTime(fetch, redirectTo(request, server, apiKey?.trim()), options);
      await checkContentType(response, where);
      return withCheckedBody(response, lost);
    } catch (error) {
      if (error instanceof PurserError) throw error;
      if ((error as Error)?.name === "AbortError") throw error;
      throw new PurserError("unavailable", `Cannot reach the server at ${where}: ${reasonOf(error)}`, {
        cause: error,
      });
    }
  };
}

/** Returns the key for the server. A key file is read only now that it is needed. */
async function readApiKey(
  { config: { apiKey, apiKeyFile }, log }: ServerOptions,
): Promise<string | undefined> {
  return apiKeyFile === undefined ? apiKey : await readKeyFile(apiKeyFile, (message) => log.warn(message));
}

/** A server whose own database is unreachable reports that after `remoteTimeoutMs`; only a longer wait means that the server hangs. */
const TIMEOUTS_OF_SERVER = 3;

/** Fetches with a timeout for the response to a GET to begin. Other requests may take long: a run, a large snapshot. */
async function fetchInTime(
  fetch: typeof globalThis.fetch,
  request: Request,
  { config, clock = systemClock }: ServerOptions,
): Promise<Response> {
  if (request.method !== "GET") return await fetch(request);
  const waitMs = config.remoteTimeoutMs * TIMEOUTS_OF_SERVER;
  const answered = new AbortController();
  const timedOut = new AbortController();
  void clock.sleep(waitMs, answered.signal).then(() => {
    if (answered.signal.aborted) return;
    const { host } = new URL(request.url);
    timedOut.abort(
      new PurserError(
        "unavailable",
        `Cannot use the server at ${host}: it has not answered for ${waitMs / 1000} s`,
      ),
    );
  });
  try {
    return await fetch(request, { signal: AbortSignal.any([request.signal, timedOut.signal]) });
  } finally {
    answered.abort();
  }
}

/** Refuses a response that is not Purser's: a login page, or a wrong address, also answers 200. */
async function checkContentType(response: Response, where: string): Promise<void> {
  if (!response.ok || response.status === 204) return;
  const type = response.headers.get("content-type") ?? "";
  if (/^(application\/([\w.-]+\+)?json|text\/event-stream)\b/i.test(type)) return;
  await response.body?.cancel();
  throw new PurserError(
    "unavailable",
    `Cannot use the server at ${where}: it answered ${response.status} with something that is not Purser's`,
  );
}

/** Returns a response whose body, if the connection breaks, fails with an error that says so. */
function withCheckedBody(response: Response, lost: (cause: unknown) => PurserError): Response {
  if (response.body === null) return response;
  const reader = response.body.getReader();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        throw (error as Error)?.name === "AbortError" ? error : lost(error);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return new Response(body, response);
}

/** Maximum length of a reason, which may contain the whole URL. */
const MAX_REASON = 300;

function reasonOf(error: unknown): string {
  const cause = (error as { cause?: unknown })?.cause;
  const reason = messageOf(error) + (cause === undefined ? "" : `: ${messageOf(cause)}`);
  return reason.length > MAX_REASON ? `${reason.slice(0, MAX_REASON)}…` : reason;
}

function redirectTo(request: Request, base: string, key: string | undefined): Request {
  const { pathname, search } = new URL(request.url);
  const redirected = new Request(base.replace(/\/$/, "") + pathname + search, request);
  if (key !== undefined) redirected.headers.set("authorization", `Bearer ${key}`);
  return redirected;
}
