import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { toCanonicalText } from "../src/kernel/json/canonical_json.ts";
import { toIso } from "../src/kernel/clock.ts";
import { bookCall } from "../src/calls/mod.ts";
import { readSessionUsage } from "../src/ledger/mod.ts";
import { listSessionEvents } from "../src/sessions/mod.ts";
import { exportSession, listImportedEvents } from "../src/snapshots/mod.ts";
import { beginRun, dump } from "./harness/booking.ts";
import { endAs, event, isError, makeSession, snapshotTests } from "./harness/snapshot_tests.ts";
import { dialectKinds } from "./harness/databases.ts";
import { modelCall } from "./harness/model_calls.ts";
import { exportText, restore, snapshotOf, textOf } from "./harness/snapshots.ts";
import { bookAnswer, listMessages, logOf, textsOf } from "./harness/sessions.ts";

for (const kind of dialectKinds()) {
  const { name } = kind;
  const test = snapshotTests(kind);

  test("an export has the format's fields in canonical order, and changes nothing", async (ctx) => {
    await makeSession(ctx);
    const before = await dump(ctx.store);
    const text = await exportText(ctx, { sessionId: "ses", agentId: "agent", tags: { why: "a=b" } });
    assert.deepEqual(await dump(ctx.store), before);
    const { integrity, ...document } = JSON.parse(text);
    assert.equal(text, toCanonicalText(document).slice(0, -1) + `,"integrity":"${integrity}"}`);
    assert.equal(integrity, `sha256:${createHash("sha256").update(toCanonicalText(document)).digest("hex")}`);
    const { state: { messages, ...state }, ...rest } = document;
    assert.deepEqual(rest, {
      schema_version: 1,
      agent_id: "agent",
      session_id: "ses",
      event_log_count: 5,
      tags: { why: "a=b" },
      source_environment: "test",
      exported_at: toIso(ctx.clock.now()),
    });
    assert.deepEqual(messages, await listMessages(ctx, "ses"));
    const usage = (await readSessionUsage(ctx.store, ["ses"])).get("ses");
    assert.deepEqual(state, { status: "completed", token_usage: usage });
    assert.equal(usage!.cost_usd, 0.000001);
  });

  test("an export with events has the session's whole log, and counts it", async (ctx) => {
    await makeSession(ctx);
    const { events, event_log_count } = JSON.parse(
      await exportText(ctx, { sessionId: "ses", withEvents: true }),
    );
    const log = await listSessionEvents(ctx, { sessionId: "ses", after: 0, limit: 100 });
    assert.deepEqual(events, log.map(({ event_id: _eventId, ...event }) => event));
    assert.equal(event_log_count, events.length);
  });

  test("an export of an unknown session, or another agent's, is refused", async (ctx) => {
    await makeSession(ctx);
    await assert.rejects(
      exportText(ctx, { sessionId: "none" }),
      isError("not_found", /Cannot find session none/),
    );
    await assert.rejects(
      exportText(ctx, { sessionId: "ses", agentId: "bob" }),
      isError("conflict", /of agent bob: it belongs to agent agent/),
    );
  });

  test("an export is a consistent snapshot, also while a run is in progress and while the session is replaced", async (ctx) => {
    const place = await beginRun(ctx, { sessionId: "ses" });
    await bookAnswer(ctx, place, "before");
    const taken = await exportSession(ctx, { sessionId: "ses", withEvents: true });
    const expected = { messages: await listMessages(ctx, "ses"), events: (await logOf(ctx, "ses")).length };
    await bookAnswer(ctx, place, "after");
    await restore(ctx, snapshotOf());
    await bookAnswer(ctx, place, "after the restore");
    const document = JSON.parse(await textOf(taken.write()));
    assert.deepEqual(document.state.messages, expected.messages);
    assert.equal(document.state.status, "running");
    assert.deepEqual([document.event_log_count, document.events.length], [expected.events, expected.events]);
    assert.deepEqual(await textsOf(ctx, "ses"), ["hello", "hi"]);
  });

  test("an ETag stays while nothing changes, and changes with the session and the query", async (ctx) => {
    const place = await beginRun(ctx, { sessionId: "ses" });
    const etagOf = async (more = {}) => {
      const taken = await exportSession(ctx, { sessionId: "ses", ...more });
      taken.close();
      return taken.etag;
    };
    const etags = [await etagOf()];
    assert.equal(await etagOf(), etags[0]);
    etags.push(await etagOf({ withEvents: true }), await etagOf({ tags: { a: "1" } }));
    await bookAnswer(ctx, place, "more");
    etags.push(await etagOf());
    await restore(ctx, snapshotOf());
    etags.push(await etagOf());
    assert.equal(new Set(etags).size, 5);
    assert.ok(etags.every((etag) => /^W\/"[\w-]+"$/.test(etag)));
  });

  test("a session whose agent is not defined is exported with the definition of its latest run", async (ctx) => {
    const definition = { agent_id: "agent", name: "agent", model: "demo:echo", tools: [] };
    const place = await beginRun(ctx, { sessionId: "ses", payload: { definition } });
    await endAs(ctx, place);
    assert.deepEqual(JSON.parse(await exportText(ctx, { sessionId: "ses" })).agent, definition);
  });

  test("history of another environment is kept separate, in pages, and is part of the next export", async (ctx) => {
    const events = Array.from({ length: 250 }, (_, index) => event(index + 1));
    events[3] = { ...events[3]!, imported_from: "staging" };
    await restore(ctx, snapshotOf({ events }));
    const page = await listImportedEvents(ctx, { sessionId: "ses", after: 2, limit: 2 });
    assert.deepEqual(page, [
      { ...events[2], position: 3, imported_from: "production" },
      { ...events[3], position: 4, imported_from: "staging" },
    ]);
    assert.equal((await logOf(ctx, "ses")).length, 2);
    const exported = JSON.parse(await exportText(ctx, { sessionId: "ses", withEvents: true }));
    assert.equal(exported.event_log_count, 2);
    assert.deepEqual(
      exported.events.map((each: { imported_from?: string; seq: number }) => [each.imported_from, each.seq]),
      [
        ...events.map(({ seq }) => [seq === 4 ? "staging" : "production", seq]),
        [undefined, 1],
        [undefined, 2],
      ],
    );
    // The next file has its own.
    await restore(ctx, snapshotOf());
    assert.deepEqual(await listImportedEvents(ctx, { sessionId: "ses", after: 0, limit: 10 }), []);
  });

  test("history and logs of large events are read in pages within a server's limit", async (ctx) => {
    const large = { ...ctx, maxSnapshotBytes: 64 * 1024 * 1024 };
    const output = "ü".repeat(100_000);
    const events = Array.from({ length: 60 }, (_, index) => ({ ...event(index + 1), payload: { output } }));
    await restore(large, snapshotOf({ events }));
    const place = await beginRun(ctx, { sessionId: "ses" });
    const payload = { output };
    const called = { type: "tool.returned" as const, at: 1, payload };
    for (let i = 0; i < 20; i++) {
      const call = modelCall({ callId: ctx.ids.next("call"), ...place, at: ctx.clock.now() });
      await bookCall(ctx, { run: place, call, progress: { events: [called, called, called], messages: [] } });
    }
    const page = await listImportedEvents(ctx, { sessionId: "ses", after: 0, limit: 1_000 });
    assert.ok(page.length > 0 && page.length < 60, String(page.length));
    const log = await listSessionEvents(ctx, { sessionId: "ses", after: 0, limit: 1_000 });
    assert.ok(log.length > 0 && log.length < 80, String(log.length));
    const all = JSON.parse(await exportText(ctx, { sessionId: "ses", withEvents: true }));
    assert.deepEqual(all.events.length, 60 + all.event_log_count);
    assert.equal(all.event_log_count, 2 + 1 + 80);
    assert.ok(
      all.events.every(({ type, payload }: { type: string; payload: { output: string } }) =>
        type !== "tool.returned" || payload.output === output
      ),
    );
  });

  test("messages older than the second migration are exported like all others", async (ctx) => {
    await makeSession(ctx);
    await ctx.store.write([{
      sql:
        `UPDATE messages SET is_whole = 0, content = '{"role":"user","content":[{"type":"text","text":"ö"}]}'
WHERE position = 0`,
    }]);
    const { state } = JSON.parse(await exportText(ctx, { sessionId: "ses" }));
    const { id, created_at } = state.messages[0];
    assert.deepEqual(state.messages[0], {
      id,
      created_at,
      role: "user",
      content: [{ type: "text", text: "ö" }],
    });
    await restore(ctx, JSON.stringify({ ...JSON.parse(await exportText(ctx, { sessionId: "ses" })) }));
    assert.deepEqual(await listMessages(ctx, "ses"), state.messages);
  });

  test("large messages are exported unchanged; one that a server does not accept is refused, and nothing is left", async (ctx) => {
    const large = { ...ctx, maxSnapshotBytes: 64 * 1024 * 1024 };
    const megabytes = (count: number) => ({
      id: "m",
      created_at: "2026-11-20T08:00:02Z",
      role: "user",
      content: [{ type: "file", mediaType: "text/plain", data: 'ä"b😀'.repeat(count * 111_000) }],
    });
    const messages = [1, 1, 3.9, ...(name === "sqld" ? [] : [14])].map(megabytes);
    await restore(large, snapshotOf({}, { messages }));
    assert.deepEqual(await listMessages(ctx, "ses"), messages);
    const again = JSON.parse(await exportText(ctx, { sessionId: "ses" }));
    assert.deepEqual(again.state.messages, messages);
    if (name !== "sqld") return;
    const before = await dump(ctx.store);
    await assert.rejects(
      restore(large, snapshotOf({}, { messages: [...messages, megabytes(6)] })),
      isError("too_large", /a value is larger than the 5 MB/),
    );
    assert.deepEqual(await dump(ctx.store), before);
  });
}
