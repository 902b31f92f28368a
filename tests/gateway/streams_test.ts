import assert from "node:assert/strict";
import { answerTo } from "../harness/answers.ts";
import { PurserError } from "../../src/kernel/errors.ts";
import { startFakeProvider } from "../harness/fake_provider.ts";
import { openTestPurser } from "../harness/test_purser.ts";
import { allEnded, readCalls, sendTo } from "./requests.ts";

const STREAMED = {
  path: "/v1/chat/completions",
  body: { model: "gpt-4o-mini", stream: true, messages: [{ role: "user", content: "Hi" }] },
};
const { answer } = answerTo({ api: "openai-chat", model: "gpt-4o-mini" }, { text: "Hello" });
const decode = (bytes: Uint8Array | undefined) => new TextDecoder().decode(bytes);

Deno.test("each event of a stream passes when it comes, and the last one after the call is booked", async () => {
  await using fake = await startFakeProvider();
  await using purser = await openTestPurser({ fake });
  const gates = answer.frames.map(() => Promise.withResolvers<void>());
  fake.enqueue({ paced: answer.frames.flatMap((frame, index) => [gates[index]!.promise, frame]) });
  const booking = Promise.withResolvers<void>();
  const { writeInSet } = purser.core.store;
  purser.core.store.writeInSet = async (writer, work) => {
    await booking.promise;
    return await writeInSet.call(purser.core.store, writer, work) as never;
  };
  const reader = (await sendTo(purser, STREAMED)).body!.getReader();
  for (const [index, frame] of answer.frames.entries()) {
    gates[index]!.resolve();
    if (/"choices":\[\]/.test(frame)) continue; // the usage, which this client did not ask for
    const read = reader.read();
    if (frame.startsWith("data: [DONE]")) {
      const first = await Promise.race([read, new Promise((resolve) => setTimeout(resolve, 20, "nothing"))]);
      assert.equal(first, "nothing", "the end waits for the commit");
      assert.equal((await readCalls(purser)).length, 0);
      booking.resolve();
    }
    assert.equal(decode((await read).value), frame);
  }
  assert.equal((await reader.read()).done, true);
  assert.equal((await readCalls(purser)).length, 1);
});

Deno.test("a stream that can't be booked has no end", async () => {
  await using fake = await startFakeProvider();
  await using purser = await openTestPurser({ fake });
  fake.enqueue({ answer });
  purser.core.store.writeInSet = () => Promise.reject(new Error("no disk"));
  const reader = (await sendTo(purser, STREAMED)).body!.getReader();
  let text = "";
  await assert.rejects(async () => {
    for (let part = await reader.read(); !part.done; part = await reader.read()) text += decode(part.value);
  }, /Cannot book a model call/);
  assert.match(text, /Hel/);
  assert.doesNotMatch(text, /DONE/);
  assert.ok(purser.logs.some(({ message }) => message === "A model call was made and could not be booked"));
});

Deno.test("once a call could not be booked, no other is made until the ledger takes writes again", async () => {
  await using fake = await startFakeProvider((request) => answerTo(request, { text: "Hello" }));
  await using purser = await openTestPurser({ fake });
  const { store } = purser.core;
  const { write, writeInSet } = store;
  const isDown = () => Promise.reject(new PurserError("unavailable", "Cannot write: no space is left"));
  Object.assign(store, { write: isDown, writeInSet: isDown });
  const whole = { ...STREAMED, body: { ...STREAMED.body, stream: false } };
  const lost = await sendTo(purser, whole);
  assert.deepEqual([lost.status, lost.headers.get("x-should-retry")], [500, "false"]);
  assert.equal(fake.calls, 1);
  const refused = await sendTo(purser, whole);
  assert.deepEqual([refused.status, refused.headers.get("x-should-retry")], [503, "true"]);
  assert.equal(fake.calls, 1);
  Object.assign(store, { write, writeInSet });
  assert.equal((await sendTo(purser, whole)).status, 200);
  assert.equal((await readCalls(purser)).length, 1);
});

Deno.test("clients decide themselves whether to send a request again that got no answer", async () => {
  await using fake = await startFakeProvider();
  await using purser = await openTestPurser({ fake });
  await fake.close();
  const response = await sendTo(purser, { ...STREAMED, body: { ...STREAMED.body, stream: false } });
  assert.deepEqual([response.status, response.headers.get("x-should-retry")], [502, null]);
  assert.deepEqual(await readCalls(purser), []);
});

Deno.test("a stream of a provider that charges for aborted answers is read to its end without its client", async () => {
  await using fake = await startFakeProvider();
  await using purser = await openTestPurser({ fake });
  const rest = Promise.withResolvers<void>();
  const gemini = answerTo({ api: "google", model: "gemini-2.5-flash" }, {
    text: "Hello",
    usage: { inputTokens: 100, outputTokens: 20 },
  });
  fake.enqueue({ paced: [gemini.answer.frames[0]!, rest.promise, ...gemini.answer.frames.slice(1)] });
  const response = await sendTo(purser, {
    path: "/gemini/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
    body: { contents: [{ role: "user", parts: [{ text: "Hi" }] }] },
  });
  const reader = response.body!.getReader();
  await reader.read();
  await reader.cancel();
  assert.deepEqual(await readCalls(purser), []);
  rest.resolve();
  await allEnded(purser);
  const [call] = await readCalls(purser);
  assert.deepEqual([call!.input, call!.output, call!.isEstimated], [100, 20, false]);
});

