import assert from "node:assert/strict";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { generateText, streamText } from "ai";
import type { UsageApi } from "../src/pricing/usage/mod.ts";
import { meter } from "../src/runner/mod.ts";
import { anthropicAnswer, openaiChatAnswer, openaiResponsesAnswer } from "./fixtures/providers/mod.ts";
import { type FakeProvider, type Reply, startFakeProvider } from "./harness/fake_provider.ts";
import { openTestPurser, type TestPurser } from "./harness/test_purser.ts";
import { requestFor, sendTo } from "./gateway/requests.ts";

/*
 * The costs that answers state, through every caller: the gateway, runs, metered models and reports. The rules and their
 * sources are beside the table in src/pricing/stated/bills.ts. 50,000 tokens in and 1,000 out cost $0.165 at the list prices
 * of Claude Sonnet 4.6 ($3 and $15 per million, Anthropic and OpenRouter, 2026-11), and $0.0725 at those of GPT-5 ($1.25 and $10).
 */

const LIST = 165_000_000n;

/** The wires that a client can use, with 50,000 tokens in and 1,000 out of a model. */
const WIRES = {
  chat: {
    api: "openai-compatible",
    answer: openaiChatAnswer,
    usage: { prompt_tokens: 50_000, completion_tokens: 1_000, total_tokens: 51_000 },
  },
  responses: {
    api: "openai-responses",
    answer: openaiResponsesAnswer,
    usage: { input_tokens: 50_000, output_tokens: 1_000, total_tokens: 51_000 },
  },
  messages: {
    api: "anthropic",
    answer: anthropicAnswer,
    usage: { input_tokens: 50_000, output_tokens: 1_000 },
  },
} as const;
type WireName = keyof typeof WIRES;

function replyOf(wire: WireName, model: string, stated: object, headers?: Record<string, string>): Reply {
  const { answer, usage } = WIRES[wire];
  return {
    answer: answer({ model, text: "Hello", usage: { ...usage, ...stated } }),
    ...headers && { headers },
  };
}

/** The providers of the config beside the built-in ones, all at the fake provider's address. */
function providersAt({ baseUrls: { compatible: baseUrl } }: FakeProvider) {
  return {
    openrouter: { baseUrl },
    xai: { baseUrl },
    house: { baseUrl },
    groq: { baseUrl },
    lite: { baseUrl, statesCost: "litellm" as const },
    micro: { baseUrl, statesCost: { field: "cost", unit: "micro_usd" as const } },
  };
}

const HOUSE_PRICE = {
  provider: "house",
  model: "priced",
  input_usd_per_million: 1,
  output_usd_per_million: 1,
};

async function openCosts() {
  const fake = await startFakeProvider();
  const purser = await openTestPurser({
    fake,
    config: { providers: providersAt(fake), prices: [HOUSE_PRICE] },
  });
  return {
    fake,
    purser,
    async [Symbol.asyncDispose]() {
      await purser[Symbol.asyncDispose]();
      await fake.close();
    },
  };
}

/** Reads from the ledger what each call was booked with: cost, source of the price, and what was stated beside it. */
async function booked({ core }: TestPurser): Promise<unknown[][]> {
  const { rows } = await core.store.read({
    sql:
      "SELECT cost_nano_usd, price_source, stated_nano_usd, details ->> 'stated_reason' FROM calls ORDER BY position",
  });
  return rows.map(([cost, source, ...stated]) => [cost, String(source).replace(/@.*/, ""), ...stated]);
}

const GENAI = "genai-prices";

interface Case {
  what: string;
  provider: string;
  model: string;
  wires: WireName[];
  stated: object;
  headers?: Record<string, string>;
  /** Cost, source, stated beside, reason; of a stream, where that differs. */
  expected: [bigint | null, string, bigint | null, string | null];
  streamed?: [bigint | null, string, bigint | null, string | null];
}

