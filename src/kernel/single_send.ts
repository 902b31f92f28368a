/**
 * Returns a `fetch` that hands each request to the network at most once, for requests that must not be carried out twice.
 *
 * Deno's own `fetch` (2.9.6) sends any request again, POST and DELETE too, when a connection that it has reused ends
 * without an answer; the server may have carried out the first one. That can't happen on a new connection, so every
 * request but GET and HEAD gets one, which is closed after the answer. Node's `fetch` (undici; measured with Node 20 and
 * 22) fails instead of sending again, and is used as it is.
 *
 * Streams, abort signals, redirects and the proxies of the environment work as with `fetch`. What does not: a `client` in
 * the options is replaced. The price is a connection (over TLS: a handshake) for each such request.
 */
export function createSingleSendFetch(): typeof globalThis.fetch {
  const deno = globalThis.Deno;
  if (typeof deno?.createHttpClient !== "function") return (input, init) => globalThis.fetch(input, init);
  // It pools nothing, so there is nothing to close.
  let client: ReturnType<typeof deno.createHttpClient> | undefined;
  return (input, init) => {
    const method = init?.method ?? (input instanceof Request ? input.method : "GET");
    if (/^(GET|HEAD)$/i.test(method)) return globalThis.fetch(input, init);
    client ??= deno.createHttpClient({ poolMaxIdlePerHost: 0 });
    const unpooled: RequestInit & { client: typeof client } = { ...init, client };
    return globalThis.fetch(input, unpooled);
  };
}
