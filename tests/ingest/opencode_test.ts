import assert from "node:assert/strict";
import kilo from "../../src/ingest/logs/kilo.ts";
import openCode from "../../src/ingest/logs/opencode.ts";
import { checkUsage } from "../../src/pricing/mod.ts";
import { mutate } from "../../src/ingest/logs/testing/_mutate.ts";
import fc from "#dev/fast_check.ts";
import { cases } from "../harness/thorough.ts";
import { assertBooks, createReader, readLogs } from "./read_logs.ts";

const DB = ".local/share/opencode/opencode.db";
const AT = 1_795_694_088_476;
const TABLES = `
CREATE TABLE session (id text PRIMARY KEY, parent_id text, directory text NOT NULL, time_created integer NOT NULL);
CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL,
  data text NOT NULL);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, data text NOT NULL);`;

const quote = (value: unknown) =>
  typeof value === "number" ? `${value}` : value === null ? "NULL" : `'${value}'`;
const insert = (table: string, ...values: unknown[]) =>
  `\nINSERT INTO ${table} VALUES (${values.map(quote).join(", ")});`;
const session = (id: string, parent: string | null = null, createdAt = AT - 1000) =>
  insert("session", id, parent, "/home/dev/project", createdAt);

const TOKENS = { total: 190, input: 100, output: 40, reasoning: 5, cache: { read: 30, write: 20 } };

function data(more: Record<string, unknown> = {}) {
  return {
    role: "assistant",
    agent: "build",
    path: { cwd: "/home/dev/project/src", root: "/home/dev/project" },
    cost: 0.01,
    tokens: TOKENS,
    modelID: "claude-sonnet-4-5",
    providerID: "anthropic",
    time: { created: AT, completed: AT + 900 },
    ...more,
  };
}

function message(
  id: string,
  sessionId: string,
  more: Record<string, unknown> = {},
  updatedAt = AT + 900,
  createdAt = AT,
) {
  return insert("message", id, sessionId, createdAt, updatedAt, JSON.stringify(data(more)));
}

const part = (id: string, messageId: string, tokens: unknown, cost: number) =>
  insert("part", id, messageId, JSON.stringify({ type: "step-finish", tokens, cost }));

const EXPECTED = {
  model: "claude-sonnet-4-5",
  input: 150,
  cacheRead: 30,
  cacheWrite: 20,
  output: 45,
  reasoning: 5,
  provider: "anthropic",
  session: "ses_1",
  statedCostUsd: "0.01",
};

Deno.test("opencode: the disjoint counts are added, with the reasoning beside the output", () => {
  const { calls } = readLogs(openCode, { [DB]: TABLES + session("ses_1") + message("msg_1", "ses_1") });
  assertBooks(calls, [EXPECTED]);
  assert.deepEqual([calls[0]!.folder, calls[0]!.at, calls[0]!.quality], [
    "/home/dev/project/src",
    AT,
    "exact",
  ]);
});

Deno.test("opencode: a fork copies messages under new ids: they stay those of the first session", () => {
  const own = { time: { created: AT + 60_000, completed: AT + 61_000 }, tokens: { ...TOKENS, output: 41 } };
  const sql = TABLES + session("ses_1") + message("msg_1", "ses_1") + session("ses_2", null, AT + 50_000) +
    message("msg_2", "ses_2") + message("msg_3", "ses_2", own);
  const { calls } = readLogs(openCode, { [DB]: sql });
  assertBooks(calls, [EXPECTED, { ...EXPECTED, output: 46, session: "ses_2" }]);
});

