import assert from "node:assert/strict";
import { generateText, streamText } from "ai";
import { fixedClock } from "../src/kernel/clock.ts";
import { toModelCall } from "../src/ledger/mod.ts";
import { type Usage, usageOf } from "../src/pricing/mod.ts";
import { usageFromRaw } from "../src/pricing/usage/mod.ts";
import { meter } from "../src/runner/mod.ts";
import { tables } from "../src/store/mod.ts";
import { CASES_AT } from "./fixtures/prices/mod.ts";
import { type Dialect, dialects } from "./fixtures/usage_dialects.ts";
import { openaiChatAnswer } from "./fixtures/providers/mod.ts";
import { requestFor, sendTo } from "./gateway/requests.ts";
import { startFakeProvider } from "./harness/fake_provider.ts";
import { realModel } from "./harness/metered_models.ts";
import { openTestPurser, type TestPurser } from "./harness/test_purser.ts";

/** Each server's names of cached tokens and reasoning are read to counts without an overlap, and billed so, in every way of a call. */

/** The rates of the test's own model, in USD per million: an hour of cache costs twice the input. */
const PRICE = {
  provider: "local",
  model: "my-model",
  input_usd_per_million: 1,
  output_usd_per_million: 2,
  cache_read_usd_per_million: 0.1,
  cache_write_usd_per_million: 1.25,
  cache_write_1h_usd_per_million: 2,
  reasoning_usd_per_million: 3,
  citation_usd_per_million: 4,
  web_searches_usd_per_thousand: 5,
  low_context_requests_usd_per_thousand: 6,
};

/** The cost of a usage in nano-USD by the rates above, computed from its disjoint parts. */
function costOf({ inputTokens, outputTokens, ...usage }: Usage): bigint {
  const { cacheReadTokens: reads, cacheWriteTokens: writes, cacheWrite1hTokens: hour } = usage;
  const { web_searches = 0, citation_tokens = 0, low_context_requests = 0 } = usage.details ?? {};
  const leaves = [
    [inputTokens - reads - writes, 1_000],
    [reads, 100],
    [writes - hour, 1_250],
    [hour, 2_000],
    [outputTokens - usage.reasoningTokens, 2_000],
    [usage.reasoningTokens, 3_000],
    [citation_tokens, 4_000],
    [web_searches, 5_000_000],
    [low_context_requests, 6_000_000],
  ] as const;
  assert.ok(leaves.every(([quantity]) => quantity >= 0));
  return BigInt(leaves.reduce((sum, [quantity, rate]) => sum + quantity * rate, 0));
}

const CALL = { api: "openai-compatible", provider: "local", model: "my-model" } as const;

/** Cached as the tests of lifetimes need it: the request says the shortest one. */
const MESSAGES = [{
  role: "user",
  content: [{ type: "text", text: "2+2?", cache_control: { type: "ephemeral" } }],
}];

const WAYS: Record<string, (purser: TestPurser) => Promise<unknown>> = {
  "the gateway": (purser) => through(purser, false),
  "the gateway, streamed": (purser) => through(purser, true),
  "a run": (purser) => purser.run({ model: "local:my-model" }, "2+2?"),
  "a run, streamed": (purser) => purser.run({ model: "local:my-model" }, "2+2?", { onPart: () => {} }),
};

async function through(purser: TestPurser, isStreamed: boolean): Promise<void> {
  const { path, body } = requestFor(CALL, { isStreamed });
  const response = await sendTo(purser, { path, body: { ...body, messages: MESSAGES } });
  assert.equal(response.status, 200, await response.text());
}

Deno.test("each server's usage is read to counts without an overlap", () => {
  for (const { server, usage, expected } of dialects) {
    assert.deepEqual(usageFromRaw("openai-compatible", usage), usageOf(expected), server);
  }
});

for (const [way, call] of Object.entries(WAYS)) {
  Deno.test(`${way} books each server's usage by its disjoint parts`, async () => {
    await using fake = await startFakeProvider();
    const clock = { ...fixedClock(0), now: () => Date.parse(CASES_AT), monotonic: () => 0 };
    const providers = { local: { baseUrl: fake.baseUrls.compatible } };
    await using purser = await openTestPurser({ fake, clock, config: { providers, prices: [PRICE] } });
    for (const one of dialects) {
      fake.enqueue({ answer: openaiChatAnswer({ model: "my-model", text: "4", usage: one.usage }) });
      await call(purser);
    }
    const rows = await purser.core.query.select().from(tables.calls).orderBy(tables.calls.position);
    assert.equal(rows.length, dialects.length);
    rows.map(toModelCall).forEach((booked, i) => check(booked, dialects[i]!, way.startsWith("a run")));
  });
}

function check(
  { usage, costNanoUsd, unpricedParts, isEstimated }: ReturnType<typeof toModelCall>,
  { server, expected }: Dialect,
  isRun: boolean,
): void {
  const { others, ...counts } = usage;
  assert.deepEqual(counts, usageOf(expected), server);
  assert.equal(costNanoUsd, costOf(counts), server);
  assert.equal(isEstimated, false, server);
  // A run's request caches nothing, so that nothing says for how long the server did.
  const isMarked = isRun && MARKED.has(server);
  assert.deepEqual(unpricedParts, isMarked ? ["cache_write_lifetime"] : undefined, server);
  assert.equal(others !== undefined, isMarked, server);
}

/** The servers that report writes without a lifetime, for which their documents have no default. */
const MARKED = new Set([
  "a proxy of Bedrock with the names of its Converse API",
  "a proxy of Anthropic whose prompt leaves the cache out",
  "the same, with a total of all",
  "Requesty",
]);

/** As the AI SDK sends what its own options for a provider say. */
const LASTING = [{
  role: "user" as const,
  content: "2+2?",
  providerOptions: { openaiCompatible: { cache_control: { type: "ephemeral", ttl: "1h" } } },
}];

for (const way of ["whole", "streamed"] as const) {
  Deno.test(`a meter prices written tokens without a lifetime by the one that its request asks, ${way}`, async () => {
    await using fake = await startFakeProvider();
    await using purser = await openTestPurser({ fake, config: { prices: [PRICE] } });
    await purser.core.prices.ready?.();
    const usage = {
      prompt_tokens: 1_200,
      completion_tokens: 10,
      total_tokens: 1_210,
      cache_creation_input_tokens: 1_000,
    };
    fake.enqueue({ answer: openaiChatAnswer({ model: "my-model", text: "4", usage }) });
    const model = meter(purser.core, realModel(fake, CALL.api, CALL.model), { agentId: "outside" });
    if (way === "whole") await generateText({ model, messages: LASTING });
    else await streamText({ model, messages: LASTING }).text;
    const [call] = (await purser.core.query.select().from(tables.calls)).map(toModelCall);
    // 200 at $1, 1,000 at $2 for an hour, 10 at $2
    assert.deepEqual([call!.costNanoUsd, call!.unpricedParts], [2_220_000n, undefined]);
  });
}
