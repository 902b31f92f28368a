import assert from "node:assert/strict";
import cline from "../../src/ingest/logs/cline.ts";
import kilo from "../../src/ingest/logs/kilo.ts";
import roo from "../../src/ingest/logs/roo.ts";
import { assertBooks, createReader, readLogs } from "./read_logs.ts";

const SESSION = ".cline/data/sessions/1795_ab/";
const AT = 1_795_694_321_629;
const METRICS = { inputTokens: 150, outputTokens: 40, cacheReadTokens: 30, cacheWriteTokens: 20 };

function message(id: string, more: Record<string, unknown> = {}) {
  const content = [{ type: "text" }, { type: "tool_use", name: "read_files" }];
  return {
    id,
    role: "assistant",
    content,
    ts: AT,
    modelInfo: { id: "gpt-5-mini", provider: "openai-native" },
    metrics: METRICS,
    ...more,
  };
}

const document = (messages: unknown[], more: Record<string, unknown> = {}) =>
  JSON.stringify({ version: 1, agent: "lead", sessionId: "1795_ab", messages, ...more });

const EXPECTED = {
  model: "gpt-5-mini",
  input: 150,
  cacheRead: 30,
  cacheWrite: 20,
  output: 40,
  reasoning: 0,
  provider: "openai",
  session: "1795_ab",
};

Deno.test("cline: the input of a session has the cached tokens; where it can't, they are beside it", () => {
  const beside = message("m2", { ts: AT + 1, metrics: { ...METRICS, inputTokens: 10, outputTokens: 41 } });
  const { calls } = readLogs(cline, {
    [`${SESSION}1795_ab.messages.json`]: document([message("m1"), beside]),
  });
  assertBooks(calls, [EXPECTED, { ...EXPECTED, input: 60, output: 41 }]);
  assert.deepEqual(calls[0]!.tools, ["read_files"]);
});

Deno.test("cline: the folder of a session is that of its description, whose sums are not booked", () => {
  const { calls } = readLogs(cline, {
    [`${SESSION}1795_ab.json`]: JSON.stringify({
      cwd: "/home/dev/project",
      metadata: { usage: { inputTokens: 150 } },
    }),
    [`${SESSION}1795_ab.messages.json`]: document([message("m1")]),
  });
  assertBooks(calls, [EXPECTED]);
  assert.equal(calls[0]!.folder, "/home/dev/project");
});

Deno.test("cline: the calls of sub-agents stand in their own files, and are those of the session", () => {
  const sub = { agent: "subagent", sessionId: "1795_ab__agent_17_x1", origin: { parentThreadId: "1795_ab" } };
  const below = {
    agent: "subagent",
    sessionId: "1795_ab__agent_18_x2",
    origin: { parentThreadId: "1795_ab__agent_17_x1" },
  };
  const counts = { metrics: { ...METRICS, outputTokens: 41 } };
  const { calls } = readLogs(cline, {
    [`${SESSION}1795_ab.messages.json`]: document([message("m1")]),
    [`${SESSION}agent_17_x1.messages.json`]: document([message("m2", counts)], sub),
    [`${SESSION}agent_18_x2.messages.json`]: document([
      message("m3", { metrics: { ...METRICS, outputTokens: 42 } }),
    ], below),
  });
  assertBooks(calls, [
    EXPECTED,
    { ...EXPECTED, output: 41, subagent: "agent_17_x1", subagentType: "subagent" },
    { ...EXPECTED, output: 42, subagent: "agent_18_x2" },
  ]);
  assert.deepEqual(calls.map(({ subagent }) => subagent?.parent), [undefined, undefined, "agent_17_x1"]);
});

Deno.test("cline: messages that get new ids, and those that a fork copies, stay those of the first session", () => {
  const fork = ".cline/data/sessions/1796_cd/1796_cd";
  const forkedAt = new Date(AT + 60_000).toISOString();
  const logs = {
    [`${fork}.json`]: JSON.stringify({ metadata: { fork: { forkedFromSessionId: "1795_ab", forkedAt } } }),
    [`${fork}.messages.json`]: document([message("m9"), message("m2", { ts: AT + 90_000 })], {
      sessionId: "1796_cd",
    }),
    [`${SESSION}1795_ab.messages.json`]: document([message("m1")]),
  };
  assertBooks(readLogs(cline, logs).calls, [EXPECTED, {
    ...EXPECTED,
    session: "1796_cd",
    at: new Date(AT + 90_000).toISOString(),
  }]);
});

Deno.test("cline: counts of the last message of a run without others are the sum of the run", () => {
  const result = { role: "user", content: [{ type: "tool_result" }] };
  const prompt = { role: "user", content: [{ type: "text" }] };
  const bare = message("m1", { metrics: undefined });
  const read = (...messages: unknown[]) =>
    readLogs(cline, { [`${SESSION}1795_ab.messages.json`]: document(messages) }).calls.map(({ quality }) =>
      quality
    );
  assert.deepEqual(read(prompt, bare, result, message("m2")), ["aggregate"]);
  assert.deepEqual(read(prompt, bare, prompt, message("m2")), ["exact"]);
  assert.deepEqual(read(prompt, message("m1"), result, message("m2", { ts: AT + 1 })), ["exact", "exact"]);
});