Deno.test("opencode: the calls of sub-agents, at any depth, are those of the session at their root", () => {
  const sql = TABLES + session("ses_1") + session("ses_2", "ses_1") + session("ses_3", "ses_2") +
    message("msg_2", "ses_2", { agent: "general" }) +
    message("msg_3", "ses_3", { agent: "explore", tokens: { ...TOKENS, output: 41 } });
  const { calls } = readLogs(openCode, { [DB]: sql });
  assertBooks(calls, [
    { ...EXPECTED, subagent: "ses_2", subagentType: "general" },
    { ...EXPECTED, output: 46, subagent: "ses_3", subagentType: "explore" },
  ]);
  assert.deepEqual(calls.map(({ subagent }) => subagent?.parent), [undefined, "ses_2"]);
});

Deno.test("opencode: sessions that are each other's parents end the search for a root", () => {
  const sql = TABLES + session("ses_1", "ses_2") + session("ses_2", "ses_1") + message("msg_1", "ses_1");
  assert.equal(readLogs(openCode, { [DB]: sql }).calls.length, 1);
});

Deno.test("opencode: a message of an older version with several calls has one part for each", () => {
  const first = { ...TOKENS, output: 39 };
  const time = { created: Date.UTC(2025, 5, 1), completed: Date.UTC(2025, 5, 1) + 900 };
  const sql = TABLES + session("ses_1") +
    message("msg_1", "ses_1", { cost: 0.03, time }, time.completed, time.created) +
    part("prt_1", "msg_1", first, 0.01) + part("prt_2", "msg_1", TOKENS, 0.02);
  const { calls } = readLogs(openCode, { [DB]: sql });
  assertBooks(calls, [{ ...EXPECTED, output: 44 }, { ...EXPECTED, statedCostUsd: "0.02" }]);
  assert.deepEqual(calls.map(({ ref }) => ref), ["msg_1#1", "msg_1"]);
  const { statedCostUsd: _, ...counts } = EXPECTED;
  const stored = {
    [".local/share/opencode/storage/message/ses_1/msg_1.json"]: JSON.stringify({
      id: "msg_1",
      sessionID: "ses_1",
      ...data({ time }),
    }),
  };
  assertBooks([...calls, ...readLogs(openCode, stored).calls], [{ ...counts, output: 44 }, counts]);
});

Deno.test("opencode: the parts of a message with one call repeat it", () => {
  const sql = TABLES + session("ses_1") + message("msg_1", "ses_1") + part("prt_1", "msg_1", TOKENS, 0.01);
  assertBooks(readLogs(openCode, { [DB]: sql }).calls, [EXPECTED]);
});

Deno.test("opencode: a message that is being written is read once it has counts", () => {
  const read = createReader(openCode);
  const open = {
    tokens: { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } },
    time: { created: AT },
  };
  const before = read({ [DB]: TABLES + session("ses_1") + message("msg_1", "ses_1", open, AT) });
  assert.deepEqual([before.calls, before.unmetered], [[], []]);
  const done = TABLES + session("ses_1") + message("msg_1", "ses_1");
  assertBooks(read({ [DB]: done }).calls, [EXPECTED]);
});

Deno.test("opencode: later imports ask for what has changed, and count nothing twice that can't be read", () => {
  const read = createReader(openCode);
  const broken = insert("message", "msg_x", "ses_1", AT, AT, '{"tokens": nothing}') +
    message("msg_y", "ses_1", { tokens: { ...TOKENS, input: -1 } }, AT);
  const sql = TABLES + session("ses_1") + message("msg_1", "ses_1", {}, AT) + broken;
  const first = read({ [DB]: sql });
  assert.deepEqual(first.malformed, [
    "Cannot read the record: it isn't JSON",
    "Cannot read the record: one of its counts isn't a number of tokens",
  ]);
  const later = message("msg_2", "ses_1", { tokens: { ...TOKENS, output: 41 } }, AT + 86_400_000);
  const second = read({ [DB]: sql + later });
  assert.deepEqual(second.malformed, []);
  assertBooks([...first.calls, ...second.calls], [EXPECTED, { ...EXPECTED, output: 46 }]);
  assert.deepEqual(read({ [DB]: `${sql}${later}\n` }).calls.map(({ ref }) => ref), [
    "msg_2",
  ]);
});

