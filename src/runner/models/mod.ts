import type { LanguageModelV4 } from "@ai-sdk/provider";
import {
  type Environment,
  type ProviderSettings,
  type ProviderSources,
  readProviderAccess,
  withQuery,
} from "../../config/mod.ts";
import { idsIn, type Upstream } from "../../ledger/mod.ts";
import { messageOf, PurserError } from "../../kernel/errors.ts";
import { createSingleSendFetch, withoutRedirects } from "../../kernel/single_send.ts";
import { countAnswers } from "./answered_requests.ts";
import { BUILT_IN_PROVIDERS, DEMO_MODELS } from "../../contract/values.ts";

/** A model to call, and the names under which its calls are priced and booked. */
export interface ResolvedModel {
  /** Purser's name of the provider: `openai`, `anthropic`, `google`, `demo`, or the config's name for it. */
  provider: string;
  modelId: string;
  model: LanguageModelV4;
  /** The credential and the account that pay for its calls; undefined for `demo` and the model of a library user. */
  paidWith?: Upstream;
}

/** Resolves the names of models: the built-in providers, the servers of the config, and the models of a library user. */
export interface ModelResolver {
  /** The names of the providers that the config adds. */
  readonly configuredProviders: readonly string[];
  /** Checks the form of a name and its provider, without a key and without loading anything. Throws `invalid`. */
  check(name: string): void;
  /** Throws `invalid` on a name that can't be resolved and on a missing key. */
  resolve(name: string): Promise<ResolvedModel>;
}

/** Options of `createModelResolver()`. */
export interface ModelResolverOptions {
  /** OpenAI-compatible servers by name. */
  providers?: Readonly<Record<string, ProviderSettings>>;
  /** Keys and base URLs of the built-in providers. */
  env?: Environment;
  fetch?: typeof fetch;
  /**
   * Models of a library user by name; they come before all others. `provider:model` is booked under these
   * two names, a bare name under the model's own.
   */
  custom?: Readonly<Record<string, LanguageModelV4>>;
}

/** Names come from callers, so the cache is bounded. */
const MAX_CACHED_MODELS = 1_000;

/** Creates a resolver that loads the package of a provider on first use and caches models. */
export function createModelResolver(options: ModelResolverOptions): ModelResolver {
  const { providers = {}, env = {}, custom = {} } = options;
  checkProviderNames(providers);
  const models = new Map<string, Promise<ResolvedModel>>();

  async function create(name: string): Promise<ResolvedModel> {
    const own = Object.hasOwn(custom, name) ? custom[name] : undefined;
    if (own !== undefined) return describeCustomModel(name, own);
    const parsed = parseModelName(name, providers);
    const model = await countAnswers(
      withoutRedirects(options.fetch ?? sendOnce, (reason) => refuseRedirect(parsed, reason)),
      (fetch) => createModel({ providers, env, fetch }, parsed),
    );
    const { provider, modelId } = parsed;
    return {
      provider,
      modelId,
      model,
      ...(provider !== "demo" && { paidWith: await paidWith(provider, { providers, env }) }),
    };
  }

  return {
    configuredProviders: Object.keys(providers),
    check(name) {
      if (!Object.hasOwn(custom, name)) parseModelName(name, providers);
    },
    resolve(name) {
      const cached = models.get(name);
      if (cached !== undefined) return cached;
      if (models.size >= MAX_CACHED_MODELS) models.clear();
      const created = create(name);
      models.set(name, created);
      created.catch(() => models.delete(name));
      return created;
    },
  };
}

/** Returns the upstream that pays for calls of a provider, by the config. */
async function paidWith(provider: string, sources: ProviderSources): Promise<Upstream> {
  const { credentialOf } = await import("../../config/credentials/mod.ts");
  const headers = new Headers(sources.providers[provider]?.headers);
  const { account, project } = idsIn(headers);
  return { ...credentialOf(provider, sources), account, project };
}

function describeCustomModel(name: string, model: LanguageModelV4): ResolvedModel {
  const colon = name.indexOf(":");
  if (colon > 0) return { provider: name.slice(0, colon), modelId: name.slice(colon + 1), model };
  // The AI SDK's providers call themselves `openai.responses`, `anthropic.messages` and so on.
  return { provider: model.provider.split(".")[0]!, modelId: model.modelId, model };
}

/** A provider may charge for each request that reaches it, so none is sent twice below the SDK's own retries. */
const sendOnce = createSingleSendFetch();

/** A redirect would take the key and the prompt along. */
function refuseRedirect({ provider }: ModelName, reason: string): PurserError {
  return new PurserError(
    "provider_error",
    `Cannot get an answer from the model: ${reason}; set the base URL of ${provider} to the address that answers`,
  );
}

interface ProviderContext {
  providers: Readonly<Record<string, ProviderSettings>>;
  env: Environment;
  fetch?: typeof fetch;
}

/**
 * Creates the model of a name. Keys and base URLs are always passed to the AI SDK, defaults included, because it would read
 * missing ones from the environment of the process. Throws `invalid`, naming the variable, if a key is missing.
 */
