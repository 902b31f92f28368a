import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { serve } from "../../src/http/server/mod.ts";
import { answerTo } from "../harness/answers.ts";
import { startFakeProvider } from "../harness/fake_provider.ts";
import { usageOf } from "../../src/pricing/mod.ts";
import { openTestPurser } from "../harness/test_purser.ts";
import { allEnded, readCalls, sendTo } from "./requests.ts";

const CHAT = { model: "gpt-4o-mini", messages: [{ role: "user", content: "Hi" }] };
const PATH = "/openai/v1/chat/completions";

Deno.test("an answer is stored as its provider says, and not at all where it says nothing", async () => {
  await using fake = await startFakeProvider((request) => answerTo(request, { text: "Hello" }));
  await using purser = await openTestPurser({ fake });
  const { answer } = answerTo({ api: "openai-chat", model: CHAT.model }, { text: "Hello" });
  for (const stream of [false, true]) {
    for (const said of ["private, max-age=0", undefined]) {
      fake.enqueue({ answer, headers: said === undefined ? {} : { "cache-control": said } });
      const response = await sendTo(purser, { path: PATH, body: { ...CHAT, stream } });
      assert.match(await response.text(), /He/);
      assert.equal(response.headers.get("cache-control"), said ?? "no-store");
    }
  }
});

for (const stream of [false, true]) {
  Deno.test(`an answer that comes compressed, ${stream ? "streamed" : "whole"}, is passed on and booked as what it says`, async () => {
    const usage = usageOf({ inputTokens: 10, outputTokens: 1 });
    const { answer } = answerTo({ api: "openai-chat", model: CHAT.model }, { text: "Hello", usage });
    const text = stream ? answer.frames.join("") : JSON.stringify(answer.body);
    const asked: (string | null)[] = [];
    await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
      asked.push(request.headers.get("accept-encoding"));
      await request.body?.cancel();
      const type = stream ? "text/event-stream" : "application/json";
      const body = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
      return new Response(body, { headers: { "content-type": type, "content-encoding": "gzip" } });
    });
    const url = `http://127.0.0.1:${server.addr.port}/v1`;
    const baseUrls = { openai: url, anthropic: url, google: url, compatible: url };
    await using purser = await openTestPurser({ fake: { baseUrls } });
    const body = { ...CHAT, stream, stream_options: { include_usage: true } };
    const response = await sendTo(purser, { path: PATH, body });
    assert.equal(await response.text(), text);
    assert.equal(response.headers.get("content-encoding"), null);
    assert.deepEqual(asked, ["identity"], "it need not be compressed");
    assert.deepEqual((await readCalls(purser)).map(({ input, isEstimated }) => ({ input, isEstimated })), [
      { input: 10, isEstimated: false },
    ]);
  });
}

Deno.test("a stream in an encoding that can't be read is booked as an estimate, and the provider's fault", async () => {
  const { answer } = answerTo({ api: "openai-chat", model: CHAT.model }, { text: "Hello" });
  await using fake = await startFakeProvider();
  await using purser = await openTestPurser({ fake });
  fake.enqueue({ answer, headers: { "content-encoding": "zstd" } });
  const response = await sendTo(purser, { path: PATH, body: { ...CHAT, stream: true } });
  assert.equal(response.status, 502);
  assert.match(await response.text(), /its answer is compressed/);
  assert.deepEqual((await readCalls(purser)).map(({ isEstimated }) => isEstimated), [true]);
  await allEnded(purser);
});

Deno.test("over the network, the bytes of a header that is not ASCII arrive as they were sent, streamed or whole", async () => {
  const { answer } = answerTo({ api: "openai-chat", model: CHAT.model }, { text: "Hello" });
  const provider = createServer(async (request, response) => {
    const { stream: isStreamed } = JSON.parse((await request.toArray()).join(""));
    response.writeHead(200, {
      "content-type": isStreamed ? "text/event-stream" : "application/json",
      "x-team": "caf\u00e9",
    });
    response.end(new TextEncoder().encode(isStreamed ? answer.frames.join("") : JSON.stringify(answer.body)));
  });
  provider.listen(0, "127.0.0.1");
  await once(provider, "listening");
  const base = `http://127.0.0.1:${(provider.address() as AddressInfo).port}/v1`;
  await using purser = await openTestPurser({ env: { OPENAI_API_KEY: "sk-test", OPENAI_BASE_URL: base } });
  const server = await serve(purser.core, purser.app, { host: "127.0.0.1", port: 0 });
  for (const stream of [true, false]) {
    const response = await fetch(server.url + PATH, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ...CHAT, stream }),
    });
    assert.equal(response.status, 200, await response.text());
    assert.equal(response.headers.get("x-team"), "caf\u00e9");
  }
  await server.shutdown();
  provider.close();
});