Deno.test("cline: who answers for `openai-compatible` is unknown", () => {
  const modelInfo = { id: "gpt-5-mini", provider: "openai-compatible" };
  const [call] =
    readLogs(cline, { [`${SESSION}1795_ab.messages.json`]: document([message("m1", { modelInfo })]) }).calls;
  assert.equal(call!.provider, undefined);
});

const EXTENSIONS = ".config/Code/User/globalStorage/";
const ROO = `${EXTENSIONS}rooveterinaryinc.roo-cline/tasks/`;
const TASK = `${EXTENSIONS}saoudrizwan.claude-dev/tasks/1790000000000/`;
const TS = Date.UTC(2026, 0, 5);
const REQUEST = { tokensIn: 100, tokensOut: 40, cacheReads: 30, cacheWrites: 20, cost: 0.01 };

const say = (kind: string, request: unknown, ts = TS, more: Record<string, unknown> = {}) => ({
  ts,
  type: "say",
  say: kind,
  text: JSON.stringify(request),
  ...more,
});

const ui = (...messages: unknown[]) => JSON.stringify(messages);

const REQUESTED = {
  model: "claude-sonnet-4-5",
  input: 150,
  cacheRead: 30,
  cacheWrite: 20,
  output: 40,
  reasoning: 0,
  provider: "anthropic",
  session: "1790000000000",
  statedCostUsd: "0.01",
};
const MODEL = { modelInfo: { providerId: "anthropic", modelId: "claude-sonnet-4-5", mode: "act" } };

Deno.test("cline: a request of a task has its input without the cached tokens, but from some providers", () => {
  const { calls } = readLogs(cline, {
    [`${TASK}ui_messages.json`]: ui(say("api_req_started", REQUEST, TS, MODEL)),
  });
  assertBooks(calls, [REQUESTED]);
  const xai = { modelInfo: { providerId: "xai", modelId: "grok-4" } };
  assertBooks(
    readLogs(cline, { [`${TASK}ui_messages.json`]: ui(say("api_req_started", REQUEST, TS, xai)) }).calls,
    [
      { ...REQUESTED, input: 100, provider: "xai", model: "grok-4" },
    ],
  );
});

Deno.test("cline: the model of an older task is that of the last change before a request", () => {
  const model_usage = [
    { ts: TS - 5, model_id: "claude-haiku-4-5", model_provider_id: "anthropic" },
    { ts: TS - 1, model_id: "claude-sonnet-4-5", model_provider_id: "anthropic" },
    { ts: TS + 9, model_id: "gpt-5", model_provider_id: "openai-native" },
  ];
  const { calls } = readLogs(cline, {
    [`${TASK}task_metadata.json`]: JSON.stringify({ model_usage }),
    [`${TASK}ui_messages.json`]: ui(say("api_req_started", REQUEST)),
  });
  assertBooks(calls, [REQUESTED]);
});

Deno.test("cline: the counts of an older request stand in the message of its end", () => {
  const { calls } = readLogs(cline, {
    [`${TASK}ui_messages.json`]: ui(
      say("api_req_started", { request: "…" }, TS, MODEL),
      say("api_req_finished", REQUEST, TS + 900),
      say("api_req_started", { request: "…" }, TS + 1000, MODEL),
      say("api_req_finished", { ...REQUEST, tokensOut: 41 }, TS + 1900),
    ),
  });
  assertBooks(calls, [REQUESTED, { ...REQUESTED, output: 41 }]);
});

Deno.test("cline: cancelled and deleted requests were billed; a request without counts is unmetered once it has ended", () => {
  const { calls, unmetered } = readLogs(cline, {
    [`${TASK}ui_messages.json`]: ui(
      say("api_req_started", { ...REQUEST, cancelReason: "user_cancelled" }, TS, MODEL),
      say("deleted_api_reqs", { ...REQUEST, tokensOut: 400 }, TS + 1),
      say("subagent_usage", { ...REQUEST, tokensOut: 500 }, TS + 2),
      say("api_req_started", { cancelReason: "streaming_failed" }, TS + 3, MODEL),
      say("api_req_started", { request: "…" }, TS + 4, MODEL),
    ),
  });
  assert.deepEqual(calls.map(({ quality, usage }) => [quality, usage.outputTokens]), [
    ["provisional", 40],
    ["aggregate", 400],
    ["aggregate", 500],
  ]);
  assert.deepEqual(unmetered, ["a request without counts"]);
});

