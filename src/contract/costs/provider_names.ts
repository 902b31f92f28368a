/**
 * Purser's names of providers, each with that of OpenTelemetry's conventions (semantic-conventions-genai, 2026-06) first and then
 * the names of other programs: AI SDK 7, LiteLLM 1.109, LangChain 1.5, Claude Code 2.1. Every other provider has one name.
 */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  google: ["gcp.gemini", "gcp.gen_ai", "gemini", "google-ai", "google_genai", "google-gla"],
  vertex: ["gcp.vertex_ai", "vertex_ai", "google-vertex", "google.vertex", "google_vertexai", "vertexai"],
  bedrock: ["aws.bedrock", "amazon-bedrock", "amazon_bedrock", "bedrock_converse", "aws_bedrock", "aws"],
  azure: ["azure.ai.openai", "az.ai.openai", "azure.openai", "azure-openai", "azure_openai"],
  azure_ai: ["azure.ai.inference", "az.ai.inference", "azure-ai"],
  mistral: ["mistral_ai", "mistralai"],
  xai: ["x_ai", "x-ai", "x.ai"],
  watsonx: ["ibm.watsonx.ai"],
  moonshot: ["moonshot_ai", "moonshotai"],
  openrouter: ["openrouter", "openrouter.ai"],
  vercel: ["vercel", "gateway", "vercel_ai_gateway", "vercel-ai-gateway"],
};

const BY_NAME = new Map(
  Object.entries(NAMES).flatMap(([own, names]) => names.map((name) => [name, own] as const)),
);

/** Returns the name of a provider in OpenTelemetry's conventions, by Purser's. */
export const toConventionName = (provider: string): string =>
  Object.hasOwn(NAMES, provider) ? NAMES[provider]![0]! : provider;

/** The ends of the AI SDK's names of providers: `openai.responses`, `google.generative-ai`. */
const API =
  /(?:\.(?:chat|messages|responses|interactions|completion|embeddings?|textembedding|generative-ai|text|image|maas))+$/;

/** Returns Purser's name of a provider, by any in any case. */
export function toProviderName(name: string): string {
  const lower = name.toLowerCase();
  const short = lower.replace(API, "");
  return BY_NAME.get(lower) ?? BY_NAME.get(short) ?? short;
}
