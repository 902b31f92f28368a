/** Other names of providers, by their id in genai-prices, or in LiteLLM where that alone knows them. */
const ALIASES: Readonly<Record<string, readonly string[]>> = {
  aws: ["bedrock", "aws-bedrock", "amazon-bedrock", "bedrock_converse", "aws_bedrock"],
  azure: [
    "azure-openai",
    "azure_openai",
    "azure_ai",
    "azure-ai",
    "azure-foundry",
    "azure-cognitive-services",
  ],
  cloudflare: ["workers-ai", "workersai", "cloudflare-workers-ai"],
  cohere: ["cohere_chat"],
  fireworks: ["fireworks_ai", "fireworks-ai", "fireworksai"],
  "github-copilot": ["github_copilot"],
  google: [
    "gemini",
    "google-ai",
    "google-ai-studio",
    "google-gemini",
    "google-generative-ai",
    "google-genai",
    "google-vertex",
    "google-vertex-ai",
    "google_vertex",
    "vertex",
    "vertex-ai",
    "vertex_ai",
    "vertexai",
    "gcp.gemini",
    "gcp.vertex_ai",
    "gcp.gen_ai",
  ],
  meta: ["meta_llama", "meta-llama"],
  mistral: ["mistralai", "mistral-ai", "mistral_ai"],
  moonshotai: ["moonshot", "moonshot-ai"],
  novita: ["novita-ai", "novita_ai", "novitaai"],
  openai: ["open-ai", "open_ai", "text-completion-openai"],
  perplexity: ["perplexity-ai", "perplexityai"],
  together: ["together_ai", "together-ai", "togetherai"],
  voyageai: ["voyage", "voyage-ai", "voyage_ai"],
  "x-ai": ["xai", "x_ai"],
  zai: ["z-ai", "z.ai", "z_ai"],
  zhipuai: ["zhipu", "zhipu-ai", "bigmodel"],
  deepinfra: ["deep-infra", "deep_infra"],
  dashscope: ["alibaba", "alibaba-cloud"],
  vercel_ai_gateway: ["vercel", "vercel-ai-gateway"],
  lambda_ai: ["lambda-ai"],
};

/** LiteLLM's names of a provider, where they are not its id. */
const IN_LITELLM: Readonly<Record<string, readonly string[]>> = {
  aws: ["bedrock", "bedrock_converse", "amazon_nova", "bedrock_mantle"],
  azure: ["azure", "azure_ai", "azure_text"],
  cohere: ["cohere", "cohere_chat"],
  fireworks: ["fireworks_ai"],
  "github-copilot": ["github_copilot"],
  google: ["gemini", "vertex_ai"],
  meta: ["meta_llama", "meta"],
  mistral: ["mistral", "codestral", "text-completion-codestral"],
  moonshotai: ["moonshot"],
  openai: ["openai", "text-completion-openai"],
  together: ["together_ai"],
  voyageai: ["voyage"],
  "x-ai": ["xai"],
  zhipuai: ["bigmodel"],
};

const BY_ALIAS = new Map(
  [...Object.entries(IN_LITELLM), ...Object.entries(ALIASES)]
    .flatMap(([id, aliases]) => aliases.map((alias) => [alias, id] as const)),
);

/** The ends of the AI SDK's names of providers, such as `openai.chat` and `google.generative-ai`. */
const AI_SDK = /\.(?:chat|messages|responses|completion|embedding|generative-ai|text|chat-completion)$/;
const AI_SDK_VERTEX = /^(?:google\.vertex|vertex\.(?:anthropic|maas))(?:\.|$)/;

/** Returns the id of a provider in the prices, by its id or another name of it, in any case. */
export function providerIdOf(name: string): string {
  const lower = name.toLowerCase();
  const known = BY_ALIAS.get(lower);
  if (known !== undefined) return known;
  if (AI_SDK_VERTEX.test(lower)) return "google";
  const short = lower.replace(AI_SDK, "");
  return BY_ALIAS.get(short) ?? short;
}

/** Returns LiteLLM's names of a provider, which begin its keys: `gemini/gemini-3.8-flash`. */
export function litellmNamesOf(providerId: string): readonly string[] {
  const names = Object.hasOwn(IN_LITELLM, providerId) ? IN_LITELLM[providerId] : undefined;
  return names ?? [providerId];
}

/** Returns the id of the provider of an entry of LiteLLM, such as `vertex_ai-mistral_models`. */
export function providerIdOfLitellm(name: string): string {
  return providerIdOf(name.replace(/^(vertex_ai|fireworks_ai)-.*$/, "$1"));
}
