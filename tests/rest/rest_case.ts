import assert from "node:assert/strict";
import type { EdgeLimitName } from "../../src/edge/mod.ts";
import type { FakeServer } from "../../plugins/smtp/_fake_server.ts";
import type { FakeProvider } from "../harness/fake_provider.ts";
import type { OpenApiDocument } from "../harness/openapi_document.ts";
import { createResponseCheck, type ResponseCheck } from "../harness/response_check.ts";
import type { ApiAnswer } from "../harness/test_purser.ts";
import type { WebhookReceiver } from "../harness/webhook_receiver.ts";

/** One behaviour of the API, the same on every target. */
export interface RestCase {
  /** A sentence that describes it. */
  name: string;
  /** A capability that an edge lacks; such a case is skipped there, and nowhere else. */
  needs?: EdgeLimitName;
  /** The limitation of an edge that the case shows; such a case is skipped elsewhere. */
  without?: EdgeLimitName;
  run(api: RestApi): Promise<void>;
}

/** The options of a request. */
export interface RestRequest {
  body?: unknown;
  headers?: Record<string, string>;
  /** Omits the key that the target requires. */
  isAnonymous?: boolean;
  signal?: AbortSignal;
  /** A request of the gateway, which the document does not describe: the response is not checked. */
  isUndeclared?: boolean;
}

/** The surroundings of a server that cases share. */
export interface RestSurroundings {
  fake: FakeProvider;
  hooks: WebhookReceiver;
  mail: FakeServer;
}

/** A server as a case reaches it. Every response is checked against the OpenAPI document. */
export interface RestApi extends RestSurroundings {
  /** The prefix of every name that this case makes up, so that cases don't affect each other. */
  readonly prefix: string;
  fetch(method: string, path: string, request?: RestRequest): Promise<Response>;
  /** The same, with its body read. */
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<ApiAnswer>;
  /** The same; fails unless the status is this one, and returns the body. */
  expect(
    status: number,
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
    // deno-lint-ignore no-explicit-any -- the body of any route, for a case to look into
  ): Promise<any>;
  /** Fails unless the response is a problem of this status and code. */
  // deno-lint-ignore no-explicit-any -- as above
  refused(status: number, code: string, method: string, path: string, body?: unknown): Promise<any>;
  /** Polls until the condition holds; fails after half a minute. */
  until<T>(ask: () => Promise<T>, holds: (value: T) => boolean): Promise<T>;
}

/** A running server. */
export interface RestServer {
  url: string;
  /** The value of `Authorization` that it requires, if any. */
  key?: string;
}

const LONGEST_WAIT_MS = 30_000;
const BETWEEN_ASKS_MS = 20;

/** A server as its cases reach it. */
export interface RestView {
  /** The view of one case. */
  of(prefix: string): RestApi;
  /** The `operationId`s of the OpenAPI document that no case has requested, or that never succeeded. */
  untried(): Promise<string[]>;
}

/** Creates the view of a server. */
export function createRestView(server: RestServer, surroundings: RestSurroundings): RestView {
  let loading: Promise<{ document: OpenApiDocument; check: ResponseCheck }> | undefined;
  const authorization: Record<string, string> = server.key ? { authorization: `Bearer ${server.key}` } : {};
  const load = async () => {
    const answer = await fetch(`${server.url}/openapi.json`, { headers: authorization });
    const document: OpenApiDocument = await answer.json();
    return { document, check: createResponseCheck(document) };
  };
  const of = (prefix: string) => {
    const api: RestApi = {
      ...surroundings,
      prefix,
      async fetch(method, path, { body, headers, isAnonymous, signal, isUndeclared } = {}) {
        const { check } = await (loading ??= load());
        const isRaw = body === undefined || typeof body === "string" || body instanceof Uint8Array ||
          body instanceof ReadableStream;
        const response = await fetch(server.url + path, {
          method,
          headers: {
            ...(isAnonymous ? {} : authorization),
            ...(body !== undefined && { "content-type": "application/json" }),
            ...headers,
          },
          ...(body !== undefined && { body: isRaw ? body as BodyInit : JSON.stringify(body) }),
          redirect: "manual",
          signal,
        });
        if (isUndeclared) return response;
        // A body that is a stream has been read by now.
        return await check(
          method,
          path,
          response,
          body instanceof ReadableStream ? undefined : { headers, body },
        );
      },
      async send(method, path, body, headers) {
        const response = await api.fetch(method, path, { body, headers });
        const text = await response.text();
        const isJson = response.headers.get("content-type")?.includes("json");
        return {
          status: response.status,
          headers: response.headers,
          body: isJson && text !== "" ? JSON.parse(text) : text,
        };
      },
      async expect(status, method, path, body, headers) {
        const answer = await api.send(method, path, body, headers);
        assert.equal(answer.status, status, `${method} ${path}: ${JSON.stringify(answer.body)}`);
        return answer.body;
      },
      async refused(status, code, method, path, body) {
        const answer = await api.send(method, path, body);
        const where = `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`;
        assert.equal(answer.status, status, where);
        assert.equal(answer.headers.get("content-type"), "application/problem+json", where);
        assert.deepEqual([answer.body.code, answer.body.status], [code, status], where);
        assert.equal(answer.body.instance, path.split("?")[0], where);
        return answer.body;
      },
      async until(ask, holds) {
        const deadline = performance.now() + LONGEST_WAIT_MS;
        for (;;) {
          const value = await ask();
          if (holds(value)) return value;
          if (performance.now() > deadline) assert.fail(`it stayed ${JSON.stringify(value)}`);
          await new Promise((resolve) => setTimeout(resolve, BETWEEN_ASKS_MS));
        }
      },
    };
    return api;
  };
  return {
    of,
    async untried() {
      const { document, check } = await (loading ??= load());
      const declared = Object.values(document.paths).flatMap((operations) =>
        Object.values(operations).map(({ operationId }) => operationId)
      );
      assert.ok(declared.length > 30);
      return declared.filter((operationId) => !check.succeeded.has(operationId));
    },
  };
}
