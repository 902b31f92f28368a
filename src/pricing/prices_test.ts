import assert from "node:assert/strict";
import { silentLog } from "../kernel/log.ts";
import { createPriceBook } from "./prices.ts";
import type { PriceBook, PriceQuery, Served } from "./price_book.ts";
import { type Usage, usageOf } from "./usage/usage.ts";

const at = Date.parse("2026-11-01T12:00:00.000Z");
const usage = usageOf({ inputTokens: 1000, outputTokens: 100 });

/** The cost and its source, without the rate card. */
function priceOf(book: PriceBook, query: PriceQuery & Served & { usage: Usage }) {
  const { rates: _, ...price } = book.price(query);
  return { ...price, priceSource: price.priceSource.replace(/@.*/, "") };
}

function recordingLog() {
  const warnings: unknown[] = [];
  return {
    warnings,
    log: { ...silentLog, warn: (_: string, fields?: unknown) => void warnings.push(fields) },
  };
}

Deno.test("price() takes the catalog's price and says so", async () => {
  const book = await createPriceBook();
  assert.deepEqual(priceOf(book, { provider: "openai", model: "gpt-4o-mini", at, usage }), {
    costNanoUsd: 210_000n,
    priceSource: "genai-prices",
  });
});

Deno.test("price() lets the config beat the catalog from its date on", async () => {
  const book = await createPriceBook({
    overrides: [{
      provider: "openai",
      model: "gpt-4o-mini",
      input_usd_per_million: 1,
      output_usd_per_million: 0,
      from: "2026-11-01",
    }],
  });
  const query = { provider: "openai", model: "gpt-4o-mini", usage };
  assert.deepEqual(priceOf(book, { ...query, at }), { costNanoUsd: 1_000_000n, priceSource: "config" });
  assert.equal(priceOf(book, { ...query, at: at - 86_400_000 }).priceSource, "genai-prices");
});

Deno.test("price() knows the demo models", async () => {
  const book = await createPriceBook();
  const cached = usageOf({
    inputTokens: 1000,
    outputTokens: 100,
    cacheReadTokens: 400,
    cacheWriteTokens: 200,
  });
  // 400 x 1.00 + 400 x 0.10 + 200 x 1.25 + 100 x 4.00
  assert.deepEqual(priceOf(book, { provider: "demo", model: "echo", at, usage: cached }), {
    costNanoUsd: 1_090_000n,
    priceSource: "demo",
  });
});

Deno.test("price() gives null, never 0, where no price is known, and warns once", async () => {
  const { log, warnings } = recordingLog();
  const book = await createPriceBook({ log });
  const names = [["openai", "gpt-5-minni"], ["openai", "gpt-5-minni"], ["local", "my-model"]] as const;
  for (const [provider, model] of names) {
    const price = priceOf(book, { provider, model, at, usage });
    assert.deepEqual(price, { costNanoUsd: null, priceSource: "none" });
  }
  assert.deepEqual(warnings, [
    {
      provider: "openai",
      model: "gpt-5-minni",
      nearest: ["gpt-5-mini", "gpt-4o-mini", "gpt-5-1-mini"],
      see: "purser prices show openai:gpt-5-minni",
    },
    { provider: "local", model: "my-model", see: "purser prices show local:my-model" },
  ]);
});

Deno.test("price() gives 0 where the price is 0", async () => {
  const row = { provider: "local", model: "m", input_usd_per_million: 0, output_usd_per_million: 0 };
  const book = await createPriceBook({ overrides: [row] });
  assert.deepEqual(priceOf(book, { provider: "local", model: "m", at, usage }), {
    costNanoUsd: 0n,
    priceSource: "config",
  });
});

