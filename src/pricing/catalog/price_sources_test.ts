import assert from "node:assert/strict";
import { bundledPrices } from "./bundled_prices.ts";
import { createPriceSources } from "./price_sources.ts";

const sources = createPriceSources(await bundledPrices());
const AT = Date.parse("2026-11-20T12:00:00.000Z");

const idOf = (provider: string, model: string) => sources.find(provider, model, AT)?.model.id;

const matches: [rule: string, provider: string, model: string, id: string][] = [
  ["the exact id", "openai", "gpt-5.4", "gpt-5.4"],
  ["another exact name", "openai", "gpt-5.6", "gpt-5.6-sol"],
  ["any case", "openai", "GPT-4o", "gpt-4o"],
  ["a listed date", "openai", "gpt-4o-2024-05-13", "gpt-4o-2024-05-13"],
  ["-YYYYMMDD", "anthropic", "claude-sonnet-5-5-20261001", "claude-sonnet-5-5"],
  ["-YYYYMMDD of a beginning", "anthropic", "claude-3-5-haiku-20241022", "claude-3-5-haiku-latest"],
  ["-YYYY-MM-DD", "openai", "gpt-5.6-sol-2026-08-01", "gpt-5.6-sol"],
  ["@YYYYMMDD", "google", "claude-opus-4-5@20251101", "claude-opus-4-5"],
  ["-latest", "anthropic", "claude-opus-5-5-latest", "claude-opus-5-5"],
  ["-YYMM", "mistral", "magistral-medium-2509", "magistral-medium"],
  ["-MMDD", "deepseek", "deepseek-v4-pro-0813", "deepseek-v4-pro"],
  ["-MM-YYYY", "google", "gemini-2.5-flash-lite-preview-09-2025", "gemini-2.5-flash-lite"],
  ["-preview of a beginning", "google", "gemini-2.5-pro-preview-05-06", "gemini-2.5-pro"],
  ["Gemini's -001", "google", "gemini-2.0-flash-001", "gemini-2.0-flash"],
  ["the path of Gemini's names", "google", "models/gemini-2.5-pro", "gemini-2.5-pro"],
  ["the path of Vertex", "google", "publishers/anthropic/models/claude-sonnet-4-5", "claude-sonnet-4-5"],
  ["Bedrock's -v1:0", "aws", "meta.llama3-1-8b-instruct-v1:0", "meta.llama3-1-8b-instruct-v1:0"],
  ["Bedrock's context", "aws", "amazon.nova-lite-v1:0:300k", "amazon.nova-lite-v1:0"],
  ["Bedrock's region", "aws", "us.amazon.nova-lite-v1:0", "amazon.nova-lite-v1:0"],
  ["a region with prices of its own", "aws", "eu.amazon.nova-lite-v1:0", "eu.amazon.nova-lite-v1:0"],
  [
    "Bedrock's date",
    "aws",
    "us.anthropic.claude-opus-4-5-20251101-v1:0",
    "regional.anthropic.claude-opus-4-5-v1:0",
  ],
  [
    "Bedrock's global prices",
    "aws",
    "global.anthropic.claude-opus-4-5-20251101-v1:0",
    "global.anthropic.claude-opus-4-5-v1:0",
  ],
  [
    "Bedrock's ARN",
    "aws",
    "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-opus-5-v1:0",
    "regional.anthropic.claude-opus-5",
  ],
  ["a fine-tuned model", "openai", "ft:gpt-4o-2024-08-06:org::id", "ft:gpt-4o"],
  ["a fine-tuned model of Azure", "azure", "gpt-4o-mini-2024-07-18.ft-0a1b", "gpt-4o-mini-2024-07-18.ft-"],
  ["a literal expression", "cursor", "composer-2.5[fast=true]", "composer-2.5-fast"],
  ["an expression with an optional part", "typesafe", "typesafe/jev-1.13-20261001", "jev-1.13.0"],
  ["an expression of dates", "openrouter", "x-ai/grok-4.3-20260101", "x-ai/grok-4.3"],
  ["another provider's model", "azure", "claude-opus-5-5", "claude-opus-5-5"],
  ["LiteLLM's key", "azure_ai", "mistral-large-3", "azure_ai/mistral-large-3"],
];

for (const [rule, provider, model, id] of matches) {
  Deno.test(`a model is matched by ${rule}: ${provider}:${model}`, () =>
    assert.equal(idOf(provider, model), id));
}

const unknown: [why: string, provider: string, model: string][] = [
  ["a newer version", "anthropic", "claude-sonnet-5-9"],
  ["a newer version", "anthropic", "claude-opus-4-9"],
  ["another size", "google", "gemini-3.8-flash-lite"],
  ["another purpose", "google", "gemini-3.8-flash-tts-preview"],
  ["a part of a name", "aws", "titan-embed-v2"],
  ["another version of Bedrock", "aws", "amazon.titan-embed-text-v3:0"],
  ["another version of Bedrock", "aws", "amazon.nova-pro-v2:0"],
  ["a date among others at other prices", "openai", "gpt-4o-2025-01-01"],
  ["a date among others at other prices", "mistral", "mistral-large-2612"],
  ["no date", "openai", "gpt-5.4-2026-13-01"],
  ["no date", "openai", "gpt-5.4-20263001"],
  ["a month of Claude's", "anthropic", "claude-opus-5-0914"],
  ["a name around another", "openai", "my-gpt-4o-clone"],
  ["a preview of an exact name", "openai", "gpt-5.4-preview"],
  ["another provider's model", "anthropic", "gpt-4o"],
  ["an empty name", "openai", ""],
  ["a date alone", "openai", "-20260101"],
];

for (const [why, provider, model] of unknown) {
  Deno.test(`a model is unpriced that is ${why}: ${provider}:${model}`, () => {
    assert.equal(idOf(provider, model), undefined);
  });
}