Deno.test("no connection stays open whose provider keeps it after the end, once the client has left", async () => {
  for (const leavesAfter of ["the end", "the first event"]) {
    await using fake = await startFakeProvider();
    await using purser = await openTestPurser({ fake });
    const rest = Promise.withResolvers<void>();
    fake.enqueue({
      paced: [answer.frames[0]!, rest.promise, ...answer.frames.slice(1), new Promise(() => {})],
    });
    // A provider that charges for what its client does not read.
    const response = await sendTo(purser, { ...STREAMED, path: "/local/v1/chat/completions" });
    const reader = response.body!.getReader();
    await reader.read();
    if (leavesAfter === "the end") {
      rest.resolve();
      while (!decode((await reader.read()).value).includes("[DONE]"));
    }
    await reader.cancel();
    rest.resolve();
    await allEnded(purser);
    const { signal } = fake.requests[0]!;
    assert.ok(signal.aborted || await aborted(signal), leavesAfter);
    assert.equal((await readCalls(purser)).length, 1);
  }
});

Deno.test("a stream of OpenAI's is aborted when its client leaves, and booked as an estimate of its text", async () => {
  await using fake = await startFakeProvider();
  await using purser = await openTestPurser({ fake });
  fake.enqueue({ paced: [answer.frames[0]!, answer.frames[1]!, new Promise(() => {})] });
  const response = await sendTo(purser, STREAMED);
  const reader = response.body!.getReader();
  await readFrames(reader, 2);
  await reader.cancel();
  await allEnded(purser);
  const [call, ...more] = await readCalls(purser);
  assert.deepEqual(more, []);
  assert.equal(call!.isEstimated, true);
  assert.ok(fake.requests[0]!.signal.aborted || await aborted(fake.requests[0]!.signal));
});

/** Reads so many events, which may come as one part. */
async function readFrames(reader: ReadableStreamDefaultReader<Uint8Array>, count: number): Promise<void> {
  for (let text = ""; text.split("\n\n").length <= count;) text += decode((await reader.read()).value);
}

const aborted = (signal: AbortSignal) =>
  new Promise<true>((resolve) => signal.addEventListener("abort", () => resolve(true)));

Deno.test("a stream without a client's end is booked as an estimate when the process closes", async () => {
  await using fake = await startFakeProvider();
  const purser = await openTestPurser({ fake });
  fake.enqueue({ paced: [answer.frames[0]!, answer.frames[1]!, new Promise(() => {})] });
  const response = await sendTo(purser, STREAMED);
  const reader = response.body!.getReader();
  await readFrames(reader, 2);
  const rest = assert.rejects(reader.read());
  const { store } = purser.core;
  let calls: unknown;
  const { close } = store;
  store.close = async () => {
    calls = (await store.read({ sql: "SELECT count(*), sum(is_estimated) FROM calls" })).rows[0];
    await close.call(store);
  };
  const closing = purser.core.close({ graceMs: 1_000 });
  let isClosed = false;
  void closing.then(() => isClosed = true);
  while (!isClosed) {
    purser.clock.advance(1_000);
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  await rest;
  assert.deepEqual(calls, [1n, 1n]);
});

Deno.test("a provider that sends nothing for 15 minutes is given up, and its call booked as an estimate", async () => {
  await using fake = await startFakeProvider();
  await using purser = await openTestPurser({ fake });
  fake.enqueue({ hang: true });
  const answer = sendTo(purser, { ...STREAMED, body: { ...STREAMED.body, stream: false } });
  while (fake.calls === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  let isAnswered = false;
  void answer.then(() => isAnswered = true);
  let minutes = 0;
  while (!isAnswered) {
    purser.clock.advance(30_000);
    minutes += 0.5;
    await new Promise((resolve) => setTimeout(resolve, 0));
    assert.ok(minutes < 30);
  }
  const response = await answer;
  assert.equal(response.status, 504);
  assert.match((await response.json()).error.message, /it has sent nothing for 15 minutes/);
  assert.ok(minutes >= 15);
  const [call] = await readCalls(purser);
  assert.equal(call!.isEstimated, true);
});

Deno.test("a list that Gemini streams without alt=sse passes byte for byte, its end after the commit", async () => {
  const chunks = answerTo({ api: "google", model: "gemini-2.5-flash" }, {
    text: "Hello",
    usage: { inputTokens: 100, outputTokens: 20 },
  }).answer.frames.map((frame) => frame.slice("data: ".length).trim());
  const text = `[${chunks.join("\n,\r\n")}\n]`;
  await using fake = await startFakeProvider();
  await using purser = await openTestPurser({ fake });
  fake.enqueue({ text });
  const response = await sendTo(purser, {
    path: "/gemini/v1/models/gemini-2.5-flash:streamGenerateContent",
    body: { contents: [{ role: "user", parts: [{ text: "Hi" }] }] },
  });
  assert.equal(await response.text(), text);
  const [call] = await readCalls(purser);
  assert.deepEqual([call!.input, call!.output, call!.isEstimated], [100, 20, false]);
});

Deno.test("a whole answer that can't be booked is withheld, and its client is not asked to call again", async () => {
  await using fake = await startFakeProvider();
  await using purser = await openTestPurser({ fake });
  fake.enqueue({ answer });
  purser.core.store.writeInSet = () =>
    Promise.reject(new PurserError("unavailable", "Cannot write: no disk"));
  const { body } = STREAMED;
  const response = await sendTo(purser, { ...STREAMED, body: { ...body, stream: false } });
  assert.deepEqual([response.status, response.headers.get("x-should-retry")], [500, "false"]);
  assert.doesNotMatch(await response.text(), /choices/);
  const { fields } = purser.logs.find(({ message }) =>
    message === "A model call was made and could not be booked"
  )!;
  assert.equal((fields.cost_event as { output_tokens: number }).output_tokens > 0, true);
});
