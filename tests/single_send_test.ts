import assert from "node:assert/strict";
import { answerTo } from "./harness/answers.ts";
import { callOptions } from "./harness/fake_model.ts";
import type { ProviderRequest } from "./harness/fake_provider.ts";
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
