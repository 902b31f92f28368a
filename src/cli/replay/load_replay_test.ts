import assert from "node:assert/strict";
import type { Connection } from "../../client/mod.ts";
import { isFileArgument, type ListImported, loadReplay, type ReplaySnapshot } from "./replay_session.ts";
import type { ReplayEvent } from "./steps/replay_event.ts";
import { event } from "./_test_events.ts";

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