Deno.test("cline: the sum of deleted requests leaves out those that were told before they were deleted", () => {
  const reader = createReader(cline);
  let reads = 0;
  // A document is read again whenever it has changed.
  const read = (...messages: unknown[]) =>
    reader({ [`${TASK}ui_messages.json`]: ui(...messages) + " ".repeat(reads++) }).calls
      .map(({ at, usage, statedCostUsd }) => [at - TS, usage.outputTokens, statedCostUsd]);
  const request = (after: number, tokensOut: number, cost: number) =>
    say("api_req_started", { ...REQUEST, tokensOut, cost }, TS + after, MODEL);
  const sum = (after: number, tokensOut: number, cost: number, count: number) => {
    const [tokensIn, cacheReads, cacheWrites] = [100 * count, 30 * count, 20 * count];
    return say("deleted_api_reqs", { tokensIn, tokensOut, cacheReads, cacheWrites, cost }, TS + after);
  };
  const one = request(1, 10, 0.1);
  assert.equal(read(one, request(2, 20, 0.2), request(3, 40, 0.3)).length, 3);
  // A fourth request was made and deleted between the imports.
  const later = [one, sum(5, 140, 1, 3)];
  for (let i = 0; i < 2; i++) assert.deepEqual(read(...later), [[1, 10, "0.1"], [5, 80, "0.5"]]);
  // The next sum has the first one.
  assert.deepEqual(read(sum(7, 150, 1.1, 4), request(8, 70, 0.7)), [[8, 70, "0.7"]]);
  assert.deepEqual(read(sum(7, 150, 1.1, 4), request(8, 70, 0.7)), [[8, 70, "0.7"]]);
});

Deno.test("cline: a request that gets its counts later keeps its name", () => {
  const read = (request: unknown) =>
    readLogs(cline, { [`${TASK}ui_messages.json`]: ui(say("api_req_started", request, TS, MODEL)) }).calls;
  const calls = [...read({ request: "…" }), ...read({ ...REQUEST, tokensOut: 1 }), ...read(REQUEST)];
  assertBooks(calls, [REQUESTED]);
});

Deno.test("roo, kilo: the input has the cached tokens since a release, and for Anthropic's protocol before it not", () => {
  const read = (importer: typeof roo, ts: number, apiProtocol: string) =>
    readLogs(importer, {
      [
        `${EXTENSIONS}${
          importer === roo ? "rooveterinaryinc.roo-cline" : "kilocode.kilo-code"
        }/tasks/t1/ui_messages.json`
      ]: ui(
        say("api_req_started", { ...REQUEST, apiProtocol }, ts),
      ),
    })
      .calls[0]!.usage.inputTokens;
  const before = Date.UTC(2025, 9, 1);
  assert.deepEqual(
    [read(roo, before, "anthropic"), read(roo, before, "openai"), read(roo, TS, "anthropic")],
    [150, 100, 100],
  );
  const between = Date.UTC(2025, 10, 5);
  assert.deepEqual([read(roo, between, "anthropic"), read(kilo, between, "anthropic")], [100, 150]);
});

Deno.test("roo: a condensed conversation has a cost without tokens, and no model", () => {
  const { calls } = readLogs(roo, {
    [`${ROO}t1/ui_messages.json`]: ui({
      ts: TS,
      type: "say",
      say: "condense_context",
      contextCondense: { cost: 0.003, summary: "…" },
    }),
  });
  assert.deepEqual([calls[0]!.quality, calls[0]!.statedCostUsd, calls[0]!.marks], ["cost_only", "0.003", [
    "model_missing",
  ]]);
});

Deno.test("roo: a task that another one has begun is its sub-agent", () => {
  const { calls } = readLogs(roo, {
    [`${ROO}t2/history_item.json`]: JSON.stringify({
      rootTaskId: "t1",
      parentTaskId: "t1",
      workspace: "/home/dev/project",
      mode: "code",
      tokensIn: 100,
    }),
    [`${ROO}t2/ui_messages.json`]: ui(say("api_req_started", REQUEST)),
  });
  assert.deepEqual([calls[0]!.session, calls[0]!.subagent, calls[0]!.folder], [
    "t1",
    { id: "t2", type: "code" },
    "/home/dev/project",
  ]);
});

Deno.test("cline: the folders of the editors follow the system", () => {
  const env = (name: string) => name === "APPDATA" ? "C:/Users/dev/AppData/Roaming" : undefined;
  const first = (os: "linux" | "darwin" | "windows") => roo.roots({ os, home: "/home/dev", env })[0];
  assert.deepEqual([first("linux"), first("darwin"), first("windows")], [
    "/home/dev/.config/Code/User/globalStorage/rooveterinaryinc.roo-cline",
    "/home/dev/Library/Application Support/Code/User/globalStorage/rooveterinaryinc.roo-cline",
    "C:/Users/dev/AppData/Roaming/Code/User/globalStorage/rooveterinaryinc.roo-cline",
  ]);
  const set = (name: string) =>
    ({ CLINE_SESSION_DATA_DIR: "/data/sessions", CLINE_DIR: "/data/cline" })[name];
  assert.deepEqual(cline.roots({ os: "linux", home: "/home/dev", env: set }).slice(0, 2), [
    "/data/sessions",
    "/data/cline/data",
  ]);
});
