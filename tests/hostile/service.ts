import assert from "node:assert/strict";
import { sha256Hex } from "../../src/kernel/encoding.ts";
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
import { snapshotOf } from "../harness/snapshots.ts";
import { openTestPurser, type TestOptions, type TestPurser } from "../harness/test_purser.ts";

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

export const AGENTS = ["alpha", "bravo"] as const;
export type AgentName = (typeof AGENTS)[number];

/** Begins every text that belongs to an agent and is not an id. */
export const markOf = (agent: AgentName): string => `secret-of-${agent}`;

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

/** Gives an agent something of everything, each text with its mark and each id with its name; returns the ids. */
async function populate(
  purser: TestPurser,
  agent: AgentName,
  hasKeys: boolean,
): Promise<Record<string, string>> {
  const mark = markOf(agent);
  const expect = async (status: number, method: string, path: string, body?: unknown) => {
    const answer = await purser.api(method, path, body);
    assert.equal(answer.status, status, `${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  await expect(201, "PUT", `/agents/${agent}`, {
    model: "demo:loop",
    system_prompt: mark,
    tools: ["current_time"],
  });
  const { rule_id } = await expect(201, "POST", "/alerts/rules", {
    name: mark,
    threshold_type: "per_run_usd",
    threshold_usd: 0.000001,
    severity: "info",
    cooldown_seconds: 0,
    agent_id: agent,
  });
  const { budget_id } = await expect(201, "POST", "/budgets", {
    name: mark,
    limit_usd: 1_000,
    per: "day",
    agent_id: agent,
    each: "session",
    mode: "strict",
  });
  await expect(204, "POST", "/plans", {
    agent_id: agent,
    source: "log",
    machine: mark,
    windows: [{ window: "five_hour", used_pct: 5, plan: mark }],
  });
  await expect(201, "POST", `/budgets/${budget_id}/raises`, { extra_usd: 1, reason: mark });
  for (const [index, isReleased] of [true, false].entries()) {
    await purser.core.store.write([{
      sql:
        `INSERT INTO reservations (scope, at, reservation_id, worst_nano_usd, estimate_nano_usd, expires_at,
        is_lost, agent_id) VALUES ('session ' || ?3, ?2, ?3, 1, 0, 0, 1, ?1)`,
      args: [agent, purser.clock.now(), `${agent}_${index}`],
    }]);
    if (isReleased) await expect(201, "POST", `/budgets/${budget_id}/releases`, { reason: mark });
  }
  await expect(201, "POST", "/budgets", {
    ...{ name: mark, limit_usd: 0, per: "lifetime", session_id: `${agent}:refused` },
  });
  await expect(201, "POST", "/budgets", {
    ...{ name: mark, limit_usd: 0, per: "lifetime", session_id: `${agent}:asks`, action: "ask" },
  });
  const { details: { ticket_id } } = await expect(402, "POST", "/budgets/reservations", {
    ...{ agent_id: agent, session_id: `${agent}:asks`, worst_case_usd: 1 },
  });
  await expect(402, "POST", "/budgets/reservations", {
    agent_id: agent,
    session_id: `${agent}:refused`,
    estimate_usd: 1,
  });
  const { reservation_id } = await expect(201, "POST", "/budgets/reservations", {
    agent_id: agent,
    estimate_usd: 0.001,
    worst_case_usd: 0.001,
    ttl_seconds: 900,
  });
  const session_id = `ses_${agent}`;
  const { run_id } = await expect(200, "POST", `/agents/${agent}/runs`, {
    input: `${mark} 6 times`,
    session_id,
  });
  const call_id = `call_${agent}`;
  const call = { provider: "demo", input_tokens: 1_000, output_tokens: 1, at: "2026-11-01T11:00:00.000Z" };
  await expect(201, "POST", "/costs/events", [
    {
      ...call,
      call_id,
      agent_id: agent,
      model: mark,
      session_id: `loose_${agent}`,
      run_id: `elsewhere_${agent}`,
      account: mark,
      tags: { [`team_${agent}`]: mark, team: mark },
    },
  ]);
  const log = { source: "log", name: agent, agent_id: agent, machine: mark };
  const seen = [{ ref: agent, model: mark, at: call.at, input_tokens: 1, output_tokens: 1 }];
  await expect(200, "POST", "/sightings", { origin: log, sightings: seen });
  const history: { alert_id: string; agent_id: string }[] = await expect(200, "GET", "/alerts/history");
  const { alert_id } = history.find(({ agent_id }) => agent_id === agent)!;
  const snapshot = snapshotOf({ agent_id: agent, session_id: `copy_${agent}`, tags: { ticket: mark } });
  await expect(200, "POST", "/agents/snapshot/restore", snapshot);
  // Its stated cost is not that of the prices: there is something to reprice.
  const stated = { ...call, call_id: `stated_${agent}`, agent_id: agent, model: "echo", cost_usd: 1 };
  await expect(201, "POST", "/costs/events", [stated]);
  const { repricing_id } = await expect(200, "POST", "/repricings", {
    agent_id: agent,
    from: "2026-11-01T00:00:00.000Z",
    to: "2026-11-02T00:00:00.000Z",
    include_reported: true,
    apply: true,
  });
  const bill = { source: "csv", account: agent, file: { sha256: await sha256Hex(agent), how: mark } };
  const { import_id } = await expect(200, "POST", "/bills/imports", bill);
  const whole = {
    source: "csv",
    account: `${agent} bill`,
    file: { sha256: await sha256Hex(`${agent} bill`), how: mark },
  };
  const { import_id: whole_id } = await expect(200, "POST", "/bills/imports", whole);
  await expect(200, "POST", `/bills/imports/${whole_id}/lines`, { offset: 0, lines: [], is_last: true });
  const month = { source: "csv", account: whole.account, month: "2026-10" };
  const { reconciliation_id } = await expect(200, "POST", "/reconciliations", month);
  const key = { name: mark, scopes: ["read", "call"], agent_id: agent };
  const key_id = hasKeys ? (await expect(201, "POST", "/keys", key)).key_id : "key_none";
  const price = { provider: mark, model: mark, input_usd_per_million: 1, output_usd_per_million: 1 };
  const { price_id } = await expect(201, "PUT", "/prices/rows", price);
  const upstreams: { upstream_id: string; account: string }[] = await expect(200, "GET", "/upstreams");
  const { upstream_id } = upstreams.find(({ account }) => account === mark)!;
  await purser.core.monitor.idle();
  return {
    ...{
      upstream_id,
      agent_id: agent,
      price_id,
      session_id,
      run_id,
      call_id,
      rule_id,
      alert_id,
      budget_id,
      ticket_id,
      reservation_id,
      repricing_id,
      import_id,
      reconciliation_id,
      key_id,
    },
    name: "log",
  };
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
