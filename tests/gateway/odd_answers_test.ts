import assert from "node:assert/strict";
import { brotliCompressSync } from "node:zlib";
import { answerTo } from "../harness/answers.ts";
import { startFakeProvider } from "../harness/fake_provider.ts";
import { startRawProvider } from "../harness/raw_provider.ts";
import { openTestPurser } from "../harness/test_purser.ts";
import { startPlainProvider } from "./plain_provider.ts";
import { allEnded, readCalls, sendTo } from "./requests.ts";

/** Answers as no provider should send them: each is booked, and none ends the process. */

const WHOLE = {
  path: "/openai/v1/chat/completions",
  body: { model: "gpt-4o-mini", messages: [{ role: "user", content: "Hi" }] },
};
const STREAMED = { ...WHOLE, body: { ...WHOLE.body, stream: true } };
const TEXT = '{"choices":[{"index":0,"delta":{"content":"Hello"}}]}';
const USAGE = '{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":20,"total_tokens":30}}';
const END = `data: ${TEXT}\n\ndata: [DONE]\n\n`;

/** Returns what a client gets of an answer, and what is booked. */
async function pass(answer: () => Response, request: { path: string; body: unknown } = STREAMED) {
  await using provider = startPlainProvider(answer);
  await using purser = await openTestPurser({ fake: provider });
  const response = await sendTo(purser, request);
  const text = await response.text().catch(() => "broken off");
  await allEnded(purser);
  const booked = (await readCalls(purser)).map(({ input, output, isEstimated }) => ({
    input,
    output,
    isEstimated,
  }));
  return { status: response.status, headers: response.headers, text, booked };
}

const EXACT = [{ input: 10, output: 20, isEstimated: false }];

