import assert from "node:assert/strict";
import { BUILT_IN_PROVIDERS } from "../../src/contract/values.ts";
import { fixedClock } from "../../src/kernel/clock.ts";
import type { UsageApi } from "../../src/pricing/usage/mod.ts";
import {
  anthropicAnswer,
  geminiAnswer,
  openaiChatAnswer,
  openaiResponsesAnswer,
  type WireAnswer,
} from "../fixtures/providers/mod.ts";
import { costOfBill, priceCases, type Wire } from "../fixtures/prices/mod.ts";
import { type FakeProvider, startFakeProvider } from "../harness/fake_provider.ts";
import { openTestPurser, type TestPurser } from "../harness/test_purser.ts";
import { isThorough } from "../harness/thorough.ts";
import { requestFor, sendTo } from "./requests.ts";

const APIS: Record<Wire, UsageApi> = {
  chat: "openai-chat",
  responses: "openai-responses",
  anthropic: "anthropic",
  gemini: "google",
  compatible: "openai-compatible",
};
const OWNERS: Partial<Record<Wire, string>> = {
  chat: "openai",
  responses: "openai",
  anthropic: "anthropic",
  gemini: "google",
};

const builtIn: readonly string[] = BUILT_IN_PROVIDERS;

async function openGateway(fake: FakeProvider, names: readonly string[]) {
  let now = Date.parse("2026-11-20T12:00:00.000Z");
  const clock = { ...fixedClock(0), now: () => now, monotonic: () => now };
  const providers = Object.fromEntries(names.map((name) => [name, { baseUrl: fake.baseUrls.compatible }]));
  const purser = await openTestPurser({ fake, clock, config: { providers } });
  return { purser, setTime: (at: number) => now = at };
}

/** Sends a request whose answer is given; returns what the newest call of the ledger costs, and what it leaves out. */
async function bookThrough(
  purser: TestPurser,
  call: { api: UsageApi; provider: string; model: string },
  way: "whole" | "streamed",
  asked: Record<string, unknown> = {},
): Promise<unknown[]> {
  const { path, body } = requestFor(call, { isStreamed: way === "streamed" });
  const response = await sendTo(purser, { path, body: { ...body, ...asked } });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  const { rows } = await purser.core.store.read({
    sql: "SELECT cost_nano_usd, unpriced_parts, is_estimated FROM calls ORDER BY position DESC LIMIT 1",
  });
  const [cost, unpriced, isEstimated] = rows[0]!;
  return [cost, JSON.parse(String(unpriced ?? "[]")), Number(isEstimated)];
}

/** The cases of providers that the gateway has paths for. */
const passable = priceCases.filter(({ wire, provider }) =>
  wire === "compatible" ? !builtIn.includes(provider) : OWNERS[wire] === provider
);

for (const way of ["whole", "streamed"] as const) {
  for (const wire of Object.keys(APIS) as Wire[]) {
    Deno.test(`the gateway books the bill of each ${wire} answer of the table, ${way}, to the nano-USD`, async () => {
      await using fake = await startFakeProvider();
      // The gate tries every other one; the test of runs has those that are left out.
      const isTried = (index: number) => isThorough || (index % 2 === 0) === (way === "streamed");
      const cases = passable.filter((one) => one.wire === wire).filter((_, index) => isTried(index));
      const names = cases.map(({ provider }) => provider).filter((name) => !builtIn.includes(name));
      const { purser, setTime } = await openGateway(fake, names);
      await using _ = purser;
      const differences: unknown[] = [];
      for (const one of cases) {
        setTime(one.at);
        fake.enqueue({ answer: one.answer });
        const booked = await bookThrough(purser, { ...one, api: APIS[wire] }, way);
        const expected = [costOfBill(one.bill), one.unpricedParts, 0];
        if (!isSame(booked, expected)) differences.push([one.rule, one.model, one.bill, booked, expected]);
      }
      assert.deepEqual(differences, []);
    });
  }
}

function isSame(one: unknown, other: unknown): boolean {
  const text = (value: unknown) =>
    JSON.stringify(value, (_, each) => typeof each === "bigint" ? String(each) : each);
  return text(one) === text(other);
}