Deno.test("opencode: storage/ has the same messages under the same names", () => {
  const name = ".local/share/opencode/storage/message/ses_1/msg_1.json";
  const stored = readLogs(openCode, {
    [name]: JSON.stringify({ id: "msg_1", sessionID: "ses_1", ...data() }),
  });
  const rows = readLogs(openCode, { [DB]: TABLES + session("ses_1") + message("msg_1", "ses_1") });
  assertBooks(stored.calls, [EXPECTED]);
  assertBooks([...stored.calls, ...rows.calls], [EXPECTED]);
});

Deno.test("opencode: the messages of version 2 are read for sessions that have no others", () => {
  const { modelID: _, providerID: __, role: ___, ...facts } = data();
  const second = { ...facts, model: { id: "claude-sonnet-4-5", providerID: "anthropic" } };
  const row = (id: string, sessionId: string) =>
    insert("session_message", id, sessionId, AT, AT + 900, JSON.stringify(second));
  const sql = `${TABLES}
CREATE TABLE session_message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer, time_updated integer, data text);` +
    session("ses_1") + session("ses_2") + message("msg_1", "ses_1", { tokens: { ...TOKENS, output: 41 } }) +
    row("msg_9", "ses_1") + row("msg_2", "ses_2");
  assertBooks(readLogs(openCode, { [DB]: sql }).calls, [{ ...EXPECTED, session: "ses_2" }, {
    ...EXPECTED,
    output: 46,
  }]);
});

Deno.test("opencode: a database of something else is malformed, and has no calls", () => {
  const { calls, malformed } = readLogs(openCode, { [DB]: "CREATE TABLE moz_places (id integer);" });
  assert.deepEqual([calls, malformed], [[], ["The database has no table of messages"]]);
});

Deno.test("opencode: changed rows are read or counted, and no call is doubled", () => {
  const messages = [data(), data({ tokens: { ...TOKENS, output: 41 } }), data({ agent: "general" })];
  const lines = messages.map((message) => JSON.stringify(message)).join("\n");
  const numbers = fc.infiniteStream(fc.double({ min: 0, max: 0.999_999, noNaN: true }));
  fc.assert(
    fc.property(numbers, (stream) => {
      const rows = mutate(lines, () => stream.next().value).replaceAll("\u0000", "").replaceAll("'", "''")
        .split("\n");
      const sql = rows.map((row, index) => insert("message", `msg_${index}`, "ses_1", AT, AT, row)).join("");
      const { calls, malformed } = readLogs(openCode, { [DB]: TABLES + session("ses_1") + sql });
      assert.ok(calls.length + malformed.length <= rows.length);
      assert.ok(calls.length >= messages.length - 1);
      for (const { usage } of calls) checkUsage(usage);
    }),
    { numRuns: cases(400) },
  );
});

Deno.test("opencode: a cost of 0 is none: the login is a subscription, or the price unknown", () => {
  const sql = TABLES + session("ses_1") +
    message("msg_1", "ses_1", { cost: 0, providerID: "github-copilot" });
  const [call] = readLogs(openCode, { [DB]: sql }).calls;
  assert.deepEqual([call!.statedCostUsd, call!.provider, call!.isPlan], [undefined, "github-copilot", true]);
});

Deno.test("opencode, kilo: databases are told by their names", () => {
  const has = (importer: typeof kilo, name: string) => importer.kinds[0]!.has(name);
  assert.deepEqual(
    ["opencode.db", "opencode-beta.db", "opencode.db-wal", "kilo.db"].map((name) => has(openCode, name)),
    [
      true,
      true,
      false,
      false,
    ],
  );
  assert.ok(has(kilo, "kilo.db"));
  assertBooks(
    readLogs(kilo, { ".local/share/kilo/kilo.db": TABLES + session("ses_1") + message("msg_1", "ses_1") })
      .calls,
    [EXPECTED],
  );
});
