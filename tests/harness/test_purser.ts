import { AGENT_DEFAULTS } from "../../src/contract/limits.ts";
import assert from "node:assert/strict";
import { listMessages } from "./sessions.ts";
import type { AgentDefinition } from "../../src/agents/mod.ts";
import type { BusEvent } from "../../src/bus/mod.ts";
import { type Clock, fixedClock, systemClock } from "../../src/kernel/clock.ts";
import { type CoreOptions, openCore, type WholeCore } from "../../src/service/mod.ts";
import { createApp } from "../../src/http/mod.ts";
import type { App } from "../../src/http/mod.ts";
import { countingIds } from "../../src/kernel/ids.ts";
import type { Log, LogFields } from "../../src/kernel/log.ts";
import { runAgent, type RunInput } from "../../src/runner/mod.ts";
import { listSessionEvents, type SessionEvent } from "../../src/sessions/mod.ts";
import { migratedMemory } from "./migrated_memory.ts";
import { FIXTURE_AT, LOCAL_PRICE } from "../fixtures/providers/mod.ts";
import type { FakeProvider } from "./fake_provider.ts";
import { createAppCheck, type ResponseCheck } from "./response_check.ts";

/** A line that was logged. */
export interface LogLine {
  level: string;
  message: string;
  fields: LogFields;
}

/** A response of the API, its body parsed. */
export interface ApiAnswer {
  status: number;
  headers: Headers;
  // deno-lint-ignore no-explicit-any -- the body of any route, for a test to look into
  body: any;
}

/** A whole Purser in memory, with a clock that stands still. `await using` closes it. */
export interface TestPurser extends AsyncDisposable {
  core: WholeCore;
  app: App;
  clock: ReturnType<typeof fixedClock>;
  logs: LogLine[];
  /** Everything the bus has published. */
  published: BusEvent[];
  /** Sends a request to the app; request and response are checked against the OpenAPI document. */
  fetch(method: string, path: string, init?: { body?: unknown; headers?: HeadersInit }): Promise<Response>;
  /** The same, with its body read. */
  api(
    method: string,
    path: string,
    body?: unknown,
    headers?: HeadersInit,
  ): Promise<ApiAnswer>;
  /** The `operationId` of every operation that was answered successfully. */
  readonly succeeded: ReadonlySet<string>;
  /** Runs an agent that need not be defined; fields that are not given have defaults. */
  run(agent: Partial<AgentDefinition>, input: string, more?: Omit<RunInput, "agent" | "input">): RunPromise;
  events(sessionId: string): Promise<SessionEvent[]>;
  messages(sessionId: string): Promise<Record<string, unknown>[]>;
}

type RunPromise = ReturnType<typeof runAgent>;

/** Options of a test's Purser; `fake` is the model API that every provider's base URL points at. */
export type TestOptions = Partial<Omit<CoreOptions, "config">> & {
  fake?: Pick<FakeProvider, "baseUrls">;
  config?: Partial<CoreOptions["config"]>;
  /** False: requests and answers are not checked against the OpenAPI document, which takes two seconds to compile. */
  isChecked?: false;
};

export async function openTestPurser(options: TestOptions = {}): Promise<TestPurser> {
  const { fake, config, isChecked = true, ...rest } = options;
  const clock = fixedClock(FIXTURE_AT);
  const logs: LogLine[] = [];
  const core = await openCore({
    clock: config?.dbUrl?.includes("://") ? retrying(clock) : clock,
    ids: countingIds(),
    sqlite: await migratedMemory(),
    log: keepingLog(logs),
    env: fake && fakeEnvironment(fake),
    ...rest,
    config: {
      dbUrl: ":memory:",
      durability: "full",
      remoteTimeoutMs: 10_000,
      maxBodyBytes: 8 * 1024 * 1024,
      environment: "test",
      prices: [LOCAL_PRICE],
      providers: fake &&
        { local: { baseUrl: fake.baseUrls.compatible }, openrouter: { baseUrl: fake.baseUrls.compatible } },
      ...config,
    },
  });
  await core.prices.ready?.();
  const app = await createApp(core);
  const published: BusEvent[] = [];
  core.bus.subscribe((event) => published.push(event));
  let check: ResponseCheck | undefined;

  const send: TestPurser["fetch"] = async (method, path, { body, headers } = {}) => {
    if (isChecked) check ??= await createAppCheck(app);
    const isRaw = body === undefined || typeof body === "string" || body instanceof Uint8Array;
    const response = await app.request(path, {
      method,
      headers: { ...(body !== undefined && { "content-type": "application/json" }), ...headers as object },
      ...(body !== undefined && { body: isRaw ? body as BodyInit : JSON.stringify(body) }),
    });
    return check ? await check(method, path, response, { headers, body }) : response;
  };

  return {
    core,
    app,
    clock,
    logs,
    published,
    fetch: send,
    get succeeded() {
      return check?.succeeded ?? new Set();
    },
    async api(method, path, body, headers) {
      const response = await send(method, path, { body, headers });
      const text = await response.text();
      const isJson = response.headers.get("content-type")?.includes("json");
      return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
    },
    run: (agent, input, more) =>
      runAgent(core, {
        agent: { ...AGENT_DEFAULTS, agentId: "tester", model: "demo:echo", ...agent },
        input,
        ...more,
      }),
    async events(sessionId) {
      const events: SessionEvent[] = [];
      for (;;) {
        const page = await listSessionEvents(core, { sessionId, after: events.length, limit: 10_000 });
        if (page.length === 0) return events;
        events.push(...page);
      }
    },
    messages: async (sessionId) =>
      (await listMessages(core, sessionId)).map(({ id: _id, created_at: _at, ...message }) => message),
    [Symbol.asyncDispose]: () => core.close(),
  };
}

/** The wait of a server's store before it tries again passes by itself, though the clock stands still: nothing else would end it. */
function retrying(clock: Clock): Clock {
  const sleep: Clock["sleep"] = (delayMs, signal) =>
    signal === undefined && delayMs <= LONGEST_RETRY_MS
      ? systemClock.sleep(delayMs)
      : clock.sleep(delayMs, signal);
  return { ...clock, sleep };
}

const LONGEST_RETRY_MS = 1_000;

/** The environment that points every built-in provider at the fake one. */
export function fakeEnvironment(fake: Pick<FakeProvider, "baseUrls">): Record<string, string> {
  return {
    OPENAI_API_KEY: "not-a-key",
    OPENAI_BASE_URL: fake.baseUrls.openai,
    ANTHROPIC_API_KEY: "not-a-key",
    ANTHROPIC_BASE_URL: fake.baseUrls.anthropic,
    GOOGLE_GENERATIVE_AI_API_KEY: "not-a-key",
    GOOGLE_GENERATIVE_AI_BASE_URL: fake.baseUrls.google,
  };
}

function keepingLog(logs: LogLine[]): Log {
  const line = (level: string) => (message: string, fields: LogFields = {}) =>
    void logs.push({ level, message, fields });
  return { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") };
}

/** Returns the error that a promise was rejected with; fails if it was not. */
// deno-lint-ignore no-explicit-any -- a test looks into whatever was thrown
export async function rejection(promise: Promise<unknown>): Promise<any> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  assert.fail("nothing was thrown");
}
