import assert from "node:assert/strict";
import { type Connection, createApiClient } from "../../client/mod.ts";
import { createApp } from "../../http/mod.ts";
import type { CommandContext } from "../command.ts";
import { exitCodeOf } from "../exit_code.ts";
import { memoryTerminal } from "../../../tests/harness/memory_terminal.ts";
import { Options } from "../parse/options.ts";
import { reportError } from "../mod.ts";
import { runCommand } from "../run_command.ts";
import { openTestBooks } from "../../../tests/harness/test_books.ts";
import { readScreens } from "../../../tests/harness/read_screens.ts";
import {
  isFileArgument,
  type ListImported,
  loadReplay,
  type ReplayOptions,
  replaySession,
  type ReplaySnapshot,
} from "./replay_session.ts";
import { event, STORY } from "../../../tests/harness/replay_events.ts";
import type { ReplayEvent } from "../../contract/replay/mod.ts";

/** The body of `purser state replay`, as the command line runs it. */

const MESSAGES = [{ role: "user", content: "What is 2 + 3?" }, { role: "assistant", content: "It is 5." }];

const FILE = { agent_id: "helper", session_id: "s1", state: { messages: MESSAGES } };

async function replay(
  [argument, options = {}]: [argument: string, options?: Record<string, string>],
  { terminal = memoryTerminal(), connect = () => Promise.reject(new Error("not expected")), ...sources }: {
    terminal?: ReturnType<typeof memoryTerminal>;
    connect?: () => Promise<Connection>;
  } & Partial<ReplayOptions> = {},
) {
  const given = new Map(Object.entries(options).map(([name, text]) => [name, [text]]));
  const command = {
    name: "state replay",
    args: [{ name: "SESSION|FILE" }],
    summary: "",
    options: {},
    examples: [],
    run: (ctx: CommandContext) =>
      replaySession(ctx, { readSnapshot: () => Promise.resolve(FILE), ...sources }),
  };
  let code: number;
  try {
    code = await runCommand(
      { kind: "command", command, args: [argument], options: new Options(given, command.name) },
      { terminal, env: { PURSER_DB: ":memory:" }, connect },
    );
  } catch (error) {
    reportError(error, terminal.stderr, false);
    code = exitCodeOf(error);
  }
  return { code, out: terminal.out, err: terminal.err };
}

/** A database with a session, and a connection to it. */
async function openBooks() {
  const books = await openTestBooks();
  await books.purser("agents set helper --model demo:echo --tool calculator");
  await books.purser('run helper "What is 17 * 23?" --session first');
  const app = await createApp(books.core);
  const send = async (request: Request) => await app.fetch(request);
  const connect = (): Promise<Connection> =>
    Promise.resolve({
      api: createApiClient({ baseUrl: "http://purser.invalid", send }),
      send,
      kind: "local",
      where: "memory",
      close: () => Promise.resolve(),
    });
  return { books, connect, [Symbol.asyncDispose]: () => books[Symbol.asyncDispose]() };
}

const readLog = { readSnapshot: () => Promise.resolve({ ...FILE, events: STORY }) };

