import { createLitellmIndex, type ListedModel } from "./litellm_index.ts";
import { hasRegion, regionIn } from "./names/model_aliases.ts";
import { kindOfMatch, matchModel } from "./names/match_model.ts";
import { indexNames, type NameIndex, namesOf } from "./names/model_names.ts";
import { isRenamed, renamedModel } from "./names/renamed_models.ts";
import {
  litellmNamesOf,
  providerIdOf,
  providerIdOfLitellm,
  type Seller,
  sellerOf,
} from "./names/provider_names.ts";
import type { GenaiPrices, LitellmPrices, ModelPrices } from "./price_data.ts";
import { pricesAt } from "./prices_at.ts";
import { hasSameBase } from "./same_base.ts";

/** The prices of a model by one source. */
export interface SourcedModel {
  model: ModelPrices;
  /** The entries that it is made of: `provider:model`, or LiteLLM's keys. */
  entries: readonly string[];
  /** `genai-prices@<date>` or `litellm@<date>`. */
  source: string;
}

/** The model that a name means. */
export interface FoundModel extends SourcedModel {
  seller: Seller;
  /** The id of the provider whose prices they are, which may be that of another one's models. */
  providerId: string;
  /** True if the provider sells its own model: only then its variants and rules hold. */
  isOwn: boolean;
  /**
   * The same model in the other source, whose rates fill in those that `model` lacks. If `isFirst`, its rates win: they are
   * those of the seller.
   */
  other?: SourcedModel & { isFirst: boolean };
  /** The entries of the other source whose price for this name is replaced. */
  replaces?: readonly string[];
  /** The region that the path of the model contains. */
  region?: string;
  /** True if the prices are those of the region in which a call was served. */
  isOfRegion?: boolean;
  /** The day on which the provider ends, or has ended, the model. */
  endsOn?: string;
}

/** Finds models in the data of both sources; indexes are built on first use. */
export interface PriceSources {
  /** `region` is where a call was served, unless the name says so. */
  find(provider: string, model: string, at: number, region?: string): FoundModel | undefined;
  /** Returns whether the meaning of a name changes with time. */
  isRenamed(provider: string, model: string): boolean;
  /** Returns all names that are priced with a provider, as in the data. */
  namesOf(provider: string): string[];
}

/**
 * Creates the search over the data of either source, or both. genai-prices comes first, since it has the dates of changes; but
 * what the map alone distinguishes has its price: a name that the other source takes for an alias, a region, or another maker's
 * model as a provider sells it.
 */
