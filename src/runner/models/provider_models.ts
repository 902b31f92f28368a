import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { Environment, ProviderSettings } from "../../config/mod.ts";
import { messageOf, PurserError } from "../../kernel/errors.ts";
import { createDemoModel } from "../demo/demo_models.ts";
import { createSingleSendFetch } from "../../kernel/single_send.ts";
import type { ModelName } from "./model_name.ts";

/** A provider may charge for each request that reaches it, so none is sent twice below the SDK's own retries. */
const sendOnce = createSingleSendFetch();

interface ProviderContext {
  providers: Readonly<Record<string, ProviderSettings>>;
  env: Environment;
  fetch?: typeof fetch;
}

/**
 * Creates the model of a name. Keys and base URLs are always passed to the AI SDK, defaults included, because it would read
 * missing ones from the environment of the process. Throws `invalid`, naming the variable, if a key is missing.
 */
export async function createModel(context: ProviderContext, name: ModelName): Promise<LanguageModelV4> {
  const { provider, modelId, api } = name;
  const { env, fetch = sendOnce } = context;
  switch (provider) {
    case "demo": {
      const model = createDemoModel(modelId);
      if (model === undefined) {
        throw new PurserError("invalid", `Cannot use the model demo:${modelId}: it does not exist`);
      }
      return model;
    }
    case "openai": {
      const settings = {
        apiKey: readKey(env, "OPENAI_API_KEY", name),
        baseURL: readBaseUrl(env, "OPENAI_BASE_URL", "https://api.openai.com/v1"),
        fetch,
      };
      const { createOpenAI } = await load(name, () => import("@ai-sdk/openai"));
      const openai = createOpenAI(settings);
      return api === "chat" ? openai.chat(modelId) : openai.responses(modelId);
    }
    case "anthropic": {
      const settings = {
        apiKey: readKey(env, "ANTHROPIC_API_KEY", name),
        baseURL: readBaseUrl(env, "ANTHROPIC_BASE_URL", "https://api.anthropic.com/v1"),
        fetch,
      };
      const { createAnthropic } = await load(name, () => import("@ai-sdk/anthropic"));
      return createAnthropic(settings)(modelId);
    }
    case "google": {
      const settings = {
        apiKey: readKey(env, "GOOGLE_GENERATIVE_AI_API_KEY", name),
        // The SDK has no variable for the base URL; this one follows the name of the key.
        baseURL: readBaseUrl(
          env,
          "GOOGLE_GENERATIVE_AI_BASE_URL",
          "https://generativelanguage.googleapis.com/v1beta",
        ),
        fetch,
      };
      const { createGoogle } = await load(name, () => import("@ai-sdk/google"));
      return createGoogle(settings)(modelId);
    }
    default: {
      const { baseUrl, apiKey, headers } = context.providers[provider]!;
      const { createOpenAICompatible } = await load(name, () => import("@ai-sdk/openai-compatible"));
      // Without includeUsage a streamed answer has no usage and could not be priced.
      return createOpenAICompatible({
        name: provider,
        baseURL: baseUrl,
        apiKey,
        headers,
        fetch,
        includeUsage: true,
      })(modelId);
    }
  }
}

function readKey(env: Environment, variable: string, { provider, modelId }: ModelName): string {
  const key = env[variable]?.trim();
  if (key && !/^[\x21-\x7e]+$/.test(key)) {
    throw new PurserError(
      "invalid",
      `Cannot use the model ${provider}:${modelId}: ${variable} holds blanks or characters that no key has`,
    );
  }
  if (key) return key;
  throw new PurserError(
    "invalid",
    `Cannot use the model ${provider}:${modelId}: ${variable} is not set; set it in the environment of Purser`,
  );
}

function readBaseUrl(env: Environment, variable: string, fallback: string): string {
  const text = env[variable]?.trim();
  if (!text) return fallback;
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text;
  throw new PurserError("invalid", `Cannot use ${variable}: it must be an http:// or https:// URL`);
}

/** Imports the package of a provider, which throws while loading if a base URL is set but blank. */
async function load<T>({ provider }: ModelName, importPackage: () => Promise<T>): Promise<T> {
  try {
    return await importPackage();
  } catch (error) {
    const reason = messageOf(error).replace(/\.$/, "");
    const remedy = reason.includes("baseURL")
      ? `; unset ${provider.toUpperCase()}_BASE_URL or give it a value`
      : "";
    throw new PurserError("invalid", `Cannot use ${provider} models: ${reason}${remedy}`, { cause: error });
  }
}
