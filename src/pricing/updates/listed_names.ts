import type { CatalogData } from "../catalog.ts";
import { indexNames } from "../catalog/names/model_names.ts";
import type { GenaiPrices, LitellmPrices } from "../catalog/price_data.ts";
import { litellmNamesOf, providerIdOfLitellm } from "../catalog/names/provider_names.ts";

/** A dated alias of a name that the data lists by its beginning. */
const ANY_DATE = "2026-01-01";

/** Adds the names that the data lists for each provider, also those of another one's models that it offers. */
export function addListedNames({ genai, litellm }: CatalogData, names: Map<string, Set<string>>): void {
  const add = (providerId: string, name: string) => {
    const known = names.get(providerId) ?? new Set<string>();
    names.set(providerId, known.add(name));
  };
  if (genai) addGenai(genai, add);
  if (litellm) addLitellm(litellm, add);
}

function addGenai({ providers }: GenaiPrices, add: (providerId: string, name: string) => void): void {
  const listed = new Map(providers.map(({ id, models }) => {
    const { exact, begun } = indexNames(models);
    return [id, [
      ...exact.keys(),
      ...begun.map(({ name }) => name + (name.endsWith("-") ? "" : "-") + ANY_DATE),
    ]];
  }));
  for (const { id, fallback_model_providers = [] } of providers) {
    for (const owner of [id, ...fallback_model_providers]) {
      for (const name of listed.get(owner) ?? []) add(id, name);
    }
  }
}

function addLitellm({ models }: LitellmPrices, add: (providerId: string, name: string) => void): void {
  const ids = new Map<string, string>();
  for (const [key, { litellm_provider }] of Object.entries(models)) {
    const providerId = ids.get(litellm_provider) ?? providerIdOfLitellm(litellm_provider);
    ids.set(litellm_provider, providerId);
    const prefix = litellmNamesOf(providerId).find((one) => key.startsWith(`${one}/`));
    add(providerId, prefix === undefined ? key : key.slice(prefix.length + 1));
  }
}
