/** Who sells, hosts and bills a provider's calls, and the name of its product. */
export interface Seller {
  name: string;
  /** Null for a router, which has hosts of others. */
  host: string | null;
  service: string;
}

/**
 * The names of providers on their own invoices, by Purser's: as of 2026-11-26, from their sites, such as https://www.anthropic.com. A provider that isn't here is named as in
 * the ledger.
 */
const SELLERS: Readonly<Record<string, [name: string, service: string, host?: null]>> = {
  anthropic: ["Anthropic", "Claude API"],
  openai: ["OpenAI", "OpenAI API"],
  google: ["Google", "Gemini API"],
  vertex: ["Google Cloud", "Vertex AI"],
  bedrock: ["AWS", "Amazon Bedrock"],
  azure: ["Microsoft", "Azure OpenAI"],
  azure_ai: ["Microsoft", "Azure AI Foundry"],
  mistral: ["Mistral AI", "Mistral API"],
  xai: ["xAI", "xAI API"],
  deepseek: ["DeepSeek", "DeepSeek API"],
  cohere: ["Cohere", "Cohere API"],
  perplexity: ["Perplexity", "Perplexity API"],
  groq: ["Groq", "GroqCloud"],
  together: ["Together AI", "Together AI"],
  fireworks: ["Fireworks AI", "Fireworks AI"],
  openrouter: ["OpenRouter", "OpenRouter", null],
  vercel: ["Vercel", "AI Gateway", null],
};

export function sellerOf(provider: string): Seller {
  const [name, service, host] = Object.hasOwn(SELLERS, provider) ? SELLERS[provider]! : [provider, provider];
  return { name, service, host: host === null ? null : name };
}

/** The developers of models by the beginnings of their names, as of 2026-11-26. */
const DEVELOPERS: readonly [RegExp, string][] = [
  [/^claude/, "Anthropic"],
  [/^(?:gpt|o\d|chatgpt|text-embedding|dall-e|whisper)\b/, "OpenAI"],
  [/^(?:gemini|gemma|imagen|veo)/, "Google"],
  [/^(?:mistral|mixtral|codestral|devstral|magistral|ministral)/, "Mistral AI"],
  [/^(?:llama|meta-llama)/, "Meta"],
  [/^deepseek/, "DeepSeek"],
  [/^(?:qwen|qwq)/, "Alibaba"],
  [/^grok/, "xAI"],
  [/^command/, "Cohere"],
  [/^(?:nova|titan)/, "Amazon"],
];

/** Returns the developer of a model; undefined where its name doesn't tell. */
export function developerOf(model: string): string | undefined {
  // `us.anthropic.claude-…` on Bedrock, `anthropic/claude-…` at a router.
  const name = model.toLowerCase().replace(/^.*\//, "").replace(
    /^(?:[a-z-]{2,8}\.)?(?:[a-z0-9]+\.)(?=[a-z])/,
    "",
  );
  return DEVELOPERS.find(([pattern]) => pattern.test(name))?.[1];
}
