import assert from "node:assert/strict";
import { litellmNamesOf, providerIdOf, providerIdOfLitellm } from "./provider_names.ts";

const names: Record<string, string[]> = {
  aws: ["aws", "bedrock", "aws-bedrock", "amazon-bedrock", "Bedrock"],
  google: [
    "google",
    "vertex",
    "vertex_ai",
    "google-vertex",
    "gemini",
    "google-generative-ai",
    "google.generative-ai",
    "google.vertex.chat",
    "vertex.anthropic.messages",
  ],
  "x-ai": ["x-ai", "xai", "XAI", "xai.chat"],
  together: ["together", "together_ai", "togetherai"],
  moonshotai: ["moonshotai", "moonshot"],
  fireworks: ["fireworks", "fireworks_ai"],
  azure: ["azure", "azure-openai", "azure_ai", "azure-openai.chat"],
  openai: ["openai", "OpenAI", "openai.chat", "openai.responses"],
  anthropic: ["anthropic", "anthropic.messages"],
  mistral: ["mistral", "mistralai"],
  cohere: ["cohere", "cohere_chat", "Cohere"],
  // Not known: they stay what they are.
  "my-openai": ["my-openai"],
  "openai.local": ["openai.local"],
};

for (const [id, aliases] of Object.entries(names)) {
  for (const name of aliases) {
    Deno.test(`the provider ${name} is ${id}`, () => assert.equal(providerIdOf(name), id));
  }
}

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
