import type { Scope } from "../../src/contract/values.ts";
import { withAccessCheck } from "../../src/http/server/mod.ts";
import { createAppCheck, type ResponseCheck } from "./response_check.ts";
import type { ApiAnswer, TestPurser } from "./test_purser.ts";

/** A request of the client. */
export interface ClientRequest {
  key?: string;
  body?: unknown;
  /** A body that is sent as it is. */
  rawBody?: BodyInit;
  headers?: Record<string, string>;
  /** The client's address; another machine's unless given. Null: unknown. */
  from?: string | null;
}

/** A client of a Purser's fetch handler, as servers and the edge have it. */
export interface HttpClient {
  /** Sends a request from outside; the response is checked against the OpenAPI document, its body unread. */
  fetch(method: string, path: string, request?: ClientRequest): Promise<Response>;
  /** The same for requests that the document does not declare, and unchecked. */
  raw(method: string, path: string, request?: ClientRequest): Promise<Response>;
  /** As `fetch`, with the body read. */
  send(method: string, path: string, request?: ClientRequest): Promise<ApiAnswer>;
}

/** Creates a client of a Purser in memory. */
export function openHttpClient({ core, app }: Pick<TestPurser, "core" | "app">): HttpClient {
  const handle = withAccessCheck(core, app);
  let check: ResponseCheck | undefined;
  const raw: HttpClient["raw"] = async (
    method,
    path,
    { key, body, rawBody, headers, from = "192.0.2.1" } = {},
  ) => {
    const request = new Request(`http://purser.example${path}`, {
      method,
      headers: {
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(rawBody !== undefined && { body: rawBody }),
    });
    return await handle(request, from ?? undefined);
  };
  const fetch: HttpClient["fetch"] = async (method, path, request) => {
    check ??= await createAppCheck(app);
    const response = await raw(method, path, request);
    return await check(method, path, response);
  };
  return {
    raw,
    fetch,
    async send(method, path, request) {
      const response = await fetch(method, path, request);
      const text = await response.text();
      const isJson = response.headers.get("content-type")?.includes("json");
      return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
    },
  };
}

let keys = 0;

/** Creates a key within the process, without authentication, of a name of its own; returns its text and id. */
export async function makeKey(
  purser: Pick<TestPurser, "api">,
  scopes: readonly Scope[],
  more: { name?: string; agent_id?: string; expires_at?: string; tags?: Record<string, string> } = {},
): Promise<{ key: string; keyId: string }> {
  const { status, body } = await purser.api("POST", "/keys", { name: `test ${++keys}`, scopes, ...more });
  if (status !== 201) throw new Error(`Cannot make a key: ${JSON.stringify(body)}`);
  return { key: body.key, keyId: body.key_id };
}
