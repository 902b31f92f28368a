import type { Scope } from "../../src/contract/values.ts";
import { withAccessCheck } from "../../src/http/mod.ts";
import { createResponseCheck, type ResponseCheck } from "./response_check.ts";
import type { ApiAnswer, TestPurser } from "./test_purser.ts";

/** A request as the door sees it. */
export interface DoorRequest {
  key?: string;
  body?: unknown;
  headers?: Record<string, string>;
  /** The address it comes from; another machine's, unless said otherwise. Null: it is not known. */
  from?: string | null;
}

/** A Purser's door, as a server and the edge have it. */
export interface KeyedDoor {
  /** Sends a request from outside; the answer is checked against the OpenAPI document, its body left. */
  fetch(method: string, path: string, request?: DoorRequest): Promise<Response>;
  /** The same for what the document does not know of, and unchecked. */
  raw(method: string, path: string, request?: DoorRequest): Promise<Response>;
  /** As `fetch`, its body read. */
  send(method: string, path: string, request?: DoorRequest): Promise<ApiAnswer>;
}

/** Opens the door of a Purser in memory. */
export function openDoor({ core, app }: Pick<TestPurser, "core" | "app">): KeyedDoor {
  const door = withAccessCheck(core, app);
  let check: ResponseCheck | undefined;
  const raw: KeyedDoor["raw"] = async (
    method,
    path,
    { key, body, headers, from = "192.0.2.1" } = {},
  ) => {
    const request = new Request(`http://purser.example${path}`, {
      method,
      headers: {
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return await door(request, from ?? undefined);
  };
  const fetch: KeyedDoor["fetch"] = async (method, path, request) => {
    check ??= createResponseCheck(await (await app.request("/openapi.json")).json());
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

/** Makes a key as the person at the database does, and gives its text and id. */
export async function makeKey(
  purser: Pick<TestPurser, "api">,
  scopes: readonly Scope[],
  more: { name?: string; agent_id?: string; expires_at?: string } = {},
): Promise<{ key: string; keyId: string }> {
  const { status, body } = await purser.api("POST", "/keys", { name: "test", scopes, ...more });
  if (status !== 201) throw new Error(`Cannot make a key: ${JSON.stringify(body)}`);
  return { key: body.key, keyId: body.key_id };
}
