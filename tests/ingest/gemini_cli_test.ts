import assert from "node:assert/strict";
import geminiCli from "../../src/ingest/logs/gemini_cli.ts";
import { assertBooks, createReader, readLogs, toLines } from "./read_logs.ts";

const CHATS = ".gemini/tmp/project/chats/";
const MAIN = `${CHATS}session-2026-11-26T11-51-aaaa0001.jsonl`;
const head = (sessionId: string, more = {}) => ({
  sessionId,
  projectHash: "1af",
  startTime: "2026-11-26T11:51:00.000Z",
  ...more,
});

function answer(id: string, tokens: Record<string, number> | null, more = {}) {
  return {
    id,
    timestamp: "2026-11-26T11:51:35.809Z",
    type: "gemini",
    content: "",
    tokens,
    model: "gemini-2.5-flash",
    ...more,
  };
}

const TOKENS = { input: 1000, output: 50, cached: 600, thoughts: 70, tool: 20, total: 1140 };
const EXPECTED = {
  model: "gemini-2.5-flash",
  input: 1020,
  cacheRead: 600,
  cacheWrite: 0,
  output: 120,
  reasoning: 70,
};

Deno.test("gemini-cli: prompts of tools are input, thoughts are output, and the cache is within the input", () => {
  assertBooks(readLogs(geminiCli, { [MAIN]: toLines(head("s1"), answer("m1", TOKENS)) }).calls, [EXPECTED]);
});

Deno.test("gemini-cli: a message that is written again counts once, with the last of its counts", () => {
  const text = toLines(
    head("s1"),
    answer("m1", null),
    answer("m1", TOKENS),
    answer("m1", TOKENS, { toolCalls: [{ name: "read_file" }, { name: "read_file" }, { name: "ls" }] }),
  );
  const { calls, unmetered } = readLogs(geminiCli, { [MAIN]: text });
  assertBooks(calls, [EXPECTED]);
  assert.deepEqual(calls.at(-1)!.tools, ["read_file", "ls"]);
  assert.deepEqual(unmetered, []);
});

Deno.test("gemini-cli: a rewind takes no call back", () => {
  const text = toLines(head("s1"), answer("m1", TOKENS), answer("m2", { ...TOKENS, output: 51 }), {
    $rewindTo: "m1",
  });
  assertBooks(readLogs(geminiCli, { [MAIN]: text }).calls, [EXPECTED, { ...EXPECTED, output: 121 }]);
});

Deno.test("gemini-cli: a session that a newer version has copied from its document into lines counts once", () => {
  const document = JSON.stringify({ ...head("s1"), messages: [answer("m1", TOKENS)] });
  const logs = { [MAIN.slice(0, -1)]: document, [MAIN]: toLines(head("s1"), answer("m1", TOKENS)) };
  assertBooks(readLogs(geminiCli, logs).calls, [EXPECTED]);
});

Deno.test("gemini-cli: the history that a resumed session repeats has no calls", () => {
  const history = { $set: { messages: [answer("m1", TOKENS), answer("m9", TOKENS)] } };
  assertBooks(readLogs(geminiCli, { [MAIN]: toLines(head("s1"), answer("m1", TOKENS), history) }).calls, [
    EXPECTED,
  ]);
});

Deno.test("gemini-cli: the calls of a sub-agent are those of the session that its folder names", () => {
  const text = toLines(
    head("sub1", { kind: "subagent", directories: ["/home/dev/project"] }),
    answer("m1", TOKENS),
    answer("m2", { ...TOKENS, output: 51 }, { model: "gemini-2.5-pro" }),
  );
  const { calls } = readLogs(geminiCli, { [`${CHATS}s1/sub1.jsonl`]: text });
  const sub = { ...EXPECTED, session: "s1", subagent: "sub1" };
  assertBooks(calls, [sub, { ...sub, output: 121, model: "gemini-2.5-pro" }]);
  assert.equal(calls[0]!.folder, "/home/dev/project");
});

Deno.test("gemini-cli: the folder of a project is that of the file beside its chats", () => {
  const logs = {
    [MAIN]: toLines(head("s1"), answer("m1", TOKENS)),
    ".gemini/tmp/project/.project_root": "/home/dev/project\n",
  };
  assert.equal(readLogs(geminiCli, logs).calls[0]!.folder, "/home/dev/project");
});

Deno.test("gemini-cli: an answer that never gets counts is unmetered, once the next one is there", () => {
  const read = createReader(geminiCli);
  const cut = toLines(head("s1"), answer("m1", null));
  assert.deepEqual(read({ [MAIN]: cut }).unmetered, []);
  const { unmetered, calls } = read({ [MAIN]: cut + toLines(answer("m2", TOKENS)) });
  assert.deepEqual(unmetered, ["an answer without counts"]);
  assertBooks(calls, [{ ...EXPECTED, session: "s1" }]);
});

Deno.test("gemini-cli: a summary that it writes into the history itself is no call", () => {
  const summary = answer("m1", null, { model: undefined });
  assert.deepEqual(
    readLogs(geminiCli, { [MAIN]: toLines(head("s1"), summary, answer("m2", TOKENS)) }).unmetered,
    [],
  );
});

Deno.test("gemini-cli: GEMINI_CLI_HOME stands in for the home folder", () => {
  const env = (name: string) => name === "GEMINI_CLI_HOME" ? "/data/gemini" : undefined;
  assert.deepEqual(geminiCli.roots({ os: "linux", home: "/home/dev", env }), ["/data/gemini/.gemini/tmp"]);
});