async function createModel(context: ProviderContext, name: ModelName): Promise<LanguageModelV4> {
  const { provider, modelId, api } = name;
  switch (provider) {
    case "demo": {
      const { createDemoModel } = await import("../demo/demo_models.ts");
      const model = createDemoModel(modelId);
      if (model === undefined) {
        throw new PurserError("invalid", `Cannot use the model demo:${modelId}: it does not exist`);
      }
      return model;
    }
    case "openai": {
      const settings = accessOf(context, name);
      const { createOpenAI } = await load(name, () => import("@ai-sdk/openai"));
      const openai = createOpenAI(settings);
      return api === "chat" ? openai.chat(modelId) : openai.responses(modelId);
    }
    case "anthropic": {
      const settings = accessOf(context, name);
      const { createAnthropic } = await load(name, () => import("@ai-sdk/anthropic"));
      return createAnthropic(settings)(modelId);
    }
    case "google": {
      const settings = accessOf(context, name);
      const { createGoogle } = await load(name, () => import("@ai-sdk/google"));
      return createGoogle(settings)(modelId);
    }
    default: {
      const { createOpenAICompatible } = await load(name, () => import("@ai-sdk/openai-compatible"));
      // Without includeUsage a streamed answer has no usage and could not be priced.
      return createOpenAICompatible({
        name: provider,
        ...accessOf(context, name),
        includeUsage: true,
      })(modelId);
    }
  }
}

function accessOf(context: ProviderContext, { provider, modelId }: ModelName) {
  const { fetch = sendOnce } = context;
  const { baseUrl, query, apiKey, headers } = readProviderAccess(
    provider,
    `the model ${provider}:${modelId}`,
    context,
  );
  // The SDKs append a path to the base URL, and pass its address as a text.
  const send: typeof fetch = (input, init) => fetch(withQuery(String(input), query), init);
  return { baseURL: baseUrl, apiKey, headers, fetch: query === "" ? fetch : send };
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

/** The parts of a model's name. */
interface ModelName {
  /** A built-in provider or one of the config. */
  provider: string;
  modelId: string;
  /** The API of a provider that has several. */
  api?: "chat" | "responses";
}

/** The two APIs of OpenAI that serve the same models. */
const OPENAI_APIS = new Map<string, ModelName["api"]>([
  ["openai.chat", "chat"],
  ["openai.responses", "responses"],
]);

/**
 * Patterns of names that belong to one provider. Models with open weights (`gpt-oss`, `gemma`, `llama`) have many providers
 * and are not listed.
 */
const BARE_NAMES: [RegExp, string][] = [
  [/^(gpt-(?!oss)|chatgpt-|o[1-9](-|$)|codex-|ft:gpt-)/, "openai"],
  [/^claude-/, "anthropic"],
  [/^gemini-/, "google"],
];

/** Parses `provider:model` or a bare name. Throws `invalid`. */
function parseModelName(name: string, providers: Readonly<Record<string, unknown>>): ModelName {
  if (!/^[^\s\p{C}]{1,200}$/u.test(name)) {
    throw new PurserError(
      "invalid",
      "Cannot use the model: its name must be 1 to 200 characters without blanks, as in openai:gpt-6-luna",
    );
  }
  const known = [...BUILT_IN_PROVIDERS, ...Object.keys(providers)];
  const colon = name.indexOf(":");
  const provider = name.slice(0, Math.max(0, colon));
  const modelId = name.slice(colon + 1);
  const api = OPENAI_APIS.get(provider);
  if (api !== undefined || known.includes(provider)) {
    if (modelId === "") throw refuse(name, `it names no model; write it as in ${provider}:MODEL`);
    return checkDemoModel(api === undefined ? { provider, modelId } : { provider: "openai", modelId, api });
  }
  const owner = BARE_NAMES.find(([pattern]) => pattern.test(name))?.[1];
  if (owner !== undefined) return { provider: owner, modelId: name };
  const providersText = `known providers are ${known.join(", ")}`;
  throw colon === -1
    ? refuse(name, `its provider is not clear; write it as PROVIDER:${name}; ${providersText}`)
    : refuse(name, `the provider ${provider || "before the colon"} is not known; ${providersText}`);
}

/** Checks the provider names of a library user; those of a config file have been checked already. */
function checkProviderNames(providers: Readonly<Record<string, unknown>>): void {
  for (const name of Object.keys(providers)) {
    if ((BUILT_IN_PROVIDERS as readonly string[]).includes(name)) {
      throw new PurserError(
        "invalid",
        `Cannot add the provider ${name}: it is built in; choose another name`,
      );
    }
    if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(name)) {
      throw new PurserError(
        "invalid",
        `Cannot add the provider ${name}: a name takes letters, digits, _ and -`,
      );
    }
  }
}

function checkDemoModel(name: ModelName): ModelName {
  if (name.provider !== "demo" || (DEMO_MODELS as readonly string[]).includes(name.modelId)) return name;
  const models = DEMO_MODELS.map((model) => `demo:${model}`).join(", ");
  throw refuse(`demo:${name.modelId}`, `it does not exist; the demo models are ${models}`);
}

function refuse(name: string, reason: string): PurserError {
  return new PurserError("invalid", `Cannot use the model ${name}: ${reason}`);
}
