import { BUILT_IN_PROVIDERS } from "../../contract/values.ts";
import { PurserError } from "../../kernel/errors.ts";
import { providerIdOf } from "../catalog/names/provider_names.ts";
import type { PricesInUse } from "../prices.ts";
import { listEntries } from "../updates/entries.ts";
import type { PriceLookup } from "./describe_price.ts";

/** Number of providers that are named where a model has several. */
const MAX_NAMED = 5;

/** Returns the provider and the model that a name means; for an unknown one, the name as it is. */
export function chooseProvider(
  prices: PricesInUse,
  { provider, model }: Omit<PriceLookup, "at" | "serviceTier">,
  at: number,
): { provider: string; model: string } {
  if (provider !== undefined) return { provider, model };
  const hasPrice = (provider: string, model: string) => prices.book.rates({ provider, model, at }) !== null;
  const providers = providersOf(prices);
  const split = splitName(model, providers);
  if (split) return split;
  const maker = BUILT_IN_PROVIDERS.find((id) => id !== "demo" && hasPrice(id, model));
  if (maker) return { provider: maker, model };
  const sellers = [...providers].filter((id) => id !== "demo" && hasPrice(id, model));
  if (sellers.length > 1) {
    const more = sellers.length > MAX_NAMED ? " and others" : "";
    throw new PurserError(
      "invalid",
      `Cannot choose the provider of ${model}: ${sellers.slice(0, MAX_NAMED).join(", ")}${more} have it; ` +
        `name one, as ${sellers[0]}:${model}`,
    );
  }
  return { provider: sellers[0] ?? "", model };
}

/** Splits `provider:model`. The names of some models contain a colon too. */
function splitName(
  name: string,
  providers: ReadonlySet<string>,
): { provider: string; model: string } | undefined {
  const colon = name.indexOf(":");
  if (colon < 1) return undefined;
  const provider = name.slice(0, colon);
  if (!providers.has(provider) && !providers.has(providerIdOf(provider))) return undefined;
  return { provider, model: name.slice(colon + 1) };
}

function providersOf({ overrides, listed }: PricesInUse): Set<string> {
  return new Set([
    ...BUILT_IN_PROVIDERS,
    ...overrides.map(({ provider }) => provider),
    ...listed.genai.providers.map(({ id }) => id),
    ...listEntries(listed.litellm).map(({ providerId }) => providerId),
  ]);
}

/** Returns the known models with the names nearest to an unknown one, as `provider:model`. */
export function suggestModels(
  prices: PricesInUse,
  { provider, model }: Omit<PriceLookup, "at" | "serviceTier">,
): string[] {
  const named = provider === undefined ? splitName(model, providersOf(prices)) : { provider, model };
  if (named) {
    return prices.catalog.nearest(named.provider, named.model).map((name) => `${named.provider}:${name}`);
  }
  return BUILT_IN_PROVIDERS.flatMap((id) =>
    prices.catalog.nearest(id, model).slice(0, 1).map((name) => `${id}:${name}`)
  );
}