const CASES: Case[] = [
  {
    what: "a 0 beside tokens of a provider that documents no bill",
    ...{ provider: "anthropic", model: "claude-sonnet-4-6", wires: ["messages"], stated: { cost: 0 } },
    expected: [LIST, GENAI, 0n, "undocumented"],
  },
  {
    what: "a 0 beside tokens of OpenAI's",
    ...{ provider: "openai", model: "gpt-5", wires: ["chat", "responses"], stated: { cost: 0 } },
    expected: [72_500_000n, GENAI, 0n, "undocumented"],
  },
  {
    what: "a 0 beside tokens of OpenRouter's",
    ...{ provider: "openrouter", model: "anthropic/claude-sonnet-4.6", wires: ["chat", "responses"] },
    stated: { cost: 0 },
    expected: [LIST, GENAI, 0n, "zero"],
  },
  {
    what: "OpenRouter's cost",
    ...{ provider: "openrouter", model: "anthropic/claude-sonnet-4.6", wires: ["chat", "responses"] },
    stated: { cost: 0.1234 },
    expected: [123_400_000n, "provider", null, null],
  },
  {
    what: "OpenRouter's cost as a text",
    ...{ provider: "openrouter", model: "anthropic/claude-sonnet-4.6", wires: ["chat", "responses"] },
    stated: { cost: "1e-3" },
    expected: [1_000_000n, "provider", null, null],
  },
  {
    what: "OpenRouter's 0 for a key of one's own without details",
    ...{ provider: "openrouter", model: "anthropic/claude-sonnet-4.6", wires: ["chat", "responses"] },
    stated: { cost: 0, is_byok: true },
    expected: [LIST, GENAI, 0n, "own_key"],
  },
  {
    what: "OpenRouter's 0 for a key of one's own, with the price of the provider",
    ...{ provider: "openrouter", model: "anthropic/claude-sonnet-4.6", wires: ["chat", "responses"] },
    stated: { cost: 0, is_byok: true, cost_details: { upstream_inference_cost: 0.2 } },
    expected: [200_000_000n, "provider", null, null],
  },
  {
    what: "OpenRouter's 0 for a free model",
    ...{
      provider: "openrouter",
      model: "openai/gpt-oss-20b:free",
      wires: ["chat", "responses"],
      stated: { cost: 0 },
    },
    expected: [0n, "provider", null, null],
  },
  {
    what: "a 0 of OpenRouter's for a model that no list has",
    ...{ provider: "openrouter", model: "no/such", wires: ["chat", "responses"], stated: { cost: 0 } },
    expected: [null, "none", 0n, "zero"],
  },
  {
    what: "xAI's ticks",
    ...{
      provider: "xai",
      model: "grok-4.3",
      wires: ["chat", "responses"],
      stated: { cost_in_usd_ticks: 1_234_000_005 },
    },
    expected: [123_400_000n, "provider", null, null],
  },
  {
    what: "micro-USD of a provider with a price row",
    ...{ provider: "house", model: "priced", wires: ["chat", "responses"], stated: { cost: 51_000 } },
    expected: [51_000_000n, "config", 51_000_000_000_000n, "price_row"],
  },
  {
    what: "micro-USD that the config declares",
    ...{ provider: "micro", model: "any", wires: ["chat", "responses"], stated: { cost: 51_000 } },
    expected: [51_000_000n, "provider", null, null],
  },
  {
    what: "a cost of a provider that documents none",
    ...{ provider: "groq", model: "llama-3.1-8b-instant", wires: ["chat"], stated: { cost: 0.01 } },
    expected: [2_580_000n, GENAI, 10_000_000n, "undocumented"],
  },
  {
    what: "a header of LiteLLM's, which a stream sends too early",
    ...{ provider: "lite", model: "any", wires: ["chat", "responses"], stated: {} },
    headers: { "x-litellm-response-cost": "0.25" },
    expected: [250_000_000n, "provider", null, null],
    streamed: [null, "none", null, null],
  },
  {
    what: "the usage of LiteLLM's streams",
    ...{ provider: "lite", model: "any", wires: ["chat", "responses"], stated: { cost: 0.25 } },
    expected: [250_000_000n, "provider", null, null],
  },
];

