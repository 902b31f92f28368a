import assert from "node:assert/strict";
import pi from "../../src/ingest/logs/pi.ts";
import { assertBooks, readLogs, toLines } from "./read_logs.ts";

const FILE = ".pi/agent/sessions/--home-dev-project--/2026-11-26T11-56-21-657Z_s1.jsonl";
const FORK = ".pi/agent/sessions/--home-dev-project--/2026-11-26T12-56-21-657Z_s2.jsonl";
const header = (id: string, timestamp: string, more = {}) => ({
  type: "session",
  version: 3,
  id,
  timestamp,
  cwd: "/home/dev/project",
  ...more,
});
const HEADER = header("s1", "2026-11-26T11:56:21.657Z");
const AT = Date.parse("2026-11-26T11:56:21.744Z");

function entry(id: string | undefined, message: Record<string, unknown> = {}) {
  return {
    type: "message",
    id,
    timestamp: "2026-11-26T11:56:21.844Z",
    message: {
      role: "assistant",
      content: [{ type: "text" }, { type: "toolCall", name: "read" }],
      api: "anthropic-messages",
      provider: "anthropic",
      model: "claude-sonnet-4-5",
      usage: {
        input: 100,
        output: 40,
        cacheRead: 30,
        cacheWrite: 20,
        totalTokens: 190,
        cost: { total: 0.0000123 },
      },
      stopReason: "toolUse",
      timestamp: AT,
      responseId: "msg_01WgUt8DP68E8nJXiwQDfffQ",
      ...message,
    },
  };
}

const EXPECTED = {
  model: "claude-sonnet-4-5",
  input: 150,
  cacheRead: 30,
  cacheWrite: 20,
  output: 40,
  reasoning: 0,
  session: "s1",
  provider: "anthropic",
  statedCostUsd: "0.0000123",
};

Deno.test("pi: the disjoint counts are added to those of the whole input", () => {
  const { calls } = readLogs(pi, { [FILE]: toLines(HEADER, entry("e1")) });
  assertBooks(calls, [{ ...EXPECTED, responseId: "msg_01WgUt8DP68E8nJXiwQDfffQ" }]);
  assert.deepEqual([calls[0]!.at, calls[0]!.tools, calls[0]!.folder], [AT, ["read"], "/home/dev/project"]);
});

Deno.test("pi: a fork copies calls, with or without the ids of responses: they stay those of the first session", () => {
  for (const responseId of ["msg_01WgUt8DP68E8nJXiwQDfffQ", undefined]) {
    const parent = toLines(HEADER, entry("e1", { responseId }));
    const own = entry("e2", {
      responseId: undefined,
      timestamp: AT + 3_700_000,
      usage: { input: 7, output: 3 },
    });
    const fork = toLines(
      header("s2", "2026-11-26T12:56:21.657Z", { parentSession: "s1.jsonl" }),
      entry("e1", { responseId }),
      own,
    );
    for (const logs of [{ [FILE]: parent, [FORK]: fork }, { [FORK]: fork, [FILE]: parent }]) {
      assertBooks(readLogs(pi, logs).calls, [EXPECTED, {
        ...EXPECTED,
        input: 7,
        cacheRead: 0,
        cacheWrite: 0,
        output: 3,
        session: "s2",
        statedCostUsd: null,
      }]);
    }
  }
});

Deno.test("pi: a session of version 1, whose entries get ids when they are migrated, counts once", () => {
  const before = readLogs(pi, {
    [FILE]: toLines({ ...HEADER, version: 1 }, entry(undefined, { responseId: undefined })),
  });
  const after = readLogs(pi, { [FILE]: toLines(HEADER, entry("0a1b2c3d", { responseId: undefined })) });
  assertBooks([...before.calls, ...after.calls], [EXPECTED]);
});

Deno.test("pi: an answer that was stopped is provisional, without counts unmetered, and a refused one no call", () => {
  const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  const { calls, unmetered } = readLogs(pi, {
    [FILE]: toLines(
      HEADER,
      entry("e1", { stopReason: "aborted" }),
      entry("e2", { stopReason: "aborted", usage }),
      entry("e3", { stopReason: "error", usage }),
      entry("e4", { provider: "openclaw", model: "delivery-mirror", usage }),
    ),
  });
  assert.deepEqual(calls.map(({ quality }) => quality), ["provisional"]);
  assert.deepEqual(unmetered, ["an answer without counts"]);
});

Deno.test("pi: one-hour writes and reasoning of newer versions are parts of the counts", () => {
  const usage = { input: 100, output: 40, cacheRead: 30, cacheWrite: 20, cacheWrite1h: 15, reasoning: 10 };
  const [call] = readLogs(pi, { [FILE]: toLines(HEADER, entry("e1", { usage })) }).calls;
  assert.deepEqual([call!.usage.cacheWrite1hTokens, call!.usage.reasoningTokens], [15, 10]);
});

Deno.test("pi: the ids of logins are providers and plans, other ids stay as they are", () => {
  const read = (provider: string) =>
    readLogs(pi, { [FILE]: toLines(HEADER, entry("e1", { provider })) }).calls[0]!;
  assert.deepEqual([read("openai-codex").provider, read("openai-codex").isPlan], ["openai", true]);
  assert.deepEqual([read("My-vLLM").provider, read("My-vLLM").isPlan], ["my-vllm", undefined]);
});

Deno.test("pi: its folder can be set, and those of OMP and OpenClaw are read, too", () => {
  const env = (name: string) => name === "PI_CODING_AGENT_DIR" ? "/data/pi" : undefined;
  assert.deepEqual(pi.roots({ os: "linux", home: "/home/dev", env }), [
    "/data/pi/sessions",
    "/home/dev/.omp/agent/sessions",
    "/home/dev/.openclaw/agents",
  ]);
});
