import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { answerTo } from "./harness/answers.ts";
import { startFakeProvider } from "./harness/fake_provider.ts";
import type { SessionEvent } from "../src/contract/events.ts";
import { readSse, type SseFrame } from "./harness/sse_reader.ts";
import { openTestPurser, type TestPurser } from "./harness/test_purser.ts";

const STREAM = { accept: "text/event-stream" };
const names = (frames: SseFrame[]) => frames.map(({ event }) => event);

async function streamRun(purser: TestPurser, body: unknown, agent = "a") {
  const response = await purser.fetch("POST", `/agents/${agent}/runs`, { body, headers: STREAM });
  assert.equal(response.status, 200);
  return readSse(response);
}

Deno.test("a streamed run sends its events and texts as they occur, and ends with its result", async () => {
  await using purser = await openTestPurser();
  await purser.api("PUT", "/agents/a", { model: "demo:echo", tools: ["calculator"] });
  const stream = await streamRun(purser, { input: "What is 2 + 2?", session_id: "s1" });
  const frames = await stream.rest();
  const texts = frames.filter(({ event }) => event === "text").map(({ data }) => data.text);
  assert.equal(texts.join(""), "You said: What is 2 + 2?\nThe calculator says 4.");
  assert.ok(texts.length > 5);
  // The text of an answer comes after the tools that it is based on, and before the event of its call.
  assert.deepEqual(names(frames).filter((name, index, all) => name !== "text" || all[index - 1] !== "text"), [
    "run.started",
    "model.called",
    "cost.recorded",
    "tool.called",
    "tool.returned",
    "text",
    "model.called",
    "cost.recorded",
    "run.completed",
    "result",
  ]);
  const { body: run } = await purser.api("GET", `/runs/${frames.at(-1)!.data.run_id}`);
  for (const [field, value] of Object.entries(frames.at(-1)!.data)) {
    assert.deepEqual(run[field], value, field);
  }
  const { body: log } = await purser.api("GET", "/sessions/s1/events");
  const logged = frames.slice(0, -1).filter(({ event }) => event !== "text")
    .map(({ event, data }) => [data.seq, event]);
  assert.deepEqual(logged, log.slice(1).map(({ seq, type }: SessionEvent) => [seq, type]));
  const { body: session } = await purser.api("GET", "/sessions/s1");
  assert.deepEqual([session.message_count, session.event_log_count], [4, log.length]);
});

Deno.test("a streamed run that fails ends with the same problem as a plain one", async () => {
  await using fake = await startFakeProvider(() => ({ status: 400, message: "No" }));
  await using purser = await openTestPurser({ fake });
  await purser.api("PUT", "/agents/a", { model: "openai:gpt-5-mini", cost_budget_usd: 1 });
  await purser.api("PUT", "/agents/broke", { model: "demo:echo", cost_budget_usd: 0 });
  const failed = (await (await streamRun(purser, { input: "Hi", session_id: "s1" })).rest()).at(-1)!;
  assert.equal(failed.event, "error");
  assert.deepEqual([failed.data.code, failed.data.status, failed.data.session_id], [
    "provider_error",
    502,
    "s1",
  ]);
  const stopped = (await (await streamRun(purser, { input: "Hi" }, "broke")).rest()).at(-1)!;
  assert.equal(stopped.event, "error");
  assert.deepEqual([stopped.data.code, stopped.data.details.budget_usd], ["budget_exceeded", 0]);
});

Deno.test("an unknown agent or run is a problem, not a stream", async () => {
  await using purser = await openTestPurser();
  const { status, body } = await purser.api("POST", "/agents/unknown/runs", { input: "Hi" }, STREAM);
  assert.equal(status, 404);
  assert.equal(body.code, "not_found");
});

Deno.test("a client that disconnects does not cancel its run", async () => {
  const gone = Promise.withResolvers<void>();
  const { frames } =
    answerTo({ api: "anthropic", model: "claude-haiku-4-5" }, { text: "The whole answer" }).answer;
  await using fake = await startFakeProvider(() => ({
    paced: [...frames.slice(0, 4), gone.promise, ...frames.slice(4)],
  }));
  await using purser = await openTestPurser({ fake });
  await purser.api("PUT", "/agents/a", { model: "claude-haiku-4-5" });
  const stream = await streamRun(purser, { input: "Hi", session_id: "s1" });
  for (let frame = await stream.next(); frame?.event !== "text";) frame = await stream.next();
  await stream.leave();
  const [runId, run] = [...purser.core.liveRuns][0]!;
  gone.resolve();
  await run.ended;
  const { body } = await purser.api("GET", `/runs/${runId}`);
  assert.equal(body.status, "completed");
  assert.equal(body.output, "The whole answer");
  assert.deepEqual(purser.logs.filter(({ level }) => level === "error"), []);
});

