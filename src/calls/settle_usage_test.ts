import assert from "node:assert/strict";
import { MAX_CALL_TOKENS } from "../contract/limits.ts";
import { type Usage, usageOf } from "../pricing/mod.ts";
import { settleUsage, type UsageReport } from "./settle_usage.ts";

/** The size of a request of 82 bytes. */
const request = { inputBytes: () => 82, maxOutputTokens: 100 };

/** A price of one USD per thousand input tokens, and a nano-USD per output token. */
const priceOf = (usage: Usage) => ({
  costNanoUsd: BigInt(usage.inputTokens) * 1_000_000n + BigInt(usage.outputTokens),
  priceSource: "config",
  rates: null,
});

function settle(report: Partial<UsageReport>, text = "") {
  return settleUsage(
    { counted: undefined, ...report },
    { ...request, outputBytes: () => text.length },
    priceOf,
  );
}

Deno.test("settleUsage() takes the provider's counts, up to the most that a call can have", () => {
  const counted = usageOf({ inputTokens: 1_000, outputTokens: MAX_CALL_TOKENS });
  assert.deepEqual(settle({ counted }), { usage: counted, price: priceOf(counted) });
});

Deno.test("settleUsage() does not take counts beyond what a call can have, nor a cost", () => {
  const fields = Object.keys(usageOf({})).map((field) => ({ [field]: MAX_CALL_TOKENS + 1 }));
  for (const field of [...fields, { details: { web_searches: MAX_CALL_TOKENS + 1 } }]) {
    const counted = { ...usageOf({}), ...field };
    const { usage, estimatedBecause } = settle({ counted, partial: counted }, "x".repeat(40));
    assert.equal(usage.outputTokens, 10, Deno.inspect(field));
    assert.ok(usage.inputTokens > 0 && usage.inputTokens < 100);
    assert.equal(estimatedBecause, "its usage is more than 1000000000 tokens");
  }
  const dear = usageOf({ inputTokens: MAX_CALL_TOKENS, outputTokens: 1 });
  const { usage, estimatedBecause } = settle({ counted: dear });
  assert.ok(usage.inputTokens < 100);
  assert.equal(estimatedBecause, "its usage would cost more than $1000000");
});

Deno.test("settleUsage() completes the counts of a broken answer by its text", () => {
  const partial = usageOf({ inputTokens: 7, outputTokens: 1 });
  const { usage, estimatedBecause } = settle({ partial }, "x".repeat(40));
  assert.deepEqual(usage, usageOf({ inputTokens: 7, outputTokens: 10 }));
  assert.equal(estimatedBecause, "it has no usage");
  const absurd = usageOf({ inputTokens: 9e15, outputTokens: 1 });
  assert.ok(settle({ partial: absurd }).usage.inputTokens < 100);
});

Deno.test("settleUsage() estimates an answer that could not be read up to the call's output limit", () => {
  assert.equal(settle({ unreadText: "x".repeat(80) }).usage.outputTokens, 20);
  assert.equal(settle({ unreadText: "x".repeat(8_000) }).usage.outputTokens, 100);
});

Deno.test("settleUsage() says that the provider's usage could not be read", () => {
  assert.equal(settle({ raw: { prompt_tokens: -1 } }).estimatedBecause, "its usage can't be read");
});

Deno.test("settleUsage() estimates an answer with a text and nothing but zeros for counts", () => {
  const text = "x".repeat(40);
  for (const more of [{}, { others: { promptTokens: 7 } }]) {
    const { usage, estimatedBecause } = settle({ counted: usageOf(more) }, text);
    assert.deepEqual(usage, usageOf({ ...more, inputTokens: 21, outputTokens: 10 }));
    assert.equal(estimatedBecause, "its usage counts nothing");
  }
});

Deno.test("settleUsage() estimates the output of a long text for which at most one token is counted, and keeps the rest", () => {
  for (const outputTokens of [0, 1]) {
    const counted = usageOf({ inputTokens: 50_000, cacheReadTokens: 40_000, outputTokens });
    const { usage, estimatedBecause } = settle({ counted }, "x".repeat(256));
    assert.deepEqual(usage, { ...counted, outputTokens: 64 });
    assert.equal(estimatedBecause, "its usage counts no output");
    assert.equal(settle({ counted }, "x".repeat(255)).usage, counted);
  }
});

Deno.test("settleUsage() takes zeros for counts where there is another one, or no text", () => {
  const take = (counted: Usage, size: Partial<Parameters<typeof settleUsage>[1]>) => {
    const settled = settleUsage({ counted }, { ...request, outputBytes: () => 400, ...size }, priceOf);
    assert.deepEqual(settled, { usage: counted, price: priceOf(counted) });
  };
  take(usageOf({}), { outputBytes: () => 0 });
  take(usageOf({}), { textBytes: () => 0 }); // a body is no text
  take(usageOf({}), { maxOutputTokens: 0 }); // embeddings
  take(usageOf({ inputTokens: 5 }), { maxOutputTokens: 0 });
  take(usageOf({ inputTokens: 5 }), { outputBytes: () => 5 });
  take(usageOf({ outputTokens: 5 }), {});
  take(usageOf({ details: { web_searches: 1 } }), { outputBytes: () => 5 });
});