/** An answer that its request decides on. */
interface AskedCase {
  api: UsageApi;
  provider: string;
  model: string;
  asked: Record<string, unknown>;
  answer: WireAnswer;
  bill: string;
  unpriced?: readonly string[];
}

const CLAUDE = {
  api: "openai-compatible",
  provider: "openrouter",
  model: "anthropic/claude-sonnet-4.5",
} as const;
const OPUS = { api: "anthropic", provider: "anthropic", model: "claude-opus-5" } as const;

/** A usage with 1,000 written tokens whose lifetime it doesn't say. */
const written = (model: string) =>
  openaiChatAnswer({
    model,
    usage: {
      prompt_tokens: 1_200,
      completion_tokens: 10,
      total_tokens: 1_210,
      cache_creation_input_tokens: 1_000,
    },
  });

const cached = (...ttls: (string | undefined)[]) => ({
  messages: ttls.map((ttl) => ({
    role: "user",
    content: [{
      type: "text",
      text: "What is 2+2?",
      cache_control: { type: "ephemeral", ...ttl !== undefined && { ttl } },
    }],
  })),
});

// https://platform.claude.com/docs/en/build-with-claude/prompt-caching (2026-11): 1.25x for five minutes, the default, 2x for an
// hour; Sonnet 4.5 costs 3 and 15 USD, Opus 5 5 and 25.
const AT_FIVE_MINUTES = "200 x 3 + 1000 x 3.75 + 10 x 15 = 4500000";
const AT_ONE_HOUR = "200 x 3 + 1000 x 6 + 10 x 15 = 6750000";

const opusWrites = anthropicAnswer({
  model: OPUS.model,
  text: "4",
  usage: {
    input_tokens: 200,
    cache_creation_input_tokens: 1_000,
    cache_read_input_tokens: 0,
    output_tokens: 10,
  },
});

const sonar = (usage: Record<string, unknown> = {}) =>
  openaiChatAnswer({
    model: "sonar-pro",
    usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110, ...usage },
  });
const SONAR = { api: "openai-compatible", provider: "perplexity", model: "sonar-pro" } as const;

const searched = openaiResponsesAnswer({
  model: "gpt-4.1",
  text: "4",
  usage: { input_tokens: 100, output_tokens: 10, total_tokens: 110 },
  items: [{
    type: "web_search_call",
    id: "ws_1",
    status: "completed",
    action: { type: "search", query: "a" },
  }],
});
const imagined = openaiResponsesAnswer({
  model: "gpt-5",
  text: "4",
  usage: { input_tokens: 100, output_tokens: 10, total_tokens: 110 },
  fields: { tool_usage: { image_gen: { input_tokens: 50, output_tokens: 1_000, total_tokens: 1_050 } } },
});

