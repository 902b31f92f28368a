import assert from "node:assert/strict";
import { type Permission, permissionsOf } from "../../src/http/mod.ts";
import { withAccessCheck } from "../../src/http/server/mod.ts";
import type { Scope } from "../../src/contract/values.ts";
import { dump } from "../harness/booking.ts";
import { makeKey } from "../harness/http_client.ts";
import {
  findOperation,
  type OpenApiDocument,
  type Operation as Declared,
} from "../harness/openapi_document.ts";
import { createAppCheck, type ResponseCheck } from "../harness/response_check.ts";
import { openTestPurser, type TestOptions, type TestPurser } from "../harness/test_purser.ts";
import { type AgentName, populate } from "./populate.ts";

/** An operation of the API: all hostile suites loop over these, so that a new route is in them by itself. */
export interface Operation {
  /** Such as `GET /runs/{run_id}`. */
  route: string;
  method: string;
  template: string;
  permission: Permission;
  declared: Declared;
}

/** A request of a hostile client. */
export interface HostileRequest {
  method: string;
  /** As it is written in the request line. */
  target: string;
  key?: string;
  headers?: Record<string, string>;
  /** Sent as it is: the text of JSON, or not. */
  body?: string | Uint8Array<ArrayBuffer>;
  /** The client's address; a new one of another machine unless given, so that no request suffers for those before. */
  from?: string;
}

/** A response whose body was read, unless it is a stream of events. */
export interface HostileAnswer {
  status: number;
  headers: Headers;
  text: string;
}

/** A response over it says more than an error has to. */
const MAX_PROBLEM_BYTES = 64 * 1024;

/** The tables that only requests write. */
const KEPT = ["agents", "alert_rules", "api_keys", "calls", "messages", "repricings", "runs", "sessions"];

/** A whole API key: one may be in a response only where it is created, or gets a new secret. */
const KEY = /psr_[0-9a-z]{1,64}_[0-9a-z]{39}/;
const MAKES_KEY = /^POST \/keys(\/[^/]+\/rotate)?$/;

/** Statuses of requests that were refused for what they are, before anything was done. */
const REFUSED = [400, 401, 403, 404, 405, 406, 408, 411, 412, 413, 414, 415, 417, 422, 428, 429, 431];

/** A service with two agents, each of which has something of everything that the API shows. */
export interface HostileService extends AsyncDisposable {
  purser: TestPurser;
  document: OpenApiDocument;
  operations: readonly Operation[];
  /** Ids by the name of the path's parameter, of one agent. */
  ids: Readonly<Record<AgentName, Readonly<Record<string, string>>>>;
  /** The key that requests have unless they name another; it may do everything. */
  adminKey: string;
  /** Creates a key, and records its first use, so that later requests of it write nothing. */
  makeKey(scopes: readonly Scope[], more?: { agent_id?: string; expires_at?: string }): Promise<string>;
  /** The path of an operation with the ids of an agent. */
  pathOf(operation: Operation, agent?: AgentName): string;
  /**
   * Sends a request from another machine, by the admin's key unless `key` is given; an empty one is none. Fails at any
   * response that a hostile client must not get: a 5xx, one that the OpenAPI document does not declare, a large problem, a
   * key, or a refusal after which the database is another.
   */
  send(request: HostileRequest): Promise<HostileAnswer>;
  /** The `operationId` of every operation that was answered successfully. */
  readonly succeeded: ReadonlySet<string>;
  /** Fails if an error was logged. */
  checkLog(): void;
  /** Fails unless a usual request is answered. */
  checkHealth(): Promise<void>;
}

/** Opens a service; one without keys answers this machine alone. */
export async function openHostileService(
  { hasKeys = true, ...options }: TestOptions & { hasKeys?: boolean } = {},
): Promise<HostileService> {
  const purser = await openTestPurser({
    config: { maxBodyBytes: 256 * 1024, ...options.config },
    ...options,
  });
  const document = await (await purser.app.request("/openapi.json")).json() as OpenApiDocument;
  const ids = {
    alpha: await populate(purser, "alpha", hasKeys),
    bravo: await populate(purser, "bravo", hasKeys),
  };
  const handle = withAccessCheck(purser.core, purser.app);
  const check = await createAppCheck(purser.app);
  const countChanges = async () =>
    Number((await purser.core.store.read({ sql: "SELECT total_changes()" })).rows[0]![0]);

  const readKept = async () => {
    const tables = await dump(purser.core.store);
    return Object.fromEntries(
      KEPT.map((table) => [table, tables[table] ?? assert.fail(`there is no ${table}`)]),
    );
  };

  const create: HostileService["makeKey"] = async (scopes, more) => {
    const { key } = await makeKey(purser, scopes, more);
    await send(handle, { method: "GET", target: "/agents", key });
    await Promise.all(purser.core.keyCache.writing);
    return key;
  };
  const adminKey = hasKeys ? await create(["admin"]) : "";

  const service: HostileService = {
    purser,
    document,
    operations: operationsOf(purser, document),
    ids,
    adminKey,
    makeKey: create,
    pathOf: ({ template }, agent = "alpha") =>
      template.replaceAll(/\{(\w+)\}/g, (_, name) => {
        const id = ids[agent][name];
        assert.ok(id, `Cannot fill ${template}: populate() has to return an id for ${name}`);
        return id;
      }),
    async send(request) {
      const before = await countChanges();
      const sent = { key: adminKey, ...request };
      const answer = await send(handle, sent);
      const where = `${sent.method} ${sent.target.slice(0, 300)} ${describe(sent)} -> ${answer.status}`;
      checkAnswer(answer, sent, where);
      await checkDeclared(check, document, sent, answer);
      if (REFUSED.includes(answer.status) && await countChanges() !== before) {
        // It may have written what was there already: then it does so again. The background writes other tables.
        const kept = await readKept();
        assert.equal((await send(handle, sent)).status, answer.status, where);
        assert.deepEqual(await readKept(), kept, `${where}: the database has changed`);
      }
      return answer;
    },
    get succeeded() {
      return check.succeeded;
    },
    checkLog() {
      assert.deepEqual(purser.logs.filter(({ level }) => level === "error"), []);
    },
    async checkHealth() {
      const { status, text } = await service.send({ method: "GET", target: "/costs?agent_id=bravo" });
      assert.equal(status, 200);
      assert.deepEqual(JSON.parse(text).map(({ model_calls }: { model_calls: number }) => model_calls), [10]);
    },
    [Symbol.asyncDispose]: () => purser[Symbol.asyncDispose](),
  };
  return service;
}

