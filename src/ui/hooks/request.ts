import { readToken, signalSignedOut } from "./session.ts";

/** An error of the API: its problem document, or a fault of the connection. */
export class RequestError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly details: Record<string, unknown> = {},
  ) {
    super(message);
    this.name = "RequestError";
  }
}

/** An answer of the API. */
export interface Answer<Value> {
  value: Value;
  /** The address of the next page of a list. */
  next: string | undefined;
  etag: string | undefined;
}

/** Sends a request to the API. Throws a `RequestError`. */
export async function request<Value>(
  path: string,
  { method = "GET", body, headers, signal, apiKey }: {
    method?: string;
    body?: unknown;
    headers?: Record<string, string>;
    signal?: AbortSignal;
    /** A key that was entered for this request, which counts instead of the session. */
    apiKey?: string;
  } = {},
): Promise<Answer<Value>> {
  const response = await send(path, {
    method,
    signal,
    headers: {
      ...(body !== undefined && { "content-type": "application/json" }),
      ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const value = response.status === 204 ? undefined : await response.json();
  return {
    value,
    next: nextOf(response.headers.get("link")),
    etag: response.headers.get("etag") ?? undefined,
  };
}

/** Sends any request to the API, and returns its successful response. Throws a `RequestError`. */
export async function send(
  path: string,
  init: Omit<RequestInit, "headers"> & { headers?: Record<string, string> },
): Promise<Response> {
  const token = readToken();
  let response: Response;
  try {
    response = await fetch(path, {
      credentials: "same-origin",
      redirect: "error",
      ...init,
      headers: { ...(token !== null && { "purser-dashboard": token }), ...init.headers },
    });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new RequestError(0, "unreachable", "Cannot reach the server; is purser serve running?");
  }
  if (response.ok) return response;
  const problem = await response.json().catch(() => undefined) as
    | { code?: string; detail?: string; error?: string; details?: Record<string, unknown> }
    | undefined;
  const error = new RequestError(
    response.status,
    problem?.code ?? "unavailable",
    // The result of a test that failed has the reason as its `error`.
    problem?.detail ?? problem?.error ?? `Cannot use the server: it answered ${response.status}`,
    problem?.details,
  );
  const isOfSession = init.headers?.authorization === undefined && !path.startsWith("/ui/session");
  if (response.status === 401 && isOfSession) signalSignedOut(token);
  throw error;
}

/** Returns the address of the next page in a `Link` header. */
export function nextOf(link: string | null): string | undefined {
  return link === null ? undefined : /<([^>]+)>;\s*rel="?next"?/.exec(link)?.[1];
}
