/**
 * Other names of providers, separated by spaces, by the id in genai-prices, or in LiteLLM for those that only it has. They are
 * those of LiteLLM and its openai_like/providers.json 1.109.1, the AI SDK 7 and its community's providers, OpenTelemetry's
 * gen_ai.provider.name 1.38 and the older gen_ai.system, pydantic-ai, LangChain, Portkey and models.dev, as of 2026-11.
 */
const ALIASES: Readonly<Record<string, string>> = {
  ai21: "ai21_chat ai21labs ai21-labs",
  anthropic: "claude anthropic-ai",
  aws: "bedrock aws-bedrock aws_bedrock aws.bedrock amazon-bedrock amazon_bedrock amazon.bedrock amazon " +
    "bedrock_converse bedrock-mantle bedrock-runtime",
  azure: "azure-openai azure_openai azureopenai azure.ai.openai az.ai.openai azure-openai-chat " +
    "azure_openai_chat azure-cognitive-services",
  azure_ai: "azure-ai azure-foundry azure-ai-foundry azure_ai_foundry azure.ai.inference az.ai.inference " +
    "azure-ai-inference azure-ai-studio microsoft-foundry microsoft",
  cerebras: "cerebras-ai",
  cloudflare: "workers-ai workersai cloudflare-workers-ai cloudflare-ai",
  cohere: "cohere_chat cohere-ai cohereai",
  dashscope: "alibaba alibaba-cloud alibabacloud alibaba_cloud aliyun qwen tongyi model-studio modelstudio",
  databricks: "databricks-model-serving",
  deepinfra: "deep-infra deep_infra",
  deepseek: "deepseek-ai deep-seek deepseekai deep_seek",
  fireworks: "fireworks_ai fireworks-ai fireworksai fireworks.ai",
  friendliai: "friendli friendli-ai friendli_ai",
  "github-copilot": "github_copilot copilot",
  gmi: "gmicloud gmi-cloud gmi_cloud",
  google: "gemini google-ai google_ai googleai google-ai-studio google_ai_studio google-gemini gemini-api " +
    "google-generative-ai google_generative_ai google-genai google_genai google-gla gcp.gemini gcp.gen_ai",
  gradient_ai: "gradient gradient-ai digitalocean",
  groq: "groqcloud groq-cloud groq_cloud",
  inception: "inception-labs inceptionlabs",
  lambda_ai: "lambda lambda-ai lambdalabs",
  meta: "meta_llama meta-llama llama-api llama_api",
  minimax: "minimax-ai minimaxi",
  mistral: "mistralai mistral-ai mistral_ai mistral.ai",
  moonshotai: "moonshot moonshot-ai moonshot_ai kimi",
  nebius: "nebius-ai nebius_ai nebius-ai-studio nebius-token-factory",
  novita: "novita-ai novita_ai novitaai",
  oci: "oracle oci-genai oci_genai oci-generative-ai",
  openai: "open-ai open_ai openai-chat openai_chat openai-responses openai_responses",
  openrouter: "open-router open_router openrouter.ai",
  ovhcloud: "ovh ovh-cloud ovhcloud-ai-endpoints",
  perplexity: "perplexity-ai perplexity_ai perplexityai pplx",
  sambanova: "samba-nova sambanova-cloud sambanova_cloud",
  snowflake: "snowflake-cortex snowflake_cortex",
  together: "together_ai together-ai togetherai together.ai",
  vercel_ai_gateway: "vercel vercel-ai-gateway gateway ai-gateway",
  vertex_ai: "vertex vertex-ai vertexai google-vertex google-vertex-ai google_vertex google_vertexai " +
    "google_vertex_ai google-vertex-anthropic vertex_ai_beta gcp.vertex_ai",
  volcengine: "volcano volcano-engine ark doubao",
  voyageai: "voyage voyage-ai voyage_ai",
  wandb: "wandb-inference weights-and-biases",
  watsonx: "watsonx_text watsonx.ai watsonx-ai ibm ibm-watsonx ibm.watsonx.ai",
  "x-ai": "xai x_ai x.ai grok",
  xiaomi_mimo: "xiaomi mimo",
  zai: "z-ai z.ai z_ai",
  zhipuai: "zhipu zhipu-ai zhipu_ai bigmodel",
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

/** The second service of a provider, with prices of its own for some models; genai-prices has those of the first. */
const SERVICES: Readonly<Record<string, string>> = { azure_ai: "azure", vertex_ai: "google" };
const FIRST_SERVICES: Readonly<Record<string, string>> = { azure: "azure", google: "gemini" };

const BY_ALIAS = new Map(
  [
    ...Object.entries(IN_LITELLM),
    ...Object.entries(ALIASES).map(([id, names]) => [id, names.split(" ")] as const),
  ]
    .flatMap(([id, aliases]) => aliases.map((alias) => [alias, id] as const)),
);
for (const service of Object.keys(SERVICES)) BY_ALIAS.set(service, service);

/** The ends of the AI SDK's names of providers, such as `openai.chat`, `google.generative-ai` and `bedrock.anthropic.messages`. */
const AI_SDK =
  /(?:\.(?:chat|messages|responses|interactions|completion|embeddings?|textembedding|generative-ai|text|chat-completion|anthropic|deepseek|maas))+$/;

/** A provider as the sources know it. */
export interface Seller {
  /** Its id in genai-prices, or in LiteLLM where that alone knows it. */
  id: string;
  /** LiteLLM's names of it, which begin its keys: `gemini/gemini-3.8-flash`. */
  inLitellm: readonly string[];
  /** LiteLLM's name of the service that was named, of a provider with several. */
  service?: string;
  /** True if genai-prices has the prices of another service of the provider, which may differ. */
  isOtherService: boolean;
}

/** Returns the provider that a name means, in any case. */
export function sellerOf(name: string): Seller {
  const named = idOrServiceOf(name.toLowerCase());
  const id = Object.hasOwn(SERVICES, named) ? SERVICES[named]! : named;
  const service = id !== named ? named : Object.hasOwn(FIRST_SERVICES, id) ? FIRST_SERVICES[id] : undefined;
  return {
    id,
    inLitellm: litellmNamesOf(id),
    ...(service !== undefined && { service }),
    isOtherService: named === "vertex_ai",
  };
}

function idOrServiceOf(lower: string): string {
  if (/^google\.vertex(?:\.|$)/.test(lower)) return "vertex_ai";
  const short = lower.replace(AI_SDK, "");
  return BY_ALIAS.get(lower) ?? BY_ALIAS.get(short) ?? short;
}

/** Returns the id of a provider in the prices, by its id or another name of it, in any case. */
export function providerIdOf(name: string): string {
  return sellerOf(name).id;
}

/** Returns LiteLLM's names of a provider. */
export function litellmNamesOf(providerId: string): readonly string[] {
  return Object.hasOwn(IN_LITELLM, providerId) ? IN_LITELLM[providerId]! : [providerId];
}

/** Returns LiteLLM's name of the service of an entry, such as `vertex_ai` for `vertex_ai-mistral_models`. */
export function serviceOfLitellm(name: string): string {
  return name.replace(/^(vertex_ai|fireworks_ai)-.*$/, "$1");
}

/** Returns the id of the provider of an entry of LiteLLM. */
export function providerIdOfLitellm(name: string): string {
  return providerIdOf(serviceOfLitellm(name));
}