Deno.test("GET /events begins with the next event, and sends events as the log keeps them", async () => {
  await using purser = await openTestPurser();
  await purser.run({}, "Before", { sessionId: "s0" });
  const stream = readSse(await purser.fetch("GET", "/events"));
  await purser.run({}, "Now", { sessionId: "s1" });
  const kept = await purser.events("s1");
  for (const event of kept) {
    const frame = await stream.next();
    assert.equal(frame!.id, String(event.event_id));
    assert.equal(frame!.event, event.type);
    assert.deepEqual(frame!.data, event);
  }
  await stream.leave();
});

Deno.test("GET /events continues after Last-Event-ID, without a gap and without a repeat", async () => {
  await using purser = await openTestPurser();
  await purser.run({}, "One", { sessionId: "s1" });
  await purser.run({}, "Two", { sessionId: "s2" });
  const all = [...await purser.events("s1"), ...await purser.events("s2")].map(({ event_id }) => event_id);
  for (const [index, id] of all.entries()) {
    for (
      const request of [
        { path: "/events", headers: { "last-event-id": String(id) } },
        { path: `/events?after=${id}`, headers: undefined },
        { path: "/events?after=0", headers: { "last-event-id": String(id) } },
      ]
    ) {
      const stream = readSse(await purser.fetch("GET", request.path, request));
      for (const expected of all.slice(index + 1)) assert.equal((await stream.next())!.id, String(expected));
      await stream.leave();
    }
  }
  const fromStart = readSse(await purser.fetch("GET", "/events?after=0"));
  assert.equal((await fromStart.next())!.data.type, "session.created");
  await fromStart.leave();
  for (const id of ["x", "-1", "1.5", "1e3", "9".repeat(30)]) {
    const { status } = await purser.api("GET", "/events", undefined, { "last-event-id": id });
    assert.equal(status, 400, id);
  }
});

Deno.test("GET /events sends more than one page of events at once", async () => {
  await using purser = await openTestPurser();
  const report = Array.from({ length: 1_000 }, (_, i) => ({
    call_id: `c${i}`,
    at: "2026-11-01T11:00:00Z",
    agent_id: "elsewhere",
    provider: "openai",
    model: "gpt-4o-mini",
    input_tokens: i,
    output_tokens: 1,
  }));
  await purser.api("POST", "/costs/events", report);
  const stream = readSse(await purser.fetch("GET", "/events?after=0"));
  const ids = new Set<string>();
  for (let i = 0; i < 1_000; i++) ids.add((await stream.next())!.data.call_id);
  assert.equal(ids.size, 1_000);
  await stream.leave();
});

Deno.test("GET /events ends when the service stops, and leaves no listener behind", async () => {
  await using purser = await openTestPurser();
  const streams = await Promise.all([1, 2].map(async () => readSse(await purser.fetch("GET", "/events"))));
  await streams[0]!.leave();
  purser.core.stop();
  assert.equal(await streams[1]!.next(), undefined);
});

Deno.test("HEAD /events shows that there is a stream, and starts none", async () => {
  await using purser = await openTestPurser();
  let listeners = 0;
  purser.core.bus.subscribe = () => {
    listeners++;
    return () => listeners--;
  };
  const { status, headers, body } = await purser.fetch("HEAD", "/events");
  assert.deepEqual([status, headers.get("content-type"), body], [200, "text/event-stream", null]);
  for (let i = 0; i < 10; i++) await setImmediate();
  assert.equal(listeners, 0);
  assert.equal((await purser.fetch("HEAD", "/events?after=x")).status, 400);
});

Deno.test("GET /events sends a heartbeat after fifteen seconds without an event", async () => {
  await using purser = await openTestPurser();
  const stream = readSse(await purser.fetch("GET", "/events"));
  const frame = stream.next();
  let isHere = false;
  frame.then(() => isHere = true);
  while (!isHere) {
    await setImmediate();
    purser.clock.advance(5_000);
  }
  assert.deepEqual(await frame, { comment: "still here" });
  await purser.run({}, "Now", { sessionId: "s1" });
  let next = await stream.next();
  while (next?.comment) next = await stream.next();
  assert.equal(next!.event, "session.created");
  await stream.leave();
});

Deno.test("GET /events ends without an event when the event log can't be read, and logs the reason", async () => {
  await using purser = await openTestPurser();
  const stream = readSse(await purser.fetch("GET", "/events"));
  await purser.run({}, "One", { sessionId: "s1" });
  assert.equal((await stream.next())!.event, "session.created");
  purser.core.store.read = () => Promise.reject(new Error("the secret of the disk"));
  purser.core.bus.publish({
    type: "x",
    at: "",
    agent_id: "",
    session_id: null,
    run_id: null,
    seq: null,
    payload: {},
  });
  const rest = await stream.rest();
  assert.doesNotMatch(JSON.stringify(rest), /secret/);
  assert.ok(purser.logs.some(({ message }) => message === "The event stream broke"));
});
