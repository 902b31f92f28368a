import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { Environment, ProviderSettings } from "../../config/mod.ts";
import { checkProviderNames, parseModelName } from "./model_name.ts";
import { createModel } from "./provider_models.ts";

/** A model to call, and the names under which its calls are priced and booked. */
export interface ResolvedModel {
  /** Purser's name of the provider: `openai`, `anthropic`, `google`, `demo`, or the config's name for it. */
  provider: string;
  modelId: string;
  model: LanguageModelV4;
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
    const model = await createModel({ providers, env, fetch: options.fetch }, parsed);
    return { provider: parsed.provider, modelId: parsed.modelId, model };
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

function describeCustomModel(name: string, model: LanguageModelV4): ResolvedModel {
  const colon = name.indexOf(":");
  if (colon > 0) return { provider: name.slice(0, colon), modelId: name.slice(colon + 1), model };
  // The AI SDK's providers call themselves `openai.responses`, `anthropic.messages` and so on.
  return { provider: model.provider.split(".")[0]!, modelId: model.modelId, model };
}
