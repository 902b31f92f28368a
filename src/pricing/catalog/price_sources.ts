import { fineTunedBaseOf, matchModel } from "./names/match_model.ts";
import { indexNames, type NameIndex } from "./names/model_names.ts";
import { isRenamed, renamedModel } from "./names/renamed_models.ts";
import { modelOfLitellm } from "./litellm_rates.ts";
import { litellmNamesOf, providerIdOf, providerIdOfLitellm } from "./names/provider_names.ts";
import type { GenaiPrices, LitellmPrices, ModelPrices } from "./price_data.ts";

/** The model that a name means. */
export interface FoundModel {
  /** The id of the provider whose prices they are, which may be that of another one's models. */
  providerId: string;
  /** True if the provider sells its own model: only then its variants and rules hold. */
  isOwn: boolean;
  model: ModelPrices;
  /** `genai-prices@<date>` or `litellm@<date>`. */
  source: string;
}

/** Finds models in the data of both sources; indexes are built on first use. */
export interface PriceSources {
  find(provider: string, model: string, at: number): FoundModel | undefined;
  /** Returns whether the meaning of a name changes with time. */
  isRenamed(provider: string, model: string): boolean;
  /** Returns all names that are priced with a provider, as in the data. */
  namesOf(provider: string): string[];
}

/** Creates the search over the data of either source, or both. */
export function createPriceSources(data: { genai?: GenaiPrices; litellm?: LitellmPrices }): PriceSources {
  const providers = new Map((data.genai?.providers ?? []).map((one) => [one.id, one]));
  const indexes = new Map<string, NameIndex>();
  const genaiSource = `genai-prices@${data.genai?.date}`;
  const litellmSource = `litellm@${data.litellm?.date}`;
  let litellmKeys: Map<string, string> | undefined;

  function indexOf(providerId: string): NameIndex | undefined {
    const provider = providers.get(providerId);
    if (provider === undefined) return undefined;
    const index = indexes.get(providerId) ?? indexNames(provider.models);
    indexes.set(providerId, index);
    return index;
  }

  function findGenai(providerId: string, name: string): FoundModel | undefined {
    for (const id of [providerId, ...providers.get(providerId)?.fallback_model_providers ?? []]) {
      const index = indexOf(id);
      const model = index && matchModel(index, id, name);
      if (model) return { providerId: id, isOwn: id === providerId, model, source: genaiSource };
    }
    return undefined;
  }

  function findLitellm(providerId: string, name: string): FoundModel | undefined {
    if (data.litellm === undefined) return undefined;
    const models = data.litellm.models;
    litellmKeys ??= new Map(Object.keys(models).map((key) => [key.toLowerCase(), key]));
    const lower = name.toLowerCase().replace(/^models\//, "");
    for (const one of new Set([lower, fineTunedBaseOf(lower) ?? lower])) {
      for (const wanted of [one, ...litellmNamesOf(providerId).map((prefix) => `${prefix}/${one}`)]) {
        const key = litellmKeys.get(wanted);
        const entry = key === undefined ? undefined : models[key];
        if (!entry || providerIdOfLitellm(entry.litellm_provider) !== providerId) continue;
        return { providerId, isOwn: true, model: modelOfLitellm(key!, entry), source: litellmSource };
      }
    }
    return undefined;
  }

  return {
    find(provider, name, at) {
      const providerId = providerIdOf(provider);
      const renamed = renamedModel(providerId, name, at) ?? name;
      return findGenai(providerId, renamed) ?? findLitellm(providerId, renamed);
    },
    isRenamed: (provider, name) => isRenamed(providerIdOf(provider), name),
    namesOf(provider) {
      const providerId = providerIdOf(provider);
      const names = new Set<string>();
      for (const id of [providerId, ...providers.get(providerId)?.fallback_model_providers ?? []]) {
        for (const name of indexOf(id)?.exact.keys() ?? []) names.add(name);
      }
      for (const [key, { litellm_provider }] of Object.entries(data.litellm?.models ?? {})) {
        if (providerIdOfLitellm(litellm_provider) !== providerId) continue;
        const prefix = litellmNamesOf(providerId).find((one) => key.startsWith(`${one}/`));
        names.add(prefix === undefined ? key : key.slice(prefix.length + 1));
      }
      return [...names];
    },
  };
}
