import assert from "node:assert/strict";
import type { PriceOverride } from "../../contract/price_override.ts";
import type { StatedCostReason } from "../../contract/costs/stated_costs.ts";
import { createPriceBook } from "../prices.ts";
import { usageOf } from "../usage/usage.ts";
import type { BilledProvider } from "./bills.ts";
import { isApart } from "../price_usage.ts";
import type { Statement } from "./statement.ts";

/*
 * The stated amounts that are the bill of a call; the sources of the rules are beside the table in bills.ts. 50,000 tokens in and
 * 1,000 out of Claude Sonnet 4.6 cost 50,000 x $3/M + 1,000 x $15/M = $0.165 by Anthropic's list of 2026-11.
 */

const LIST = 165_000_000n;
const USAGE = usageOf({ inputTokens: 50_000, outputTokens: 1_000 });
const ROW: PriceOverride = {
  provider: "house",
  model: "priced",
  input_usd_per_million: 1,
  output_usd_per_million: 1,
};

/** The config of the cases: every provider at an address that says nothing, unless it is one of theirs. */
const PROVIDERS: Record<string, BilledProvider> = {
  house: { baseUrl: "http://127.0.0.1:4000/v1" },
  openrouter: { baseUrl: "http://127.0.0.1:4000/v1" },
  "my-router": { baseUrl: "https://openrouter.ai/api/v1" },
  "my-eu-router": { baseUrl: "https://eu.openrouter.ai/api/v1" },
  fake: { baseUrl: "https://openrouter.ai.example.com/api/v1" },
  mine: { baseUrl: "https://api.x.ai/v1" },
  "vercel-here": { baseUrl: "https://ai-gateway.vercel.sh/v1" },
  "cf-openrouter": { baseUrl: "https://gateway.ai.cloudflare.com/v1/acc/gw/openrouter/v1" },
  "cf-grok": { baseUrl: "https://gateway.ai.cloudflare.com/v1/acc/gw/grok/v1" },
  "cf-openai": { baseUrl: "https://gateway.ai.cloudflare.com/v1/acc/gw/openai" },
  "cf-compat": { baseUrl: "https://gateway.ai.cloudflare.com/v1/acc/gw/compat" },
  "cf-rest": { baseUrl: "https://api.cloudflare.com/client/v4/accounts/acc/ai/v1" },
  cloudflare: { baseUrl: "http://127.0.0.1:4000/v1" },
  lite: { baseUrl: "http://127.0.0.1:4000/v1", statesCost: "litellm" },
  micro: { baseUrl: "http://127.0.0.1:4000/v1", statesCost: { field: "price.total", unit: "micro_usd" } },
  headed: { baseUrl: "http://127.0.0.1:4000/v1", statesCost: { header: "X-Cost", unit: "usd_cent" } },
  silent: { baseUrl: "https://openrouter.ai/api/v1", statesCost: "none" },
  anthropic: { baseUrl: "https://openrouter.ai/api/v1" },
  azure: {},
};

const book = await createPriceBook({ overrides: [ROW], providers: PROVIDERS });

type Given = Record<string, unknown> | Statement;
type Case = [
  what: string,
  name: string,
  given: Given,
  expected: bigint | null | StatedCostReason | [StatedCostReason, bigint | null],
];

const usage = (fields: Record<string, unknown>): Statement => ({ usage: fields });
const headers = (fields: Record<string, string>): Statement["headers"] => new Headers(fields);
const gateway = (fields: Record<string, unknown>): Statement => ({ gateway: fields });
const ROUTED = "openrouter:anthropic/claude-sonnet-4.6";
const byok = (cost: unknown, upstream?: unknown, flag: boolean | "dropped" = true) =>
  usage({
    cost,
    ...flag !== "dropped" && { is_byok: flag },
    ...upstream !== undefined && { cost_details: { upstream_inference_cost: upstream } },
  });

