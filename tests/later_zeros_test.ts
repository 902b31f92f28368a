import assert from "node:assert/strict";
import { streamText } from "ai";
import { toModelCall } from "../src/ledger/mod.ts";
import { type Usage, usageOf } from "../src/pricing/mod.ts";
import { trackAnswerUsage, type UsageApi } from "../src/pricing/usage/mod.ts";
import { meter } from "../src/runner/mod.ts";
import { tables } from "../src/store/mod.ts";
import { type ZeroCase, zeroCases } from "./fixtures/later_zeros.ts";
import {
  anthropicAnswer,
  geminiAnswer,
  openaiChatAnswer,
  openaiResponsesAnswer,
} from "./fixtures/providers/mod.ts";
import { requestFor, sendTo } from "./gateway/requests.ts";
import { type FakeProvider, startFakeProvider } from "./harness/fake_provider.ts";
import { realModel } from "./harness/metered_models.ts";
import { openTestPurser, type TestPurser } from "./harness/test_purser.ts";

/** Zeros, nulls and missing fields of later reports erase no count: of a run, a meter, the gateway, and of what has arrived. */

const SDK_PROVIDERS: Record<UsageApi, string> = {
  "openai-chat": "openai.chat",
  "openai-responses": "openai.responses",
  "anthropic": "anthropic.messages",
  "google": "google.generative-ai",
  "openai-compatible": "local.chat",
};

/** Returns the usage of the only call in the ledger, and whether it is an estimate. */
async function bookedUsage({ core }: TestPurser): Promise<{ usage: Usage; isEstimated: boolean }> {
  const rows = await core.query.select().from(tables.calls);
  assert.equal(rows.length, 1);
  const { usage, isEstimated } = toModelCall(rows[0]!);
  return { usage, isEstimated };
}

const WAYS: Record<string, (purser: TestPurser, fake: FakeProvider, one: ZeroCase) => Promise<unknown>> = {
  "the gateway": async (purser, _, one) =>
    await (await sendTo(purser, requestFor(one, { isStreamed: true, asksForUsage: true }))).text(),
  "a run": (purser, _, { provider, model }) =>
    purser.run({ model: `${provider}:${model}` }, "2+2?", { onPart: () => {} }),
  "a meter": async (purser, fake, { api, model }) => {
    await purser.core.prices.ready?.();
    const metered = meter(purser.core, realModel(fake, api, model), { agentId: "outside" });
    await streamText({ model: metered, prompt: "2+2?" }).text;
  },
};

for (const one of zeroCases) {
  const expected = { usage: usageOf(one.usage), isEstimated: false };
  for (const [way, call] of Object.entries(WAYS)) {
    Deno.test(`${way} keeps the counts before ${one.name}`, async () => {
      await using fake = await startFakeProvider();
      await using purser = await openTestPurser({ fake });
      fake.enqueue({ answer: { body: {}, frames: one.frames } });
      await call(purser, fake, one);
      assert.deepEqual(await bookedUsage(purser), expected);
    });
  }

  Deno.test(`the tracker never lowers a count before ${one.name}`, () => {
    const seen = trackAnswerUsage(SDK_PROVIDERS[one.api]);
    let before = 0;
    for (const frame of one.frames) {
      const data = /^data: (\{.*\})$/m.exec(frame)?.[1];
      if (data === undefined) continue;
      seen.take(JSON.parse(data));
      const { inputTokens = 0, outputTokens = 0 } = seen.usage() ?? {};
      const isReplaced = one.name.includes("is smaller");
      assert.ok(isReplaced || inputTokens + outputTokens >= before);
      before = inputTokens + outputTokens;
    }
    assert.deepEqual(seen.usage(), expected.usage);
  });
}

/** Answers with a text whose usage has nothing but zeros, as of servers that don't count. */
const UNCOUNTED = [
  {
    api: "openai-compatible",
    provider: "local",
    model: "my-model",
    answer: openaiChatAnswer,
    usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
  },
  {
    api: "openai-responses",
    provider: "openai",
    model: "gpt-5",
    answer: openaiResponsesAnswer,
    usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
  },
  {
    api: "anthropic",
    provider: "anthropic",
    model: "claude-opus-5",
    answer: anthropicAnswer,
    usage: { input_tokens: 0, output_tokens: 0 },
  },
  {
    api: "google",
    provider: "google",
    model: "gemini-2.5-flash",
    answer: geminiAnswer,
    usage: { promptTokenCount: 0, candidatesTokenCount: 0, totalTokenCount: 0 },
  },
] as const;

for (const { answer, usage, ...one } of UNCOUNTED) {
  Deno.test(`an answer of ${one.api} with zeros for counts is booked as an estimate, whole and streamed`, async () => {
    await using fake = await startFakeProvider();
    await using purser = await openTestPurser({ fake });
    const { provider, model } = one;
    const reply = () => fake.enqueue({ answer: answer({ model, text: "Four, as always", usage }) });
    for (const isStreamed of [false, true]) {
      reply();
      await (await sendTo(purser, requestFor(one, { isStreamed, asksForUsage: true }))).text();
    }
    for (const onPart of [undefined, () => {}]) {
      reply();
      await purser.run({ model: `${provider}:${model}` }, "2+2?", onPart ? { onPart } : {});
    }
    const rows = (await purser.core.query.select().from(tables.calls)).map(toModelCall);
    assert.equal(rows.length, 4);
    for (const { usage: { inputTokens, outputTokens }, costNanoUsd, isEstimated } of rows) {
      assert.deepEqual([isEstimated, outputTokens], [true, 4]);
      assert.ok(inputTokens > 5 && inputTokens < 50 && costNanoUsd! > 0n);
    }
  });
}

Deno.test("the output of a long text is an estimate where Claude's last event takes back its only token", async () => {
  await using fake = await startFakeProvider();
  await using purser = await openTestPurser({ fake });
  const model = "claude-opus-5";
  const usage = { input_tokens: 50_000, cache_read_input_tokens: 10, output_tokens: 0 };
  const reply = { answer: anthropicAnswer({ model, text: "Four. ".repeat(100), usage }) };
  fake.enqueue(reply, reply);
  const request = requestFor({ api: "anthropic", provider: "anthropic", model }, { isStreamed: true });
  await (await sendTo(purser, request)).text();
  await purser.run({ model: `anthropic:${model}` }, "2+2?", { onPart: () => {} });
  const rows = (await purser.core.query.select().from(tables.calls)).map(toModelCall);
  const expected = usageOf({ inputTokens: 50_010, cacheReadTokens: 10, outputTokens: 150 });
  assert.deepEqual(rows.map(({ usage, isEstimated }) => [usage, isEstimated]), [[expected, true], [
    expected,
    true,
  ]]);
});