const askedCases: Record<string, AskedCase> = {
  "a write lives as long as the request asks": {
    ...CLAUDE,
    asked: cached("1h"),
    answer: written(CLAUDE.model),
    bill: AT_ONE_HOUR,
  },
  "a write without a lifetime in the request is of the default": {
    ...CLAUDE,
    asked: cached(undefined),
    answer: written(CLAUDE.model),
    bill: AT_FIVE_MINUTES,
  },
  "a write that the request doesn't ask for is marked": {
    ...CLAUDE,
    asked: {},
    answer: written(CLAUDE.model),
    bill: AT_FIVE_MINUTES,
    unpriced: ["cache_write_lifetime"],
  },
  "a write of a request with two lifetimes is marked": {
    ...CLAUDE,
    asked: cached("1h", "5m"),
    answer: written(CLAUDE.model),
    bill: AT_FIVE_MINUTES,
    unpriced: ["cache_write_lifetime"],
  },
  "the lifetime doesn't matter where it has no price of its own": {
    api: "openai-compatible",
    provider: "local",
    model: "my-model",
    asked: {},
    answer: written("my-model"),
    bill: "200 x 1 + 1000 x 1.25 + 10 x 2 = 1470000",
  },
  "a write of Anthropic's without a breakdown lives as long as the request asks": {
    ...OPUS,
    asked: cached("1h"),
    answer: opusWrites,
    bill: "200 x 5 + 1000 x 10 + 10 x 25 = 11250000",
  },
  "a write of Anthropic's without a breakdown or a wish is of the default": {
    ...OPUS,
    asked: {},
    answer: opusWrites,
    bill: "200 x 5 + 1000 x 6.25 + 10 x 25 = 7500000",
  },
  "the search context that the request asks decides the fee": {
    ...SONAR,
    asked: { web_search_options: { search_context_size: "high" } },
    answer: sonar(),
    bill: "100 x 3 + 10 x 15 + 1 x 14/k = 14450000",
  },
  "the search context of the answer counts before that of the request": {
    ...SONAR,
    asked: { web_search_options: { search_context_size: "high" } },
    answer: sonar({ search_context_size: "low" }),
    bill: "100 x 3 + 10 x 15 + 1 x 6/k = 6450000",
  },
  "a Pro Search costs 14, 18 or 22 USD per thousand": {
    ...SONAR,
    asked: { web_search_options: { search_context_size: "medium", search_type: "pro" } },
    answer: sonar(),
    bill: "100 x 3 + 10 x 15 + 1 x 18/k = 18450000",
  },
  "a search type that the provider chooses is marked": {
    ...SONAR,
    asked: { web_search_options: { search_context_size: "low", search_type: "auto" } },
    answer: sonar(),
    bill: "100 x 3 + 10 x 15 + 1 x 6/k = 6450000",
    unpriced: ["search_type"],
  },
  "a preview that the request alone names costs its price": {
    api: "openai-responses",
    provider: "openai",
    model: "gpt-4.1",
    asked: { tools: [{ type: "web_search_preview" }] },
    answer: searched,
    bill: "100 x 2 + 10 x 8 + 1 x 25/k = 25280000",
  },
  "images are made by the model that the request names": {
    api: "openai-responses",
    provider: "openai",
    model: "gpt-5",
    asked: { tools: [{ type: "image_generation", model: "gpt-image-1.5" }] },
    answer: imagined,
    bill: "100 x 1.25 + 10 x 10 + 50 x 5 + 1000 x 32 = 32475000",
  },
  "a search of Web Grounding for Enterprise is none of Google Search": {
    api: "google",
    provider: "google",
    model: "gemini-2.5-flash",
    asked: { tools: [{ enterpriseWebSearch: {} }] },
    answer: geminiAnswer({
      model: "gemini-2.5-flash",
      text: "4",
      usage: { promptTokenCount: 10, candidatesTokenCount: 4, totalTokenCount: 14 },
      queries: ["one"],
    }),
    bill: "10 x 0.3 + 4 x 2.5 = 13000",
    unpriced: ["enterprise_web_searches"],
  },
  "an advisor that doesn't name its model is not priced": {
    ...OPUS,
    asked: {},
    answer: anthropicAnswer({
      model: OPUS.model,
      text: "4",
      usage: {
        input_tokens: 10,
        output_tokens: 5,
        iterations: [
          { type: "message", input_tokens: 10, output_tokens: 5 },
          { type: "advisor_message", input_tokens: 1_000, output_tokens: 200 },
          { type: "new_message", input_tokens: 40 },
        ],
      },
    }),
    bill: "10 x 5 + 5 x 25 = 175000",
    unpriced: ["advisor_calls", "iterations.new_message.input_tokens"],
  },
};

for (const [name, { asked, answer, bill, unpriced = [], ...call }] of Object.entries(askedCases)) {
  Deno.test(`${name}, through the gateway`, async () => {
    await using fake = await startFakeProvider();
    const { purser } = await openGateway(fake, builtIn.includes(call.provider) ? [] : [call.provider]);
    await using _ = purser;
    for (const way of ["whole", "streamed"] as const) {
      fake.enqueue({ answer });
      assert.deepEqual(await bookThrough(purser, call, way, asked), [costOfBill(bill), unpriced, 0], way);
    }
  });
}
