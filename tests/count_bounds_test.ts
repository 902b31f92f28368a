import assert from "node:assert/strict";
import type { Usage } from "../src/pricing/mod.ts";
import { MAX_CALL_TOKENS } from "../src/contract/limits.ts";
import { answerTo } from "./harness/answers.ts";
import { startFakeProvider } from "./harness/fake_provider.ts";
import { openTestPurser } from "./harness/test_purser.ts";

const MODELS = {
  "OpenAI chat": "openai.chat:gpt-4o-mini",
  "OpenAI responses": "openai:gpt-5-mini",
  "Anthropic": "anthropic:claude-haiku-4-5",
  "Gemini": "google:gemini-2.5-flash",
  "OpenAI-compatible": "local:my-model",
};

const WAYS = { whole: {}, streamed: { onPart() {} } };

/** Usages that no call can have. */
const ABSURD: Partial<Usage>[] = [
  { inputTokens: 9e15, outputTokens: 2 },
  { inputTokens: 10, outputTokens: MAX_CALL_TOKENS + 1 },
  { inputTokens: 1e300, outputTokens: 2 },
];

for (const [name, model] of Object.entries(MODELS)) {
  for (const [way, more] of Object.entries(WAYS)) {
    Deno.test(`counts of ${name} beyond any call are booked by an estimate and logged, ${way}`, async () => {
      for (const usage of ABSURD) {
        await using fake = await startFakeProvider((request) =>
          answerTo(request, { text: "Hi there", usage })
        );
        await using purser = await openTestPurser({ fake });
        const result = await purser.run({ model }, "Hello", more);
        assert.equal(result.output, "Hi there");
        const { input_tokens, output_tokens, model_calls } = result.token_usage;
        assert.ok(input_tokens > 0 && input_tokens < 100, `${input_tokens} input tokens`);
        assert.deepEqual([output_tokens, model_calls], [2, 1]);
        const { body } = await purser.api("GET", `/sessions/${result.session_id}/costs`);
        assert.equal(body.calls[0].estimated, true);
        const [warning, ...others] = purser.logs.filter(({ message }) =>
          /booked as an estimate/.test(message)
        );
        assert.equal(others.length, 0);
        assert.match(String(warning!.fields.usage), /9000000000000000|1000000001|1e\+300/);
        assert.ok(String(warning!.fields.usage).length <= 1_000);
      }
    });
  }

  Deno.test(`the most tokens that a call of ${name} can have are booked as they are`, async () => {
    const usage = { inputTokens: 100, outputTokens: MAX_CALL_TOKENS };
    await using fake = await startFakeProvider((request) => answerTo(request, { text: "Hi", usage }));
    await using purser = await openTestPurser({ fake });
    const result = await purser.run({ model }, "Hello");
    assert.equal(result.token_usage.output_tokens, MAX_CALL_TOKENS);
  });
}

Deno.test("counts whose cost is beyond any call are booked by an estimate", async () => {
  const usage = { inputTokens: 10, outputTokens: MAX_CALL_TOKENS };
  await using fake = await startFakeProvider((request) => answerTo(request, { text: "Hi", usage }));
  const dear = {
    provider: "local",
    model: "dear",
    input_usd_per_million: 1,
    output_usd_per_million: 1_001,
  };
  await using purser = await openTestPurser({ fake, config: { prices: [dear] } });
  const result = await purser.run({ model: "local:dear" }, "Hello");
  assert.equal(result.token_usage.output_tokens, 1);
  const warning = purser.logs.find(({ message }) => /booked as an estimate/.test(message))!;
  assert.match(String(warning.fields.reason), /would cost more than \$1000000/);
});