const CASES: Case[] = [
  ["OpenRouter's cost", ROUTED, usage({ cost: 0.00095 }), 950_000n],
  ["OpenRouter's cost at its address", "my-router:any", usage({ cost: 0.00095 }), 950_000n],
  ["OpenRouter's cost at a regional address", "my-eu-router:any", usage({ cost: 0.00095 }), 950_000n],
  ["a cost at an address that only begins like OpenRouter's", "fake:any", usage({ cost: 1 }), [
    "undocumented",
    null,
  ]],
  [
    "a cost of a built-in provider at OpenRouter's address",
    "anthropic:claude-sonnet-4-6",
    usage({ cost: 0.15 }),
    150_000_000n,
  ],
  ["OpenRouter's 0 beside tokens", ROUTED, usage({ cost: 0 }), ["zero", LIST]],
  ["OpenRouter's 0 of a model without a price", "openrouter:no/such", usage({ cost: 0 }), ["zero", null]],
  [
    "OpenRouter's 0 of a free model",
    "openrouter:meta-llama/llama-3.3-70b-instruct:free",
    usage({ cost: 0 }),
    0n,
  ],
  ["OpenRouter's 0 of its free router", "openrouter:openrouter/free", usage({ cost: "0" }), 0n],
  ["another server's 0 of a free model", "house:llama:free", usage({ cost: 0 }), ["undocumented", null]],
  ["the fee and the price of a key of one's own", ROUTED, byok(0.00005, 0.001), 1_050_000n],
  ["the price of a key of one's own without a fee", ROUTED, byok(0, 0.0360795), 36_079_500n],
  ["the same without the flag, which some SDKs drop", ROUTED, byok(0, 0.0360795, "dropped"), 36_079_500n],
  ["a price that is a part of the cost", ROUTED, byok(0.00000285, 0.00000285, false), 2_850n],
  ["the same without the flag", ROUTED, byok(0.00000285, 0.00000285, "dropped"), 2_850n],
  ["a key of one's own without details", ROUTED, byok(0), ["own_key", LIST]],
  ["a key of one's own with a price of null", ROUTED, byok(0, null), ["own_key", LIST]],
  ["a key of one's own with a price of 0", ROUTED, byok(0, 0), ["own_key", LIST]],
  ["a fee without the price of the key", ROUTED, byok(0.008), ["own_key", LIST]],
  ["a negative price of a key of one's own", ROUTED, byok(0.01, -0.01), ["own_key", LIST]],
  ["a text", ROUTED, usage({ cost: "0.01" }), 10_000_000n],
  ["a text with an exponent", ROUTED, usage({ cost: "1e-3" }), 1_000_000n],
  [
    "a text with more digits than a float has",
    ROUTED,
    usage({ cost: "1234.0000000014999999999999999" }),
    1_234_000_000_001n,
  ],
  ["texts that are added before they are rounded", ROUTED, byok("0.0000000005", "0.0000000010"), 2n],
  ["half a nano-USD, to even", ROUTED, usage({ cost: 0.0000000025 }), 2n],
  ["a negative cost", ROUTED, usage({ cost: -1 }), LIST],
  ["a negative text", ROUTED, usage({ cost: "-0.5" }), LIST],
  ["NaN", ROUTED, usage({ cost: NaN }), LIST],
  ["a text that is no number", ROUTED, usage({ cost: "None" }), LIST],
  ["an empty text", ROUTED, usage({ cost: "" }), LIST],
  ["a text with a currency", ROUTED, usage({ cost: "$1" }), LIST],
  ["no cost", ROUTED, usage({}), LIST],
  ["a cost of null", ROUTED, usage({ cost: null }), LIST],
  ["a cost beyond belief", ROUTED, usage({ cost: 10_000.01 }), ["absurd", LIST]],
  ["a cost beyond any amount", ROUTED, usage({ cost: 1e300 }), LIST],
  ["a text of endless length", ROUTED, usage({ cost: "1".repeat(1_000_000) }), LIST],
  [
    "Perplexity's total",
    "perplexity:sonar-pro",
    usage({ cost: { total_cost: 0.00633, request_cost: 0.006 } }),
    6_330_000n,
  ],
  [
    "Perplexity's total in USD",
    "perplexity:x",
    usage({ cost: { total_cost: "0.00633", currency: "USD" } }),
    6_330_000n,
  ],
  [
    "Perplexity's total in another currency",
    "perplexity:x",
    usage({ cost: { total_cost: 1, currency: "EUR" } }),
    null,
  ],
  ["Perplexity's total from another server", "house:any", usage({ cost: { total_cost: 0.006 } }), [
    "undocumented",
    null,
  ]],
  ["xAI's ticks", "xai:grok-4.3", usage({ cost_in_usd_ticks: 37_756_000 }), 3_775_600n],
  ["xAI's ticks at its address", "mine:any", usage({ cost_in_usd_ticks: "37756005" }), 3_775_600n],
  ["ticks of another server", "house:any", usage({ cost_in_usd_ticks: 37_756_000 }), ["undocumented", null]],
  ["a cost that xAI doesn't document", "xai:any", usage({ cost: 0.5 }), ["undocumented", null]],
  ["Vercel's cost", "vercel-here:any", usage({ cost: 0.0045405, is_byok: false }), 4_540_500n],
  ["Vercel's text", "vercel-here:any", gateway({ cost: "0.000056", marketCost: "0.000056" }), 56_000n],
  ["the text of Vercel's provider of the AI SDK", "gateway:any", gateway({ cost: "0.000056" }), 56_000n],
  ["Vercel's 0 for a key of one's own", "vercel-here:any", gateway({ cost: "0", marketCost: "0.1" }), [
    "zero",
    null,
  ]],
  ["the text of Vercel's gateway from another server", "house:any", gateway({ cost: "9" }), [
    "undocumented",
    null,
  ]],
  ["OpenRouter's cost through Cloudflare", "cf-openrouter:any", usage({ cost: 0.01 }), 10_000_000n],
  ["xAI's ticks through Cloudflare", "cf-grok:any", usage({ cost_in_usd_ticks: 100_000_000 }), 10_000_000n],
  ["a cost of OpenAI's through Cloudflare", "cf-openai:any", usage({ cost: 0.01 }), ["undocumented", null]],
  [
    "ticks of a model behind Cloudflare's one address",
    "cf-compat:grok/grok-4.3",
    usage({ cost_in_usd_ticks: 1e8 }),
    10_000_000n,
  ],
  [
    "ticks through Cloudflare's REST API",
    "cf-rest:xai/grok-4.3",
    usage({ cost_in_usd_ticks: 1e8 }),
    10_000_000n,
  ],
  [
    "a cost through a provider called Cloudflare",
    "cloudflare:openrouter/openai/gpt-5",
    usage({ cost: 1 }),
    1_000_000_000n,
  ],
  ["a cost of a model of OpenAI's through it", "cloudflare:openai/gpt-5", usage({ cost: 1 }), [
    "undocumented",
    null,
  ]],
  ["a cost of another model there", "cf-compat:openai/gpt-5", usage({ cost: 1 }), ["undocumented", null]],
  ["LiteLLM's header", "lite:any", {
    headers: headers({ "x-litellm-response-cost": "0.0009884999999999998" }),
  }, 988_500n],
  ["LiteLLM's header of a provider of its name", "litellm:any", {
    headers: headers({ "x-litellm-response-cost": "1.5e-05" }),
  }, 15_000n],
  [
    "LiteLLM's header over the usage of the model behind it",
    "lite:any",
    { ...usage({ cost: 1 }), headers: headers({ "x-litellm-response-cost": "2" }) },
    2_000_000_000n,
  ],
  [
    "LiteLLM's usage beside a header of 0",
    "lite:any",
    { ...usage({ cost: 0.25 }), headers: headers({ "x-litellm-response-cost": "0.0" }) },
    250_000_000n,
  ],
  [
    "LiteLLM's usage in a stream, whose header came before the cost was known",
    "lite:any",
    { ...usage({ cost: 0.25 }), headers: headers({ "x-litellm-response-cost": "0.1" }), isStreamed: true },
    250_000_000n,
  ],
  [
    "a stream of LiteLLM's without a cost",
    "lite:any",
    { headers: headers({ "x-litellm-response-cost": "0.1" }), isStreamed: true },
    null,
  ],
  ["LiteLLM's header of None", "lite:any", { headers: headers({ "x-litellm-response-cost": "None" }) }, null],
  ["LiteLLM's header of 0", "lite:any", { headers: headers({ "x-litellm-response-cost": "0" }) }, [
    "zero",
    null,
  ]],
  [
    "LiteLLM's header of a server that isn't declared as one",
    "house:any",
    { headers: headers({ "x-litellm-response-cost": "0.25" }) },
    ["undocumented", null],
  ],
  ["a declared field in micro-USD", "micro:any", usage({ price: { total: 1_100 }, cost: 1_100 }), 1_100_000n],
  ["a declared field that is missing", "micro:any", usage({ cost: 1_100 }), ["undocumented", null]],
  ["a declared header in cents", "headed:any", { headers: headers({ "x-cost": "12.5" }) }, 125_000_000n],
  ["a cost that the config declares to be none", "silent:any", usage({ cost: 1 }), ["undocumented", null]],
  ["an estimate of another server", "house:any", usage({ estimated_cost: 0.01 }), ["undocumented", null]],
  ["micro-USD beside a price row", "house:priced", usage({ cost: 1_100 }), ["price_row", 51_000_000n]],
  ["0 beside a price row", "house:priced", usage({ cost: 0 }), ["price_row", 51_000_000n]],
  ["any server's 0 beside tokens of a listed model", "azure:claude-sonnet-4-6", usage({ cost: 0 }), [
    "undocumented",
    LIST,
  ]],
];

