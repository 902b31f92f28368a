/**
 * Returns a `fetch` that sends each request at most once, for requests that are not idempotent.
 *
 * Deno's `fetch` (2.9.6) retries any request, POST and DELETE too, when a reused connection ends without a response; the
 * server may have processed the first one. That can't happen on a new connection, so every request but GET and HEAD gets
 * one, which is closed after the response. Node's `fetch` (undici; measured with Node 20 and 22) fails instead of
 * retrying, and is used unchanged.
 *
 * Streams, abort signals, redirects and proxies from the environment work as with `fetch`; only a `client` in the options
 * is replaced. The cost is a connection (over TLS, a handshake) for each such request.
 */
export function createSingleSendFetch(): typeof globalThis.fetch {
  const deno = globalThis.Deno;
  if (typeof deno?.createHttpClient !== "function") return (input, init) => globalThis.fetch(input, init);
  const send = async (input: Request | URL | string, init?: RequestInit) =>
    holdResponse(await globalThis.fetch(input, init));
  // It pools no connections, so there is nothing to close.
  let client: ReturnType<typeof deno.createHttpClient> | undefined;
  return (input, init) => {
    const method = init?.method ?? (input instanceof Request ? input.method : "GET");
    if (/^(GET|HEAD)$/i.test(method)) return send(input, init);
    client ??= deno.createHttpClient({ poolMaxIdlePerHost: 0 });
    const unpooled: RequestInit & { client: typeof client } = { ...init, client };
    return send(input, unpooled);
  };
}

/** Each response whose body is still referenced. */
const responses = new WeakMap<ReadableStream, Response>();

/**
 * Keeps a response for as long as its body is read, and returns it. In Deno (2.9.6) nothing but the `Response` keeps the
 * signal of its request: once only the body is referenced, as where an SDK reads a stream of events, both are collected,
 * and neither a timeout nor an abort ends the body any more.
 */
export function holdResponse(response: Response): Response {
  if (response.body !== null) responses.set(response.body, response);
  return response;
}

/**
 * Wraps a `fetch` so that it follows no redirect: the platform's would send the body and all headers but `Authorization`, such
 * as `x-api-key`, to wherever the answer points. `refuse` gets the origins, or the paths of one origin; a query is never shown.
 */
export function withoutRedirects<
  Input extends Request | URL | string,
  Answer extends Pick<Response, "type" | "status" | "body"> & { headers: Pick<Headers, "get"> } = Response,
>(
  fetch: (input: Input, init?: RequestInit) => Promise<Answer>,
  refuse: (reason: string) => Error,
): (input: Input, init?: RequestInit) => Promise<Answer> {
  return async (input, init) => {
    const response = await fetch(input, { ...init, redirect: "manual" });
    if (response.type !== "opaqueredirect" && !isRedirect(response.status)) {
      if (response instanceof Response) holdResponse(response);
      return response;
    }
    await response.body?.cancel();
    const from = new URL(input instanceof Request ? input.url : input);
    const to = URL.parse(response.headers.get("location") ?? "", from);
    throw refuse(
      `${describeTarget(from, to)} redirects to ${describeTarget(to, from)}, which is not followed`,
    );
  };
}

/** All but 304, which answers a conditional request: clients disagree on which of the others they follow. */
const isRedirect = (status: number) => status >= 300 && status < 400 && status !== 304;

function describeTarget(url: URL | null, other: URL | null): string {
  if (url === null) return "an unreadable address";
  return url.origin === other?.origin ? url.origin + url.pathname : url.origin;
}