for (const { what, provider, model, wires, stated, headers, expected, streamed = expected } of CASES) {
  Deno.test(`the gateway takes ${what} for what it is, whole and streamed`, async () => {
    await using test = await openCosts();
    const all: unknown[] = [];
    for (const wire of wires) {
      for (const isStreamed of [false, true]) {
        test.fake.enqueue(replyOf(wire, model, stated, headers));
        const api = WIRES[wire].api as UsageApi;
        const request = requestFor({ api, provider, model } as never, { isStreamed });
        const answer = await sendTo(test.purser, request);
        assert.equal(answer.status, 200, await answer.text());
        all.push(isStreamed ? streamed : expected);
      }
    }
    assert.deepEqual(await booked(test.purser), all);
  });

  Deno.test(`a run takes ${what} for what it is, whole and streamed`, async () => {
    await using test = await openCosts();
    const wire: WireName = provider === "anthropic"
      ? "messages"
      : provider === "openai"
      ? "responses"
      : "chat";
    for (const onPart of [undefined, () => {}]) {
      test.fake.enqueue(replyOf(wire, model, stated, headers));
      await test.purser.run({ model: `${provider}:${model}` }, "Hi", onPart ? { onPart } : {});
    }
    assert.deepEqual(await booked(test.purser), [expected, streamed]);
  });

  if (provider === "openai" || provider === "anthropic") continue;
  Deno.test(`meter() takes ${what} for what it is, whole and streamed`, async () => {
    await using test = await openCosts();
    const real = createOpenAICompatible({
      name: provider,
      baseURL: test.fake.baseUrls.compatible,
      includeUsage: true,
    })(model);
    const metered = meter(test.purser.core, real, { agentId: "outside" });
    test.fake.enqueue(replyOf("chat", model, stated, headers), replyOf("chat", model, stated, headers));
    await generateText({ model: metered, prompt: "Hi" });
    await streamText({ model: metered, prompt: "Hi" }).consumeStream();
    assert.deepEqual(await booked(test.purser), [expected, streamed]);
  });
}

Deno.test("a stated cost is believed by the address of a built-in provider", async () => {
  const body = anthropicAnswer({
    model: "claude-sonnet-4-6",
    text: "Hello",
    usage: { ...WIRES.messages.usage, cost: 0.1 },
  }).body;
  const urls: string[] = [];
  await using purser = await openTestPurser({
    env: { ANTHROPIC_API_KEY: "sk-x", ANTHROPIC_BASE_URL: "https://openrouter.ai/api/v1" },
    fetch: (input) => {
      urls.push(String(input instanceof Request ? input.url : input));
      return Promise.resolve(Response.json(body));
    },
  });
  const request = requestFor(
    { api: "anthropic", provider: "anthropic", model: "claude-sonnet-4-6" } as never,
    {
      isStreamed: false,
    },
  );
  assert.equal((await sendTo(purser, request)).status, 200);
  assert.deepEqual(urls, ["https://openrouter.ai/api/v1/messages"]);
  assert.deepEqual(await booked(purser), [[100_000_000n, "provider", null, null]]);
});

Deno.test("the model of Vercel's provider of the AI SDK states its bill in its metadata, as a text", async () => {
  const usage = {
    inputTokens: { total: 50_000, noCache: 50_000, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1_000, text: 1_000, reasoning: 0 },
  };
  const finish = {
    finishReason: { unified: "stop" as const, raw: "stop" },
    usage,
    providerMetadata: { gateway: { cost: "0.0000045405", marketCost: "1" } },
  };
  const model: LanguageModelV4 = {
    specificationVersion: "v4",
    provider: "gateway",
    modelId: "anthropic/claude-sonnet-4.6",
    supportedUrls: {},
    doGenerate: () => Promise.resolve({ ...finish, content: [{ type: "text", text: "Hi" }], warnings: [] }),
    doStream: () =>
      Promise.resolve({
        stream: ReadableStream.from<never>([
          { type: "text-start", id: "1" },
          { type: "text-delta", id: "1", delta: "Hi" },
          { type: "text-end", id: "1" },
          { type: "finish", ...finish },
        ] as never),
      }),
  };
  await using purser = await openTestPurser();
  const metered = meter(purser.core, model, { agentId: "outside" });
  await generateText({ model: metered, prompt: "Hi" });
  await streamText({ model: metered, prompt: "Hi" }).consumeStream();
  const bill = [4_540n, "provider", null, null];
  assert.deepEqual(await booked(purser), [bill, bill]);
});