for (const [what, name, given, expected] of CASES) {
  const [provider, model] = [name.slice(0, name.indexOf(":")), name.slice(name.indexOf(":") + 1)];
  Deno.test(`price() takes ${what} for what it is`, () => {
    const at = Date.parse("2026-11-20T12:00:00.000Z");
    const price = book.price({ provider, model, at, usage: USAGE, statement: given as Statement });
    const [reason, cost] = Array.isArray(expected) ? expected : [undefined, expected];
    assert.deepEqual([price.costNanoUsd, price.statedReason], [cost, reason]);
    assert.equal(price.statedNanoUsd !== undefined, reason !== undefined);
    const isBill = reason === undefined && cost !== null && cost !== LIST;
    assert.equal(price.priceSource === "provider", isBill);
  });
}

Deno.test("price() takes a stated 0 for the bill of a call without tokens", () => {
  const call = { provider: "openrouter", model: "any", at: 0, usage: usageOf({}) };
  assert.equal(book.price({ ...call, statement: { usage: { cost: 0 } } }).costNanoUsd, 0n);
});

Deno.test("createPriceBook() refuses a declared bill of no known form", async () => {
  const wrong = ["litelm", {}, { field: "cost" }, { field: "cost", unit: "eur" }];
  for (const statesCost of wrong) {
    const providers = { lite: { baseUrl: "http://127.0.0.1", statesCost } } as never;
    await assert.rejects(createPriceBook({ providers }), /Cannot use the provider lite: statesCost must be/);
  }
});

Deno.test("isApart() is true from more than 1% on, and for a cost without a price", () => {
  const cases: [stated: bigint, cost: bigint | null, isApart: boolean][] = [
    [101n, 100n, false],
    [102n, 100n, true],
    [99n, 100n, false],
    [98n, 100n, true],
    [0n, 0n, false],
    [1n, 0n, true],
    [0n, null, true],
  ];
  for (const [stated, cost, expected] of cases) {
    assert.equal(isApart(stated, cost), expected, `${stated} ${cost}`);
  }
});
