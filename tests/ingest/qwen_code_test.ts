import assert from "node:assert/strict";
import qwenCode from "../../src/ingest/logs/qwen_code.ts";
import { assertBooks, createReader, readLogs, toLines } from "./read_logs.ts";

const MAIN = ".qwen/projects/-home-dev-project/chats/s1.jsonl";
const FACTS = { sessionId: "s1", cwd: "/home/dev/project", gitBranch: "main", version: "0.24.4" };

function event(
  response_id: string,
  more: Record<string, unknown> = {},
  timestamp = "2026-11-26T11:56:04.256Z",
) {
  const uiEvent = {
    "event.name": "qwen-code.api_response",
    "event.timestamp": timestamp,
    response_id,
    model: "qwen3-coder-plus",
    status_code: 200,
    duration_ms: 400,
    input_token_count: 5567,
    output_token_count: 994,
    cached_content_token_count: 2457,
    thoughts_token_count: 757,
    total_token_count: 6561,
    prompt_id: "s1########0",
    auth_type: "openai",
    ...more,
  };
  return {
    ...FACTS,
    uuid: response_id,
    timestamp,
    type: "system",
    subtype: "ui_telemetry",
    systemPayload: { uiEvent },
  };
}

function message(uuid: string, counts: Record<string, number> = {}) {
  return {
    ...FACTS,
    uuid,
    timestamp: "2026-11-26T11:56:04.260Z",
    type: "assistant",
    model: "qwen3-coder-plus",
    usageMetadata: {
      promptTokenCount: 5567,
      candidatesTokenCount: 994,
      thoughtsTokenCount: 757,
      totalTokenCount: 6561,
      cachedContentTokenCount: 2457,
      ...counts,
    },
  };
}

const EXPECTED = {
  model: "qwen3-coder-plus",
  input: 5567,
  cacheRead: 2457,
  cacheWrite: 0,
  output: 994,
  reasoning: 757,
};

Deno.test("qwen-code: a call that stands in an event and in a message counts once, by the event", () => {
  const { calls } = readLogs(qwenCode, { [MAIN]: toLines(event("chatcmpl-1"), message("m1")) });
  assertBooks(calls, [{ ...EXPECTED, responseId: "chatcmpl-1", session: "s1" }]);
  const [call] = calls;
  assert.deepEqual([call!.folder, call!.branch, call!.durationMs], ["/home/dev/project", "main", 400]);
  assert.equal(call!.at, Date.parse("2026-11-26T11:56:04.256Z") - 400);
});

Deno.test("qwen-code: the messages go on to repeat the events in the next import", () => {
  const read = createReader(qwenCode);
  const first = toLines(event("chatcmpl-1"));
  const before = read({ [MAIN]: first });
  const after = read({ [MAIN]: first + toLines(message("m1")) });
  assert.equal(before.calls.length, 1);
  assert.deepEqual(after.calls, []);
});

Deno.test("qwen-code: the files of sub-agents and of sums are not read: events in the main file have the calls", () => {
  const logs = {
    [MAIN]: toLines(
      event("chatcmpl-1"),
      message("m1"),
      event("chatcmpl-2", {
        prompt_id: "s1#explore-ab12#0",
        subagent_name: "explore",
        output_token_count: 995,
      }),
    ),
    ".qwen/projects/-home-dev-project/subagents/s1/explore-ab12.jsonl": toLines(
      message("m2", { candidatesTokenCount: 995 }),
    ),
    ".qwen/projects/-home-dev-project/chats/subagents/s1/explore-ab12.jsonl": toLines(
      message("m2", { candidatesTokenCount: 995 }),
    ),
    ".qwen/usage_record.jsonl": toLines({
      version: 1,
      sessionId: "s1",
      models: { "qwen3-coder-plus": { inputTokens: 11134 } },
    }),
    ".qwen/usage/token-usage-2026-11.jsonl": toLines({
      schemaVersion: 1,
      id: "x",
      inputTokens: 5567,
      outputTokens: 994,
    }),
  };
  assertBooks(readLogs(qwenCode, logs).calls, [
    { ...EXPECTED, subagent: null },
    { ...EXPECTED, output: 995, session: "s1", subagent: "explore-ab12", subagentType: "explore" },
  ]);
});

Deno.test("qwen-code: Gemini's API counts thoughts beside the candidates: the total tells", () => {
  const gemini = { auth_type: "gemini", model: "gemini-2.5-flash", total_token_count: 5567 + 994 + 757 };
  const { calls } = readLogs(qwenCode, { [MAIN]: toLines(event("r1", gemini)) });
  assertBooks(calls, [{ ...EXPECTED, model: "gemini-2.5-flash", output: 994 + 757, provider: "google" }]);
});

Deno.test("qwen-code: more thoughts than candidates are beside them, whatever the total says", () => {
  const { calls } = readLogs(qwenCode, {
    [MAIN]: toLines(event("r1", { thoughts_token_count: 1000, total_token_count: 9 })),
  });
  assertBooks(calls, [{ ...EXPECTED, output: 1994, reasoning: 1000 }]);
});

Deno.test("qwen-code: an event without counts gets those of the message after it", () => {
  const bare = { input_token_count: undefined, output_token_count: undefined, total_token_count: undefined };
  const without = event("chatcmpl-1", {
    ...bare,
    cached_content_token_count: undefined,
    thoughts_token_count: undefined,
  });
  const { calls, unmetered } = readLogs(qwenCode, { [MAIN]: toLines(without, message("m1")) });
  assertBooks(calls, [{ ...EXPECTED, responseId: "chatcmpl-1" }]);
  assert.deepEqual(unmetered, []);
  assert.deepEqual(readLogs(qwenCode, { [MAIN]: toLines(without, event("chatcmpl-2")) }).unmetered, [
    "an answer without counts",
  ]);
});

Deno.test("qwen-code: the messages of a file without any event are its calls", () => {
  const { calls } = readLogs(qwenCode, {
    [MAIN]: toLines(message("m1"), message("m2", { candidatesTokenCount: 996 })),
  });
  assertBooks(calls, [EXPECTED, { ...EXPECTED, output: 996 }]);
});

Deno.test("qwen-code: the login `openai` is any server with that protocol, and Qwen's own login is a plan", () => {
  const [call] = readLogs(qwenCode, { [MAIN]: toLines(event("r1")) }).calls;
  assert.equal(call!.provider, undefined);
  const [own] = readLogs(qwenCode, { [MAIN]: toLines(event("r1", { auth_type: "qwen-oauth" })) }).calls;
  assert.equal(own!.isPlan, true);
});
