import { fineTunedBaseOf, headsOf, publishedNamesOf } from "./names/model_aliases.ts";
import { providerIdOfLitellm, type Seller, serviceOfLitellm } from "./names/provider_names.ts";
import { modelOfLitellm } from "./litellm_rates.ts";
import type { LitellmPrices, ModelPrices, PriceTable, PriceVariant } from "./price_data.ts";
import { hasSameBase } from "./same_base.ts";

/** A model of the map. */
export interface ListedModel {
  model: ModelPrices;
  /** The keys that it is combined of. */
  keys: readonly string[];
  /** True if the map has it under the region that was named. */
  isOfRegion: boolean;
}

/** Finds models in LiteLLM's map by their exact keys, in any case. */
export interface LitellmIndex {
  /** Returns the model of a provider, as sold in a region where one is named. */
  find(seller: Seller, name: string, region?: string): ListedModel | undefined;
}

/** Creates the search over a map, whose indexes are built on first use. */
export function createLitellmIndex({ models }: LitellmPrices): LitellmIndex {
  let keysInOtherCase: Map<string, string> | undefined;
  const services = new Map<string, { providerId: string; service: string }>();
  const combined = new Map<string, ModelPrices>();

  function keyOf(lower: string): string | undefined {
    if (Object.hasOwn(models, lower)) return lower;
    keysInOtherCase ??= new Map(
      Object.keys(models).flatMap((key) => {
        const own = key.toLowerCase();
        return own === key ? [] : [[own, key] as const];
      }),
    );
    return keysInOtherCase.get(lower);
  }

  const modelOf = (key: string) => modelOfLitellm(key, models[key]!);

  function serviceOf(key: string): { providerId: string; service: string } {
    const name = models[key]!.litellm_provider;
    const known = services.get(name) ??
      { providerId: providerIdOfLitellm(name), service: serviceOfLitellm(name) };
    services.set(name, known);
    return known;
  }

  /** Returns the keys of a provider among some, those of the service that was named first. */
  function keysOf(seller: Seller, names: readonly string[]): string[] {
    const keys = names.flatMap((name) => keyOf(name) ?? [])
      .filter((key) => serviceOf(key).providerId === seller.id);
    if (keys.length < 2) return keys;
    const isNamed = (key: string) => serviceOf(key).service === seller.service;
    return [...keys.filter(isNamed), ...keys.filter((key) => !isNamed(key))];
  }

  /** Returns one model of several keys: rates that the first lacks come from the others, if they cost the same. */
  function combine(keys: readonly string[], isOfRegion: boolean): ListedModel | undefined {
    const [first, ...more] = keys;
    if (first === undefined) return undefined;
    const id = keys.join("\n");
    const model = combined.get(id) ?? more.reduce((all, key) => {
      const other = modelOf(key);
      if (!hasSameBase(all, other)) return all;
      // A service may end a model that another one keeps.
      const { ends_on: _, ...rates } = other;
      return withRatesOf(all, serviceOf(key).service === serviceOf(first).service ? other : rates);
    }, modelOf(first));
    combined.set(id, model);
    return { model, keys, isOfRegion };
  }

  return {
    find(seller, name, region) {
      const whole = name.toLowerCase();
      const lower = headsOf(whole, seller.id).name;
      const ofRegion = combine(keysOf(seller, regionalKeys(seller.id, lower, region)), true);
      if (ofRegion) return ofRegion;
      const published = seller.id === "google" ? publishedNamesOf(whole) : [];
      for (const one of new Set([lower, whole, ...published, fineTunedBaseOf(lower) ?? lower])) {
        const keys = keysOf(seller, [one, ...seller.inLitellm.map((service) => `${service}/${one}`)]);
        const found = combine(keys, false);
        if (found) return found;
      }
      return undefined;
    },
  };
}

/** Returns a model with the rates, services and regions of another one that it doesn't list itself. */
function withRatesOf(model: ModelPrices, other: ModelPrices): ModelPrices {
  const isListed = (variant: PriceVariant) =>
    model.price_variants?.some(({ when }) => JSON.stringify(when) === JSON.stringify(variant.when));
  const variants = [
    ...model.price_variants ?? [],
    ...other.price_variants?.filter((one) => !isListed(one)) ?? [],
  ];
  return {
    ...other,
    ...model,
    prices: { ...other.prices as PriceTable, ...model.prices as PriceTable },
    ...(variants.length > 0 && { price_variants: variants }),
  };
}

/** Returns the keys of a model in a region, as AWS and Azure sell it there. */
function regionalKeys(providerId: string, name: string, region: string | undefined): string[] {
  if (providerId === "azure") return region === undefined ? [] : [`azure/${region}/${name}`];
  if (providerId !== "aws" || region === undefined) return [];
  const bare = name.replace(/^us-gov\./, "");
  return [
    ...region.startsWith("us-gov-") ? [`us-gov.${bare}`] : [],
    ...["bedrock", "bedrock_mantle"].map((service) => `${service}/${region}/${bare}`),
  ];
}