for (const status of [600, 999, 101]) {
  Deno.test(`an answer with the status ${status} is the provider's fault, and booked as an estimate`, async () => {
    const contentType = "application/json" +
      (status === 101 ? "\r\nconnection: upgrade\r\nupgrade: h2c" : "");
    await using provider = await startRawProvider(() => ({ status, contentType, body: "{}" }));
    await using purser = await openTestPurser({ fake: provider });
    const response = await sendTo(purser, WHOLE);
    assert.equal(response.status, 502);
    assert.match((await response.json()).error.message, /can't be read/);
    assert.deepEqual((await readCalls(purser)).map(({ isEstimated }) => isEstimated), [true]);
    assert.equal(purser.core.gateway.calls.size, 0);
  });
}

for (const type of ["text/plain; charset=utf-8", "application/octet-stream"]) {
  Deno.test(`events that come as ${type} are passed on as those of any stream`, async () => {
    const headers = { "content-type": type };
    const { text, booked } = await pass(() =>
      new Response(`data: ${TEXT}\n\ndata: ${USAGE}\n\ndata: [DONE]\n\n`, { headers })
    );
    assert.equal(text, END, "without the usage that this client did not ask for");
    assert.deepEqual(booked, EXACT);
  });
}

for (const status of [200, 204, 205]) {
  Deno.test(`an answer with the status ${status} and no body is passed on as it is`, async () => {
    for (const request of [WHOLE, STREAMED]) {
      const passed = await pass(() => new Response(null, { status }), request);
      assert.deepEqual([passed.status, passed.text, passed.booked.length], [status, "", 1]);
    }
    await using provider = startPlainProvider(() => new Response(null, { status }));
    await using purser = await openTestPurser({ fake: provider });
    assert.equal((await purser.app.request("/openai/v1/models")).status, status);
  });
}

const EVENTS = { "content-type": "text/event-stream" };

Deno.test("a last event without a blank line is read: several lines of data, and a usage that no client asked for", async () => {
  const begun = `data: ${TEXT}\n\n`;
  const hidden = await pass(() => new Response(`${begun}data: ${USAGE}`, { headers: EVENTS }));
  assert.deepEqual([hidden.text, hidden.booked], [begun, EXACT]);
  const lines = `${begun}data: {"choices":[],\ndata: ${USAGE.slice('{"choices":[],'.length)}`;
  const asking = { ...STREAMED, body: { ...STREAMED.body, stream_options: { include_usage: true } } };
  const asked = await pass(() => new Response(lines, { headers: EVENTS }), asking);
  assert.deepEqual([asked.text, asked.booked], [lines, EXACT]);
});

for (const encoding of ["br", "BR"]) {
  Deno.test(`an answer that is compressed without being asked for is decoded: ${encoding}`, async () => {
    const { text, booked } = await pass(() =>
      new Response(brotliCompressSync(`data: ${TEXT}\n\ndata: ${USAGE}\n\ndata: [DONE]\n\n`), {
        headers: { ...EVENTS, "content-encoding": encoding },
      })
    );
    assert.deepEqual([text, booked], [END, EXACT]);
  });
}

Deno.test("the answer that can't be decoded is not read on, and its rest harms nothing", async () => {
  const answer = new Uint8Array(1024 * 1024);
  const { status, booked } = await pass(
    () => new Response(answer, { headers: { "content-encoding": "zstd" } }),
    WHOLE,
  );
  assert.equal(status, 502);
  assert.deepEqual(booked.map(({ isEstimated }) => isEstimated), [true]);
});

Deno.test("a whole answer that breaks off is booked as an estimate that covers what had come", async () => {
  const text = "x".repeat(40_000);
  await using provider = await startRawProvider(() => ({
    status: 200,
    body: `{"text":"${text}`,
    then: "break",
  }));
  await using purser = await openTestPurser({ fake: provider });
  assert.equal((await sendTo(purser, WHOLE)).status, 502);
  const [call] = await readCalls(purser);
  assert.equal(call!.isEstimated, true);
  assert.ok(call!.output >= 10_000, String(call!.output));
  const embeddings = {
    path: "/openai/v1/embeddings",
    body: { model: "text-embedding-3-small", input: "Hi" },
  };
  assert.equal((await sendTo(purser, embeddings)).status, 502);
  const limited = { ...WHOLE, body: { ...WHOLE.body, max_tokens: 100 } };
  assert.equal((await sendTo(purser, limited)).status, 502);
  assert.deepEqual((await readCalls(purser)).slice(1).map(({ output }) => output), [0, 100]);
});

Deno.test("an answer that is nested too deeply to be read is booked by its usage, or its size", async () => {
  const deep = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
  const json = { "content-type": "application/json" };
  const whole = await pass(() => new Response(`{"choices":[{"message":${deep}}]}`, { headers: json }), WHOLE);
  assert.equal(whole.status, 200);
  assert.ok(whole.booked[0]!.output >= 25_000);
  const event = `data: {"choices":[{"delta":${deep}}]}\n\n`;
  const streamed = await pass(() =>
    new Response(`${event}data: ${USAGE}\n\ndata: [DONE]\n\n`, { headers: EVENTS })
  );
  assert.deepEqual([streamed.text, streamed.booked], [`${event}data: [DONE]\n\n`, EXACT]);
});

Deno.test("what fails while a stream is passed on ends the call: it is booked, and the provider's connection closed", async () => {
  const { answer } = answerTo({ api: "openai-chat", model: "gpt-4o-mini" }, { text: "Hello" });
  await using fake = await startFakeProvider();
  await using purser = await openTestPurser({ fake });
  fake.enqueue({
    paced: [answer.frames[0]!, "data: {}" + " ".repeat(65 * 1024 * 1024), new Promise(() => {})],
  });
  const response = await sendTo(purser, STREAMED);
  await assert.rejects(response.text(), /larger than 64 MiB/);
  await allEnded(purser);
  assert.deepEqual((await readCalls(purser)).map(({ isEstimated }) => isEstimated), [true]);
});

Deno.test("a chunk that was on its way when its client left is read whole", async () => {
  await using fake = await startFakeProvider();
  await using purser = await openTestPurser({ fake });
  const [last, rest] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const chunk = (fields: object) => `data: ${JSON.stringify(fields)}\n\n`;
  const parts = (finishReason?: string) => [{ content: { parts: [{ text: "Hi" }] }, finishReason }];
  const counted = (candidatesTokenCount: number) => ({ promptTokenCount: 100, candidatesTokenCount });
  fake.enqueue({
    paced: [
      chunk({ candidates: parts() }),
      last.promise,
      chunk({ candidates: parts("STOP") }), // held back: it may be the last
      rest.promise,
      chunk({ candidates: parts(), usageMetadata: counted(1) }) +
      chunk({ candidates: parts("STOP"), usageMetadata: counted(20) }),
    ],
  });
  const response = await sendTo(purser, {
    path: "/gemini/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
    body: { contents: [{ role: "user", parts: [{ text: "Hi" }] }] },
  });
  const reader = response.body!.getReader();
  await reader.read();
  const next = reader.read();
  last.resolve();
  await new Promise((resolve) => setTimeout(resolve, 10)); // the held event has come
  await reader.cancel();
  await next;
  rest.resolve();
  await allEnded(purser);
  const [call] = await readCalls(purser);
  assert.deepEqual([call!.input, call!.output, call!.isEstimated], [100, 20, false]);
});

Deno.test("the usage that follows an error in a stream is booked, before the client sees either", async () => {
  const events = (...each: object[]) => each.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
  const responses = {
    path: "/openai/v1/responses",
    body: { model: "gpt-4o-mini", input: "Hi", stream: true },
  };
  const failed = events(
    { type: "response.output_text.delta", delta: "Hel" },
    { type: "error", code: "server_error", message: "overloaded" },
    { type: "response.failed", response: { usage: { input_tokens: 10, output_tokens: 20 } } },
  );
  const ofResponses = await pass(() => new Response(failed, { headers: EVENTS }), responses);
  assert.deepEqual([ofResponses.text, ofResponses.booked], [failed, EXACT]);
  const error = events({ error: { message: "overloaded" } });
  const chat = await pass(() =>
    new Response(`data: ${TEXT}\n\n${error}data: ${USAGE}\n\ndata: [DONE]\n\n`, { headers: EVENTS })
  );
  assert.deepEqual([chat.text, chat.booked], [`data: ${TEXT}\n\n${error}data: [DONE]\n\n`, EXACT]);
});

Deno.test("an error in a stream is seen by the client once its call is booked, whatever follows it", async () => {
  const error = 'data: {"error":{"message":"overloaded"}}\n\n';
  for (const then of ["break", "silence", "a comment and silence", "the end"]) {
    await using fake = await startFakeProvider();
    await using purser = await openTestPurser({ fake });
    const rest = Promise.withResolvers<void>();
    const frames = [
      `data: ${TEXT}\n\n`,
      error,
      ...(then === "a comment and silence" ? [": ping\n\n"] : []),
      ...(then === "the end" ? [] : [rest.promise]),
    ];
    fake.enqueue(then === "break" ? { brokenAfter: frames } : { paced: frames });
    const reader = (await sendTo(purser, STREAMED)).body!.getReader();
    let text = "";
    let hasBroken = false;
    const read = async () => {
      for (;;) {
        const part = await reader.read().catch(() => (hasBroken = true, undefined));
        if (!part || part.done) return;
        text += new TextDecoder().decode(part.value);
        if (text.includes("overloaded")) assert.equal((await readCalls(purser)).length, 1, then);
      }
    };
    const reading = read();
    while (!text.includes("Hello")) await new Promise((resolve) => setTimeout(resolve, 1));
    if (then === "break") rest.resolve();
    while (!text.includes("overloaded")) {
      purser.clock.advance(1_000);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    rest.resolve();
    await reading;
    assert.equal(text, `data: ${TEXT}\n\n${error}${then.startsWith("a comment") ? ": ping\n\n" : ""}`, then);
    assert.equal(hasBroken, then === "break");
  }
});

Deno.test("a refusal with counts of 0 is not booked, and an error with a usage is booked by it", async () => {
  for (const usage of [{ usage: { prompt_tokens: 0, completion_tokens: 0 } }, {}]) {
    for (const status of [400, 429, 500]) {
      const refused = await pass(
        () => Response.json({ error: { message: "no" }, ...usage }, { status }),
        WHOLE,
      );
      assert.deepEqual([refused.status, refused.booked], [status, []]);
    }
  }
  const usage = { prompt_tokens: 10, completion_tokens: 20 };
  for (const status of [200, 500]) {
    for (const choices of [{ choices: [] }, {}]) {
      const error = { message: "x".repeat(400) };
      const failed = await pass(() => Response.json({ error, ...choices, usage }, { status }), WHOLE);
      assert.deepEqual(failed.booked, EXACT, String(status));
    }
  }
});

Deno.test("what follows the usage before the end of a stream leaves it exact", async () => {
  const late = '{"choices":[{"index":0,"delta":{"annotations":[{"type":"url_citation","url":"x"}]}}]}';
  const stream = `data: ${TEXT}\n\ndata: ${USAGE}\n\ndata: ${late}\n\ndata: [DONE]\n\n`;
  assert.deepEqual((await pass(() => new Response(stream, { headers: EVENTS }))).booked, EXACT);
});

Deno.test("counts that text has followed are not those of the stream, though it is marked as complete", async () => {
  const chunk = (fields: object) => `data: ${JSON.stringify(fields)}\n\n`;
  const usage = { prompt_tokens: 10, completion_tokens: 1 };
  const stream = chunk({ choices: [{ index: 0, delta: { content: "Hi" }, finish_reason: "stop" }], usage }) +
    chunk({ choices: [{ index: 1, delta: { content: "x".repeat(4_000) }, finish_reason: "stop" }] }) +
    "data: [DONE]\n\n";
  const { booked: [call] } = await pass(() => new Response(stream, { headers: EVENTS }));
  assert.equal(call!.isEstimated, true);
  assert.ok(call!.output >= 1_000, String(call!.output));
});

Deno.test("an embedding without usage has no output, and an absurd usage is an estimate of the text, and logged", async () => {
  const embedding = { object: "list", data: [{ embedding: Array(2_000).fill(0.123) }] };
  const embed = {
    path: "/openai/v1/embeddings",
    body: { model: "text-embedding-3-small", input: "Hi" },
  };
  const { booked: [vector] } = await pass(() => Response.json(embedding), embed);
  assert.deepEqual([vector!.output, vector!.isEstimated], [0, true]);
  const usage = { prompt_tokens: 2e9, completion_tokens: 1 };
  const message = { content: "x".repeat(40_000) };
  await using provider = startPlainProvider(() =>
    Response.json({ choices: [{ message, finish_reason: "stop" }], usage })
  );
  await using purser = await openTestPurser({ fake: provider });
  await sendTo(purser, WHOLE);
  const [call] = await readCalls(purser);
  assert.deepEqual([call!.output, call!.isEstimated], [10_000, true]);
  const logged = purser.logs.find((entry) => entry.message === "A model call is booked as an estimate");
  assert.equal(logged?.fields?.usage, JSON.stringify(usage));
});

Deno.test("a blocked prompt, and an answer that does not say why it ended, are booked by their usage", async () => {
  const gemini = {
    path: "/gemini/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
    body: { contents: [] },
  };
  const blocked = { promptFeedback: { blockReason: "SAFETY" }, usageMetadata: { promptTokenCount: 10 } };
  const streamed = await pass(
    () => new Response(`data: ${JSON.stringify(blocked)}\n\n`, { headers: EVENTS }),
    gemini,
  );
  assert.deepEqual(streamed.booked, [{ input: 10, output: 0, isEstimated: false }]);
  const usage = { prompt_tokens: 10, completion_tokens: 20 };
  const answers = [{ choices: [{ message: { content: "Hi" }, finish_reason: null }], usage }, { usage }];
  for (const answer of answers) {
    assert.deepEqual((await pass(() => Response.json(answer), WHOLE)).booked, EXACT);
  }
});

Deno.test("an answer of a fallback is booked under its model, and the advisor's tokens beside it", async () => {
  const messages = {
    path: "/anthropic/v1/messages",
    body: { model: "claude-haiku-4-5", max_tokens: 9, messages: [] },
  };
  const iterations = [
    { type: "fallback_message", model: "claude-opus-4-1" },
    { type: "advisor_message", model: "claude-opus-4-1", input_tokens: 1e6, output_tokens: 1e5 },
  ];
  const usage = { input_tokens: 100_000, output_tokens: 10_000, iterations };
  await using provider = startPlainProvider(() => Response.json({ type: "message", usage }));
  await using purser = await openTestPurser({ fake: provider });
  await sendTo(purser, messages);
  const { body: [call] } = await purser.api("GET", "/costs?group_by=model");
  // Both at 15 and 75 USD per million: 0.1 and 0.01 million of the fallback, 1 and 0.1 million of the advisor.
  assert.deepEqual([call.model, call.cost_usd, call.partly_priced_calls], ["claude-opus-4-1", 24.75, 0]);
});

Deno.test("what a call without an answer is booked as can be found by the id in its error", async () => {
  await using provider = await startRawProvider(() => ({ status: 200, body: '{"a":', then: "break" }));
  await using purser = await openTestPurser({ fake: provider });
  const response = await sendTo(purser, WHOLE);
  assert.equal(response.status, 502);
  const { rows } = await purser.core.store.read({ sql: "SELECT call_id FROM calls" });
  assert.deepEqual(rows, [[response.headers.get("x-purser-call-id")]]);
  assert.equal("details" in (await response.json()).error, false);
});

Deno.test("headers of a provider can't speak for Purser, and its pages don't run in Purser's origin", async () => {
  const { headers, booked } = await pass(() =>
    new Response(`data: ${TEXT}\n\ndata: ${USAGE}\n\ndata: [DONE]\n\n`, {
      headers: {
        ...EVENTS,
        "x-purser-cost-usd": "0",
        "x-purser-call-id": "theirs",
        "clear-site-data": '"*"',
      },
    })
  );
  assert.deepEqual(booked, EXACT);
  assert.match(headers.get("x-purser-call-id")!, /^call_/);
  assert.deepEqual([headers.get("x-purser-cost-usd"), headers.get("clear-site-data")], [null, null]);
  assert.equal(headers.get("content-security-policy"), null);
  const page = await pass(
    () => new Response("<script>", { status: 404, headers: { "content-type": "text/html" } }),
    WHOLE,
  );
  assert.deepEqual([page.status, page.text], [404, "<script>"]);
  assert.equal(page.headers.get("content-security-policy"), "sandbox");
});
