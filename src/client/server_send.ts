import { type Clock, systemClock } from "../kernel/clock.ts";
import { type Config, readKeyFile } from "../config/mod.ts";
import { messageOf, PurserError } from "../kernel/errors.ts";
import type { Log } from "../kernel/log.ts";
import { createSingleSendFetch } from "../kernel/single_send.ts";

/** What sending requests to a server needs. */
export interface ServerOptions {
  config: Pick<Config, "apiKey" | "apiKeyFile" | "remoteTimeoutMs">;
  log: Log;
  clock?: Clock;
}

/**
 * Returns the function that sends requests to a server, with its key. The URL's path counts, its host is replaced. No
 * request that changes something is sent twice.
 *
 * @throws {PurserError} `unauthorized` when no request can carry the key
 */
export async function createServerSend(
  options: ServerOptions,
  server: string,
): Promise<(request: Request) => Promise<Response>> {
  const where = new URL(server).host;
  const apiKey = await readApiKey(options);
  if (apiKey !== undefined && !/^[\x21-\x7e]+$/.test(apiKey.trim())) {
    // The platform's own error would quote it.
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
      await refuseStranger(response, where);
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

/** The key for the server; its file is read only now that it is needed. */
async function readApiKey(
  { config: { apiKey, apiKeyFile }, log }: ServerOptions,
): Promise<string | undefined> {
  return apiKeyFile === undefined ? apiKey : await readKeyFile(apiKeyFile, (message) => log.warn(message));
}

/** A server whose own database is away says so after `remoteTimeoutMs`; only later is it the server that hangs. */
const TIMEOUTS_OF_SERVER = 3;

/** Waits so long for the answer to a read to begin. Whatever else is sent may take long: a run, a large snapshot. */
async function fetchInTime(
  fetch: typeof globalThis.fetch,
  request: Request,
  { config, clock = systemClock }: ServerOptions,
): Promise<Response> {
  if (request.method !== "GET") return await fetch(request);
  const waitMs = config.remoteTimeoutMs * TIMEOUTS_OF_SERVER;
  const answered = new AbortController();
  const late = new AbortController();
  void clock.sleep(waitMs, answered.signal).then(() => {
    if (answered.signal.aborted) return;
    const { host } = new URL(request.url);
    late.abort(
      new PurserError(
        "unavailable",
        `Cannot use the server at ${host}: it has not answered for ${waitMs / 1000} s`,
      ),
    );
  });
  try {
    return await fetch(request, { signal: AbortSignal.any([request.signal, late.signal]) });
  } finally {
    answered.abort();
  }
}

/** A page that signs people in, or a wrong address, also answers 200; that is nothing to take for a success. */
async function refuseStranger(response: Response, where: string): Promise<void> {
  if (!response.ok || response.status === 204) return;
  const type = response.headers.get("content-type") ?? "";
  if (/^(application\/([\w.-]+\+)?json|text\/event-stream)\b/i.test(type)) return;
  await response.body?.cancel();
  throw new PurserError(
    "unavailable",
    `Cannot use the server at ${where}: it answered ${response.status} with something that is not Purser's`,
  );
}

/** A response whose body, should it break off half way, ends with an error that says what that means. */
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

/** A reason may quote the whole URL. */
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