/** The body of a request that does what it says: the document's example, about an agent that exists. */
export function exampleOf(
  { method, route, declared }: Operation,
  agent: AgentName = "alpha",
): string | undefined {
  if (method === "GET" || !declared.requestBody) return undefined;
  const [content] = Object.values(declared.requestBody.content) as { example?: object }[];
  assert.ok(content?.example, `${route} declares no example of its body`);
  const changes: Record<string, unknown> = {
    agent_id: agent,
    model: "demo:echo",
    session_id: `new_${agent}`,
    at: "2026-11-01T11:00:00.000Z",
  };
  return JSON.stringify(content.example, (name, value) => changes[name] ?? value);
}

function operationsOf({ app }: TestPurser, { paths }: OpenApiDocument): Operation[] {
  const permissions = permissionsOf(app);
  return Object.entries(paths).flatMap(([template, methods]) =>
    Object.entries(methods).map(([verb, declared]) => {
      const method = verb.toUpperCase();
      const route = `${method} ${template}`;
      const permission = permissions.get(route);
      assert.ok(permission, `${route} declares no permission`);
      return { route, method, template, permission, declared };
    })
  );
}

let addresses = 0;

/** An address of the networks for benchmarks, 198.18.0.0/15. */
function newAddress(): string {
  addresses++;
  return `198.${18 + (addresses >> 16 & 1)}.${addresses >> 8 & 255}.${addresses & 255}`;
}

type Handle = ReturnType<typeof withAccessCheck>;

async function send(
  handle: Handle,
  { method, target, key, headers, body: sent, from = newAddress() }: HostileRequest,
): Promise<HostileAnswer & { response: Response; path: string }> {
  const request = new Request(`http://purser.example${target}`, {
    method,
    headers: {
      ...(key && { authorization: `Bearer ${key}` }),
      ...(sent !== undefined && { "content-type": "application/json" }),
      ...headers,
    },
    ...(sent !== undefined && { body: sent }),
  });
  const { pathname, search } = new URL(request.url);
  const response = await handle(request, from);
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
  if (isStream) await response.body?.cancel();
  const isZipped = response.headers.get("content-encoding") === "gzip";
  const body = isZipped ? response.body!.pipeThrough(new DecompressionStream("gzip")) : response.body;
  const text = isStream ? "" : await new Response(body).text();
  return { status: response.status, headers: response.headers, text, response, path: pathname + search };
}

function describe({ key, headers = {}, body }: HostileRequest): string {
  const shown = Object.entries(headers).map(([name, value]) => `${name}: ${value.slice(0, 100)}`);
  return [key ? "" : "without a key", ...shown, String(body ?? "").slice(0, 300)].filter(Boolean).join(" | ");
}

function checkAnswer({ status, headers, text }: HostileAnswer, request: HostileRequest, where: string): void {
  assert.ok(status < 500, `${where}: ${text.slice(0, 1_000)}`);
  if (request.key) assert.ok(!text.includes(request.key), `${where}: it has the key`);
  if (!MAKES_KEY.test(`${request.method} ${request.target}`)) {
    assert.doesNotMatch(text, KEY, `${where}: it has a key`);
  }
  if (status < 400) return;
  assert.ok(text.length <= MAX_PROBLEM_BYTES, `${where}: a problem of ${text.length} characters`);
  assert.equal(headers.get("content-type"), "application/problem+json", where);
  for (const name of headers.keys()) assert.doesNotMatch(name, /^access-control-/, where);
}

/** The response is one that the document declares, and the request too, if it was accepted. */
async function checkDeclared(
  check: ResponseCheck,
  document: OpenApiDocument,
  { method, headers, body }: HostileRequest,
  { status, text, path, response }: HostileAnswer & { response: Response; path: string },
): Promise<void> {
  const isBodiless = method === "HEAD" || [204, 304].includes(status) || response.body === null;
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
  const copy = isStream
    ? response
    : new Response(isBodiless ? null : text, { status, headers: response.headers });
  if (isStream) {
    const { status, headers } = response;
    return void await check(
      method,
      path,
      new Response(new ReadableStream({ start: (c) => c.close() }), { status, headers }),
    );
  }
  const operation = findOperation(document, method, path)?.operation;
  // Probes and pages ignore what they don't know, and an operation that takes no body any body.
  const request = { headers, body: operation?.requestBody && body };
  await check(method, path, copy, operation?.tags?.[0] === "service" ? undefined : request);
}
