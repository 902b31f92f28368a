import assert from "node:assert/strict";
import { bundledPrices } from "../bundled_prices.ts";
import {
  litellmNamesOf,
  providerIdOf,
  providerIdOfLitellm,
  sellerOf,
  serviceOfLitellm,
} from "./provider_names.ts";

/** By the id in genai-prices, or in LiteLLM where that alone has the provider. */
const names: Record<string, string[]> = {
  aws: [
    ...["aws", "bedrock", "aws-bedrock", "amazon-bedrock", "Bedrock", "aws.bedrock", "bedrock_converse"],
    ...["bedrock.anthropic.messages", "bedrock.embeddings"],
  ],
  google: [
    ...["google", "vertex", "vertex_ai", "google-vertex", "gemini", "google-gla", "google_genai"],
    ...["google-generative-ai", "google.generative-ai", "google.vertex.chat", "vertex.anthropic.messages"],
    ...["gcp.gemini", "gcp.vertex_ai", "google-vertex-anthropic", "google.vertex.maas.chat"],
  ],
  "x-ai": ["x-ai", "xai", "XAI", "xai.chat", "xai.responses", "x_ai", "grok"],
  together: ["together", "together_ai", "togetherai", "togetherai.chat"],
  moonshotai: ["moonshotai", "moonshot", "moonshotai.chat"],
  fireworks: ["fireworks", "fireworks_ai", "fireworks-ai", "fireworks.chat"],
  groq: ["groq", "groqcloud", "groq-cloud", "groq.chat"],
  dashscope: ["dashscope", "qwen", "alibaba", "alibaba.chat", "aliyun"],
  azure: [
    ...["azure", "azure-openai", "azure_ai", "azure-openai.chat", "azure.responses", "az.ai.openai"],
    ...["azure.ai.inference", "azure.deepseek.chat", "azure.anthropic.messages"],
  ],
  openai: ["openai", "OpenAI", "openai.chat", "openai.responses", "openai.embedding", "openai_responses"],
  anthropic: ["anthropic", "anthropic.messages", "claude"],
  mistral: ["mistral", "mistralai", "mistral.chat", "mistral_ai"],
  cohere: ["cohere", "cohere_chat", "Cohere", "cohere.textEmbedding"],
  deepseek: ["deepseek", "deepseek.chat", "deepseek-ai"],
  perplexity: ["perplexity", "perplexity-ai", "pplx"],
  cerebras: ["cerebras", "cerebras.chat"],
  deepinfra: ["deepinfra", "deepinfra.chat", "deep-infra"],
  watsonx: ["watsonx", "watsonx_text", "ibm.watsonx.ai"],
  vercel_ai_gateway: ["vercel_ai_gateway", "gateway", "vercel"],
  zai: ["zai", "z.ai", "z-ai"],
  // Not known: they stay what they are.
  "my-openai": ["my-openai"],
  "openai.local": ["openai.local"],
};

for (const [id, aliases] of Object.entries(names)) {
  for (const name of aliases) {
    Deno.test(`the provider ${name} is ${id}`, () => assert.equal(providerIdOf(name), id));
  }
}

Deno.test("a provider with two services has the prices of the one that is named", () => {
  const services = ["azure_ai", "azure.ai.inference", "azure", "vertex_ai", "google-vertex.chat", "gemini"]
    .map((name) => sellerOf(name).service);
  assert.deepEqual(services, ["azure_ai", "azure_ai", "azure", "vertex_ai", "vertex_ai", "gemini"]);
});

Deno.test("every provider of the data is found by its own name", async () => {
  const { genai, litellm } = await bundledPrices();
  for (const { id } of genai.providers) assert.equal(providerIdOf(id), id);
  for (const { litellm_provider } of Object.values(litellm.models)) {
    const service = serviceOfLitellm(litellm_provider);
    const { id, inLitellm } = sellerOf(service);
    assert.ok(inLitellm.includes(service), `${service} is one of ${id}, which LiteLLM calls ${inLitellm}`);
  }
});

Deno.test("LiteLLM's families of one provider are that provider", () => {
  assert.equal(providerIdOfLitellm("vertex_ai-mistral_models"), "google");
  assert.equal(providerIdOfLitellm("fireworks_ai-embedding-models"), "fireworks");
  assert.equal(providerIdOfLitellm("bedrock_converse"), "aws");
  assert.equal(providerIdOfLitellm("deepinfra"), "deepinfra");
});

Deno.test("a provider may have the name of an object's property", () => {
  for (const name of ["constructor", "__proto__", "toString", "valueOf"]) {
    assert.deepEqual(litellmNamesOf(name), [name]);
  }
});