Deno.test("a stated 0 lets no call pass a budget", async () => {
  await using test = await openCosts();
  const { fake, purser } = test;
  // Seven calls of $0.165 would cost $1.155: the seventh finds $0.99 spent, and passes; the eighth is refused.
  await purser.api("POST", "/budgets", { name: "Day", per: "day", limit_usd: 1 });
  const statuses: number[] = [];
  for (let call = 0; call < 8; call++) {
    fake.enqueue(replyOf("messages", "claude-sonnet-4-6", { cost: 0 }));
    const request = requestFor(
      { api: "anthropic", provider: "anthropic", model: "claude-sonnet-4-6" } as never,
      {
        isStreamed: false,
      },
    );
    statuses.push((await sendTo(purser, request)).status);
  }
  assert.deepEqual(statuses, [200, 200, 200, 200, 200, 200, 200, 402]);
  const { body: [budget] } = await purser.api("GET", "/budgets");
  assert.equal(budget.spent_usd, 1.155);
});

Deno.test("a call shows what was stated and not booked where that differs by more than 1%", async () => {
  await using test = await openCosts();
  const { fake, purser } = test;
  for (const cost of [0.1651, 0.17]) {
    fake.enqueue(replyOf("messages", "claude-sonnet-4-6", { cost }));
    await purser.run({ model: "anthropic:claude-sonnet-4-6" }, "Hi", { sessionId: "s" });
  }
  const { body: { calls } } = await purser.api("GET", "/sessions/s/costs");
  assert.deepEqual(
    calls.map((
      call: Record<string, unknown>,
    ) => [call.cost_usd, call.stated_cost_usd, call.stated_cost_reason]),
    [[0.165, undefined, undefined], [0.165, 0.17, "undocumented"]],
  );
  const { body } = await purser.api("GET", `/costs/calls/${calls[1].call_id}`);
  assert.deepEqual([body.call.stated_cost_usd, body.booked.difference_usd], [0.17, 0]);
  const back = await purser.api("POST", "/costs/events", calls);
  assert.deepEqual([back.status, back.body.duplicates], [201, 2]);
});

Deno.test("the doctor names a provider that keeps stating another cost, and leaves those with a price row alone", async () => {
  await using test = await openCosts();
  const { fake, purser } = test;
  const check = async () => {
    const { body } = await purser.api("GET", "/doctor");
    return body.find(({ name }: { name: string }) => name === "stated costs");
  };
  for (let call = 0; call < 3; call++) {
    assert.equal((await check()).status, "ok");
    fake.enqueue(
      replyOf("chat", "llama-3.1-8b-instant", { cost: 1 }),
      replyOf("chat", "priced", { cost: 51_000 }),
    );
    await purser.run({ model: "groq:llama-3.1-8b-instant" }, "Hi");
    await purser.run({ model: "house:priced" }, "Hi");
  }
  const { status, detail, advice } = await check();
  assert.equal(status, "warning");
  assert.match(detail, /: groq \(3 calls: \$3 stated, \$0\.00774 booked\)$/);
  assert.match(advice, /"states_cost"/);
  const warned = purser.logs.filter(({ message }) =>
    message === "A provider states a cost that is not booked"
  );
  assert.deepEqual(warned.map(({ fields }) => fields), [{
    ...{ provider: "groq", model: "llama-3.1-8b-instant", reason: "undocumented", stated_usd: "1" },
  }]);
});