Deno.test("price() prices an embedding, and the output of an embedding model as partly priced", async () => {
  const book = await createPriceBook();
  const query = { provider: "openai", model: "text-embedding-3-small", at };
  assert.equal(book.price({ ...query, usage: usageOf({ inputTokens: 1000 }) }).costNanoUsd, 20_000n);
  assert.deepEqual(priceOf(book, { ...query, usage }), {
    costNanoUsd: 20_000n,
    unpricedParts: ["output_tokens"],
    priceSource: "genai-prices",
  });
  assert.equal(book.worstCase({ ...query, inputTokens: 1000, outputTokens: 0 }), 20_000n);
  assert.equal(book.worstCase({ ...query, inputTokens: 1000, outputTokens: 1 }), null);
});

Deno.test("price() refuses a usage that cannot be true", async () => {
  const book = await createPriceBook();
  const wrong = usageOf({ inputTokens: 1, cacheReadTokens: 2 });
  assert.throws(() => book.price({ provider: "openai", model: "gpt-4o", at, usage: wrong }), /Cannot take/);
});

Deno.test("price() books another service tier at the config's price for it, else at the catalog's", async () => {
  const { log, warnings } = recordingLog();
  const flex = { service_tier: "flex", input_usd_per_million: 0.075, output_usd_per_million: 0.3 };
  const book = await createPriceBook({
    log,
    overrides: [{ provider: "openai", model: "gpt-4o-mini", ...flex }],
  });
  const query = { provider: "openai", model: "gpt-4o-mini", at, usage };
  assert.equal(book.price({ ...query, serviceTier: "flex" }).costNanoUsd, 105_000n);
  assert.equal(book.price({ ...query, serviceTier: "default" }).costNanoUsd, 210_000n);
  assert.equal(book.price({ ...query, serviceTier: "priority" }).costNanoUsd, 350_000n);
  assert.deepEqual(warnings, []);
});

Deno.test("price() books a tier without a price at the standard one, as partly priced, and warns once", async () => {
  const { log, warnings } = recordingLog();
  const book = await createPriceBook({ log });
  const query = { provider: "openai", model: "gpt-4o-mini", at, usage };
  for (let call = 0; call < 2; call++) {
    const { costNanoUsd, unpricedParts } = book.price({ ...query, serviceTier: "scale" });
    assert.equal(costNanoUsd, 210_000n);
    assert.deepEqual(unpricedParts, ["service_tier"]);
  }
  assert.deepEqual(warnings, [{ provider: "openai", model: "gpt-4o-mini", parts: ["service_tier"] }]);
});

Deno.test("worstCase() counts the dearest service tier that the config knows", async () => {
  const dear = { service_tier: "priority", input_usd_per_million: 100, output_usd_per_million: 1 };
  const book = await createPriceBook({ overrides: [{ provider: "openai", model: "gpt-4o-mini", ...dear }] });
  const query = { provider: "openai", model: "gpt-4o-mini", at, inputTokens: 10, outputTokens: 10 };
  assert.equal(book.worstCase(query), 1_010_000n);
});

Deno.test("worstCase() is null where no price is known", async () => {
  const book = await createPriceBook();
  assert.equal(book.worstCase({ provider: "local", model: "m", at, inputTokens: 1, outputTokens: 1 }), null);
});

Deno.test("createPriceBook() refuses prices that are no list, and keeps a copy of those that are", async () => {
  const row = { provider: "local", model: "m", input_usd_per_million: 1, output_usd_per_million: 2 };
  const wrong = [new Set([{ ...row, input_usd_per_million: -1 }]), {}, 5, "", [{ ...row, more: 1 }]];
  for (const overrides of wrong) {
    await assert.rejects(createPriceBook({ overrides: overrides as never }), {
      code: "invalid",
      message: /^Cannot read the prices: prices/,
    });
  }
  const overrides = [{ ...row }];
  const book = await createPriceBook({ overrides });
  overrides[0]!.input_usd_per_million = -1;
  assert.equal(book.price({ provider: "local", model: "m", at, usage }).costNanoUsd, 1_200_000n);
});
