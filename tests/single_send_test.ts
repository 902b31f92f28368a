import assert from "node:assert/strict";
import { answerTo } from "./harness/answers.ts";
import { callOptions } from "./harness/fake_model.ts";
import type { ProviderRequest } from "./harness/fake_provider.ts";
import { collectGarbage } from "./harness/garbage.ts";
import { type RawReply, startRawProvider } from "./harness/raw_provider.ts";
import { openTestPurser } from "./harness/test_purser.ts";

const MODELS: [model: string, api: ProviderRequest["api"]][] = [
  ["openai.chat:gpt-4o-mini", "openai-chat"],
  ["openai:gpt-5-mini", "openai-responses"],
  ["anthropic:claude-haiku-4-5", "anthropic"],
  ["google:gemini-2.5-flash", "google"],
  ["local:my-model", "openai-chat"],
];

for (const [name, api] of MODELS) {
  Deno.test(`${name} sends each request once to a server that closes reused connections`, async () => {
    const { body, frames } = answerTo({ api, model: "m" }, { text: "Hi" }).answer;
    await using provider = await startRawProvider(({ earlier, path, body: request }): RawReply => {
      // Deno's fetch would send a request again that ends like this on a reused connection.
      if (earlier > 0) return { then: "close" };
      const isStreamed = /"stream":true/.test(request) || path.includes("streamGenerateContent");
      return isStreamed
        ? { status: 200, contentType: "text/event-stream", body: frames.join("") }
        : { status: 200, body: JSON.stringify(body) };
    });
    await using purser = await openTestPurser({ fake: provider });
    const { model } = await purser.core.models.resolve(name);
    for (let i = 0; i < 3; i++) {
      await model.doGenerate(callOptions("Hi"));
      for await (const _part of (await model.doStream(callOptions("Hi"))).stream);
    }
    assert.equal(provider.requests.length, 6);
    assert.ok(provider.requests.every(({ earlier }) => earlier === 0));
  });
}

for (const [name, api] of MODELS) {
  Deno.test(`an abort ends a streamed answer of ${name}, also after a garbage collection`, async () => {
    const { frames } = answerTo({ api, model: "m" }, { text: "Hi there" }).answer;
    const left = Promise.withResolvers<void>();
    const provider = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
      await request.text();
      const body = new ReadableStream({
        start: (controller) => controller.enqueue(new TextEncoder().encode(frames.slice(0, 2).join(""))),
        cancel: () => left.resolve(),
      });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    });
    const url = `http://127.0.0.1:${provider.addr.port}/v1`;
    const baseUrls = { openai: url, anthropic: url, google: url, compatible: url };
    await using purser = await openTestPurser({ fake: { baseUrls } });
    const { model } = await purser.core.models.resolve(name);
    const controller = new AbortController();
    // As the SDK does, it keeps the stream alone.
    const open = async () =>
      (await model.doStream({ ...callOptions("Hi"), abortSignal: controller.signal })).stream.getReader();
    const reader = await open();
    const ended = assert.rejects(async () => {
      while (!(await reader.read()).done);
    }, { name: "AbortError" });
    const late = setTimeout(() => left.reject(new Error("the provider still sends")), 10_000);
    await collectGarbage();
    controller.abort();
    await left.promise;
    clearTimeout(late);
    await ended;
    await provider.shutdown();
  });
}