Deno.test("state replay prints a session's log, whose last sums are those of the session", async () => {
  await using places = await openBooks();
  const { connect, books } = places;
  const { code, out, err } = await replay(["first"], { connect });
  assert.deepEqual([code, err], [0, ""]);
  assert.match(out, /^#1 .* session\.created first · agent helper · so far \$0\n#2 .* run\.started /);
  const { out: shown } = await books.purser("sessions show first --json");
  const { cost_usd, input_tokens, output_tokens, model_calls } = JSON.parse(shown).token_usage;
  assert.ok(
    out.trimEnd().split("\n").findLast((line) => line.startsWith("#"))!.endsWith(`so far $${cost_usd}`),
  );

  const lines = (await replay(["first", { json: "" }], { connect })).out.trimEnd().split("\n").map((line) =>
    JSON.parse(line)
  );
  assert.deepEqual(lines.map(({ seq }) => seq), [1, 2, 3, 5, 6, 7, 9]);
  const last = lines.at(-1);
  assert.deepEqual(
    [last.cost_usd_so_far, last.input_tokens_so_far, last.output_tokens_so_far, last.calls_so_far],
    [cost_usd, input_tokens, output_tokens, model_calls],
  );
});

Deno.test("state replay shows a part of the log by seq", async () => {
  const { out } = await replay(["s1.json", { from: "7", until: "8", json: "" }], readLog);
  assert.equal(JSON.parse(out).cost_usd_so_far, 0.3);
  assert.deepEqual(await replay(["s1.json", { from: "50" }], readLog), {
    code: 0,
    out: "",
    err: "There is no event with a seq from 50\n",
  });
});

Deno.test("state replay refuses invalid ranges", async () => {
  const cases: [Record<string, string>, RegExp][] = [
    [{ from: "x" }, /^error: Cannot use --from: x is not a whole number from 1 to /],
    [{ until: "0" }, /^error: Cannot use --until: 0 is not a whole number from 1 to /],
    [
      { from: "5", until: "4" },
      /^error: Cannot use --from 5 with --until 4: --from is greater\nSee purser state replay --help\n$/,
    ],
  ];
  for (const [options, message] of cases) {
    const { code, out, err } = await replay(["first", options]);
    assert.deepEqual([code, out], [2, ""]);
    assert.match(err, message);
  }
});

Deno.test("state replay reports a missing session and a file that can't be read", async () => {
  await using places = await openBooks();
  const { connect } = places;
  assert.deepEqual(await replay(["nope"], { connect }), {
    code: 3,
    out: "",
    err: "error: Cannot find session nope\n",
  });
  const readSnapshot = () => Promise.reject(new Deno.errors.NotFound("no file"));
  const { code, err } = await replay(["./nope.json"], { readSnapshot });
  assert.equal(code, 1);
  assert.match(err, /no file/);
});

Deno.test("state replay steps through the messages of a file without an event log, and says so", async () => {
  const { code, out, err } = await replay(["-"]);
  assert.equal(code, 0);
  assert.match(
    out,
    /^#1 .* message +user\n {6}text: What is 2 \+ 3\?\n#2 .* message +assistant\n {6}text: It is 5\.\n$/,
  );
  assert.equal(
    err,
    "The file has no event log, so these are its messages; for the log: purser state export AGENT --session s1 --with-events --output FILE\n",
  );
  const none = () => Promise.resolve({ ...FILE, state: { messages: [] } });
  assert.match((await replay(["-"], { readSnapshot: none })).err, /\nThe file has no messages either\n$/);
  const empty = () => Promise.resolve({ ...FILE, events: [] });
  for (const terminal of [memoryTerminal(), memoryTerminal({ columns: 80, keys: ["q"] })]) {
    const outcome = await replay(["-"], { readSnapshot: empty, terminal });
    assert.deepEqual(outcome, { code: 0, out: "", err: "The event log of session s1 is empty\n" });
  }
});

Deno.test("state replay puts imported history first", async () => {
  await using places = await openBooks();
  const { connect } = places;
  const old = { position: 1, ...event(7, "run.started", { input: "Old" }, { imported_from: "production" }) };
  const { out } = await replay(["first"], {
    connect,
    listImported: (_, { after }) => Promise.resolve(after === 0 ? [old] : []),
  });
  assert.match(out, /^#7 .* run\.started .* imported from production · so far \$0\n {6}input: Old\n#1 /);
});

Deno.test("state replay is a viewer on a terminal", async () => {
  const terminal = memoryTerminal({ columns: 80, keys: ["G", "q"] });
  const { code, err } = await replay(["s1.json"], { ...readLog, terminal });
  assert.deepEqual([code, err], [0, ""]);
  assert.match(
    readScreens(terminal.out)[1]!,
    /^Step 7 of 7 · #9 .*\nSo far \$0\.3 · 20 \+ 4 tokens · 2 calls\n/,
  );
  assert.equal(
    (await replay(["s1.json"], { ...readLog, terminal: memoryTerminal({ columns: 80, keys: ["ctrl-c"] }) }))
      .code,
    130,
  );
});

Deno.test("state replay prints lines where no keys can be typed, and with --json", async () => {
  const noKeys = memoryTerminal({ columns: 80 });
  assert.match((await replay(["s1.json"], { ...readLog, terminal: noKeys })).out, /^#1 /);
  const json = memoryTerminal({ columns: 80, keys: ["q"] });
  assert.match((await replay(["s1.json", { json: "" }], { ...readLog, terminal: json })).out, /^\{"seq":1,/);
});

Deno.test("state replay says in the viewer when a log is too long, and how to see the rest", async () => {
  const terminal = memoryTerminal({ columns: 80, rows: 30, keys: ["G"] });
  await replay(["s1.json"], { ...readLog, terminal, holdLimits: { steps: 3, characters: 1_000_000 } });
  assert.match(
    readScreens(terminal.out)[1]!,
    /^Step 3 of 3 · #3 [^]*\nThe log is too long for the viewer, which shows 3 steps; --from 5 shows the next\nones\n/,
  );
});

const refuse = () => Promise.reject(new Error("not expected"));

/** A connection to a session with a number of events, and the pages that were read. */
function fakeConnection(count: number) {
  const pages: unknown[] = [];
  const $get = ({ param, query }: { param: unknown; query: { after: string; limit: string } }) => {
    pages.push({ ...param as object, ...query });
    const after = Number(query.after);
    const events = Array.from(
      { length: Math.min(Number(query.limit), count - after) },
      (_, index) => event(after + index + 1, "tool.called"),
    );
    return Promise.resolve({ json: () => Promise.resolve(events) });
  };
  const api = { sessions: { ":session_id": { events: { $get } } } };
  return { pages, connect: () => Promise.resolve({ api } as unknown as Connection) };
}

Deno.test("isFileArgument() distinguishes a file from a session id", () => {
  for (const file of ["-", "./ses_1", "a/b", "a\\b", "log.json", "log.json.gz", "x.gz", "two words", "~"]) {
    assert.equal(isFileArgument(file), true, file);
  }
  for (const id of ["ses_42", "first", "a.b:c-d", "json", "x.jsonl"]) {
    assert.equal(isFileArgument(id), false, id);
  }
});

Deno.test("loadReplay() reads a session's log page by page, on demand", async () => {
  const { pages, connect } = fakeConnection(1_200);
  const { events, kind, sessionId } = await loadReplay("index", { connect, readSnapshot: refuse });
  assert.deepEqual([kind, sessionId, pages.length], ["events", "index", 0]);
  let count = 0;
  for await (const { seq } of events) {
    assert.equal(seq, ++count);
    if (count === 500) assert.equal(pages.length, 1);
  }
  assert.equal(count, 1_200);
  assert.deepEqual(
    pages,
    ["0", "500", "1000", "1200"].map((after) => ({ session_id: "%69ndex", after, limit: "500" })),
  );
});

Deno.test("loadReplay() reads until a page is empty, because large events make pages short", async () => {
  const { pages, connect } = fakeConnection(500);
  const { events } = await loadReplay("first", { connect, readSnapshot: refuse });
  assert.equal((await Array.fromAsync(events)).length, 500);
  assert.equal(pages.length, 2);
});

Deno.test("loadReplay() puts imported history before the session's own log", async () => {
  const asked: unknown[] = [];
  const listImported: ListImported = (_, page) => {
    asked.push(page);
    return Promise.resolve(
      Array.from({ length: { 0: 500, 500: 2 }[page.after] ?? 0 }, (_, index) => ({
        position: page.after + index + 1,
        ...event(index, "old", {}, { imported_from: "production" }),
      })),
    );
  };
  const { connect } = fakeConnection(3);
  const replay = await loadReplay("first", { connect, readSnapshot: refuse, listImported });
  const events = await Array.fromAsync<ReplayEvent>(replay.events);
  assert.deepEqual(events.map(({ imported_from }) => imported_from ?? "own").slice(499), [
    ...Array(3).fill("production"),
    ...Array(3).fill("own"),
  ]);
  assert.deepEqual(asked, [0, 500, 502].map((after) => ({ sessionId: "first", after, limit: 500 })));
});

Deno.test("loadReplay() takes a file's event log, or its messages where it has none", async () => {
  const snapshot: ReplaySnapshot = {
    agent_id: "helper",
    session_id: "s1",
    state: { messages: [{ id: "m1", role: "user", content: "hi", created_at: "2026-11-21T09:30:00Z" }] },
  };
  const load = (more: Partial<ReplaySnapshot>) => {
    const readSnapshot = (path: string) => {
      assert.equal(path, "-");
      return Promise.resolve({ ...snapshot, ...more });
    };
    return loadReplay("-", { connect: refuse, readSnapshot });
  };
  const log = [event(1, "run.started")];
  assert.deepEqual(await load({ events: log }), { sessionId: "s1", events: log, kind: "events" });
  const { kind, events } = await load({});
  assert.equal(kind, "messages");
  assert.deepEqual(await Array.fromAsync(events as Iterable<ReplayEvent>), [{
    seq: 1,
    type: "message",
    at: "2026-11-21T09:30:00Z",
    agent_id: "helper",
    session_id: "s1",
    run_id: null,
    call_id: null,
    payload: { id: "m1", role: "user", content: "hi", created_at: "2026-11-21T09:30:00Z" },
  }]);
});