export function createPriceSources(data: { genai?: GenaiPrices; litellm?: LitellmPrices }): PriceSources {
  const providers = new Map((data.genai?.providers ?? []).map((one) => [one.id, one]));
  const indexes = new Map<string, NameIndex>();
  const genaiSource = `genai-prices@${data.genai?.date}`;
  const litellmSource = `litellm@${data.litellm?.date}`;
  const litellm = data.litellm && createLitellmIndex(data.litellm);
  const listedAt = data.litellm ? Date.parse(data.litellm.date) : 0;

  function indexOf(providerId: string): NameIndex | undefined {
    const provider = providers.get(providerId);
    if (provider === undefined) return undefined;
    const index = indexes.get(providerId) ?? indexNames(provider.models);
    indexes.set(providerId, index);
    return index;
  }

  function findGenai(seller: Seller, name: string, providerId: string): FoundModel | undefined {
    const index = indexOf(providerId);
    const model = index && matchModel(index, providerId, name);
    return model && {
      seller,
      providerId,
      model,
      source: genaiSource,
      isOwn: providerId === seller.id,
      entries: [`${providerId}:${model.id}`],
    };
  }

  function findOfMaker(seller: Seller, name: string): FoundModel | undefined {
    for (const id of providers.get(seller.id)?.fallback_model_providers ?? []) {
      const found = findGenai(seller, name, id);
      if (found) return found;
    }
    return undefined;
  }

  const sourced = ({ model, keys }: ListedModel) => ({ model, entries: keys, source: litellmSource });

  function asFound(seller: Seller, listed: ListedModel): FoundModel {
    return {
      ...sourced(listed),
      seller,
      providerId: seller.id,
      isOwn: true,
      isOfRegion: listed.isOfRegion,
    };
  }

  /**
   * Returns whether the map's price of a name replaces the one that genai-prices has for it: the map distinguishes what the other
   * source takes for one model. Where they differ about one model, genai-prices has the price, and dates for it.
   */
  function isReplaced(own: FoundModel, name: string, listed: ListedModel): boolean {
    const { seller } = own;
    // A seller of another one's model may follow its prices later, or never.
    const isOfOther = isOfOtherSeller(own);
    if (hasSameBase(own.model, listed.model, isOfOther ? listedAt : undefined)) return false;
    if (isOfOther || listed.isOfRegion) return true;
    const kind = kindOfMatch(indexOf(seller.id)!, seller.id, own.model, name);
    // AWS bills a call without a profile in its region, at the price of regional profiles; the map has that of the global one.
    // https://platform.claude.com/docs/en/about-claude/pricing#cloud-platform-pricing
    const isGlobal = seller.id === "aws" && !hasRegion(name.toLowerCase());
    if (kind === "id" || isGlobal) return false;
    const others = namesIn(own.model).flatMap((one) => litellm?.find(seller, one) ?? [])
      .filter(({ model }) => model !== listed.model);
    return others.length === 0
      ? kind === "alias"
      : others.some(({ model }) => !hasSameBase(model, listed.model));
  }

  /** Returns the model of the map that is one of genai-prices, by another name of it: of several, one at its price. */
  function twinOf(own: FoundModel): ListedModel | undefined {
    const listed = namesIn(own.model).flatMap((name) => litellm?.find(own.seller, name) ?? []);
    return listed.find(({ model }) => hasSameBase(own.model, model)) ??
      litellm?.find(own.seller, own.model.id);
  }

  /** `listed` is the map's entry of the name. */
  function findIn(
    seller: Seller,
    name: string,
    { at, region, listed }: { at: number; region: string | undefined; listed: ListedModel | undefined },
  ): FoundModel | undefined {
    const own = findGenai(seller, name, seller.id);
    const found = own ?? findOfMaker(seller, name);
    if (found === undefined) return listed && asFound(seller, listed);
    const other = listed ?? (own ? twinOf(own) : litellm?.find(seller, found.model.id, region));
    if (other === undefined) return found;
    if ((listed !== undefined || own === undefined) && isReplaced(found, name, other)) {
      const fees = { ...found, model: onlyFees(found.model, at), isFirst: false };
      return { ...asFound(seller, other), other: fees, replaces: found.entries };
    }
    return {
      ...found,
      other: { ...sourced(other), isFirst: isOfOtherSeller(found) },
      isOfRegion: other.isOfRegion,
    };
  }

  return {
    find(provider, model, at, region) {
      const seller = sellerOf(provider);
      const ownRegion = regionIn(model.toLowerCase());
      const place = ownRegion ?? region?.toLowerCase();
      const listed = litellm?.find(seller, model, place);
      const renamed = renamedModel(seller.id, model, at);
      const found = renamed === undefined
        // The map has the present meaning of a name.
        ? (isRenamed(seller.id, model)
          ? findIn(seller, model, { at, region: place, listed: undefined })
          : undefined)
        : findIn(seller, renamed, { at, region: place, listed: litellm?.find(seller, renamed, place) });
      return withFacts(
        found ?? findIn(seller, model, { at, region: place, listed }),
        ownRegion,
        listed?.model.ends_on,
      );
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

/** Returns a model with its fees alone, which another price of its tokens leaves as they are. */
function onlyFees(model: ModelPrices, at: number): ModelPrices {
  const fees = Object.entries(pricesAt(model, at)).filter(([name]) => name.endsWith("_kcount"));
  return { id: model.id, match: model.match, prices: Object.fromEntries(fees) };
}

function withFacts(
  found: FoundModel | undefined,
  region: string | undefined,
  endsOn: string | undefined,
): FoundModel | undefined {
  return found && {
    ...found,
    ...(region !== undefined && { region }),
    ...(endsOn !== undefined && { endsOn }),
  };
}

/** Returns whether the prices are those of another seller. Claude is sold by only one of Google's services. */
function isOfOtherSeller({ seller, isOwn, model }: FoundModel): boolean {
  return !isOwn || (seller.isOtherService && !model.id.includes("claude"));
}

/** Returns the id of a model and every name that its entry lists. */
function namesIn({ id, match }: ModelPrices): string[] {
  const { exact, stems, inner } = namesOf(match);
  return [...new Set([id.toLowerCase(), ...exact, ...stems, ...inner])];
}
