import { modelOfLitellm } from "./litellm_rates.ts";
import { indexNames, type NameIndex } from "./names/model_names.ts";
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

/** Finds a model by its name, or by a dated, versioned or `-latest` alias of it; never by a part of a name. */
export function matchModel(index: NameIndex, providerId: string, model: string): ModelPrices | undefined {
  const lower = model.toLowerCase();
  const heads = headsOf(lower, providerId);
  return index.exact.get(lower) ?? matchName(index, providerId, heads.name, () => true) ??
    matchFineTuned(index, providerId, heads.name) ??
    firstOf(heads.inner, (name) => matchName(index, providerId, name, (one) => index.inner.has(one)));
}

function firstOf<T, R>(items: readonly T[], find: (item: T) => R | undefined): R | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

function matchName(
  index: NameIndex,
  providerId: string,
  name: string,
  isAllowed: (name: string) => boolean,
): ModelPrices | undefined {
  const exact = isAllowed(name) ? index.exact.get(name) : undefined;
  return exact ?? firstOf(aliasesOf(name, providerId), (alias) => {
    const found = matchAlias(index, providerId, name, alias, isAllowed);
    return found && isSameModel(index, providerId, found, name, alias) ? found : undefined;
  });
}

function matchAlias(
  index: NameIndex,
  providerId: string,
  name: string,
  { base, kind }: ModelAlias,
  isAllowed: (name: string) => boolean,
): ModelPrices | undefined {
  const begun = index.begun.find((one) =>
    one.name.length > base.length && one.name.startsWith(base) && name.startsWith(one.name)
  );
  if (begun) return begun.model;
  if (isAllowed(base) && (kind !== "preview" || index.stems.has(base))) {
    const found = index.exact.get(base);
    if (found) return found;
  }
  // "anthropic.claude-opus-4-5-20251101-v1:0" is a version of a dated name.
  return kind === "version" && !index.exact.has(base)
    ? matchName(index, providerId, base, isAllowed)
    : undefined;
}

/** OpenAI's `ft:gpt-4o-2024-08-06:org:name:id`, and Azure's `gpt-4o-mini-2024-07-18.ft-id`. */
function matchFineTuned(index: NameIndex, providerId: string, name: string): ModelPrices | undefined {
  const base = fineTunedBaseOf(name);
  return base === undefined || base === name ? undefined : matchName(index, providerId, base, () => true);
}

/** Returns the name of a fine-tuned model without what is its owner's, or undefined of another model. */
export function fineTunedBaseOf(name: string): string | undefined {
  return /^ft:[^:]+/.exec(name)?.[0] ?? /^.+?\.ft-/.exec(name)?.[0];
}

/**
 * Returns whether an alias that the data doesn't list can only be the model that was found. It can't if the data lists other
 * dates of the same name at other prices, or another version.
 */
export function isSameModel(
  index: NameIndex,
  providerId: string,
  found: ModelPrices,
  name: string,
  { base, kind }: ModelAlias,
): boolean {
  if (kind === "latest" || kind === "preview") return true;
  if (providerId === "aws" && kind === "version") {
    const listed = versionsOf(index, base);
    return listed.length === 0 ? bedrockVersionOf(name) === "1" : listed.includes(bedrockVersionOf(name)!);
  }
  const prices = JSON.stringify(found.prices);
  for (const [other, model] of index.exact) {
    if (model === found || !other.startsWith(base) || other.length === base.length) continue;
    const isDated = aliasesOf(other, providerId).some((one) => one.base === base && one.kind === kind);
    if (isDated && JSON.stringify(model.prices) !== prices) return false;
  }
  return true;
}

function versionsOf(index: NameIndex, base: string): string[] {
  return [...index.exact.keys()].flatMap((name) => {
    const at = name.indexOf(base);
    return at >= 0 && /^-v\d/.test(name.slice(at + base.length)) ? bedrockVersionOf(name) ?? [] : [];
  });
}

/** Names that belong to another model of the same provider than the data says, from a date on, each with its source. */
const RENAMED: readonly { provider: string; name: string; model: string; from: string }[] = [
  // The data leaves the alias with the model of 2024; Mistral moved it to Mistral Large 3 (0.5 and 1.5 USD per million instead
  // of 2 and 6) with its release: https://github.com/mistralai/platform-docs-public/commit/4975b095 and, with Large 4 beside
  // it under names of its own, LiteLLM's map of 2026-11-12.
  { provider: "mistral", name: "mistral-large-latest", model: "mistral-large-2512", from: "2025-12-02" },
  // Moved to Ministral 3 3B (0.1 USD instead of 0.04) by the same commit.
  { provider: "mistral", name: "ministral-3b-latest", model: "ministral-3b-2512", from: "2025-12-02" },
  // "The legacy names … are still accepted": at the prices of Flash, also off-peak, which LiteLLM's map doesn't know.
  // https://api-docs.deepseek.com/quick_start/pricing (2026-11)
  { provider: "deepseek", name: "deepseek-v4-flash-vision-exp", model: "deepseek-flash", from: "2026-09-10" },
];

/** Returns the id of the model that a name means at a time, where the data is wrong. */
export function renamedModel(providerId: string, name: string, at: number): string | undefined {
  const lower = name.toLowerCase();
  return RENAMED.find((one) =>
    one.provider === providerId && one.name === lower && at >= Date.parse(`${one.from}T00:00:00.000Z`)
  )?.model;
}

/** Returns whether the meaning of a name changes with time. */
export function isRenamed(providerId: string, name: string): boolean {
  return RENAMED.some((one) => one.provider === providerId && one.name === name.toLowerCase());
}

/** One reading of a name as that of a model with an addition. */
export interface ModelAlias {
  /** The name without its end. */
  base: string;
  /** `preview` holds only for names that the data matches by their beginning. */
  kind: "latest" | "dated" | "version" | "preview";
}

const YEAR = "20[2-3]\\d";
const MONTH = "(?:0[1-9]|1[0-2])";
const DAY = "(?:0[1-9]|[12]\\d|3[01])";

const LATEST = /^(.+?)[-@]latest$/;
/** `-20251001`, `@20251001`, `-2025-10-01`. */
const DATED = new RegExp(`^(.+?)[-@]${YEAR}(?:${MONTH}${DAY}|-${MONTH}-${DAY})$`);
/** Gemini's `-09-2025`, Mistral's `-2411`, the `-0613` of OpenAI, xAI and DeepSeek. */
const SHORT_DATED = new RegExp(`^(.+?)-(?:${MONTH}-${YEAR}|2[3-9]${MONTH}|${MONTH}${DAY})$`);
/** Gemini's `-001`. */
const GEMINI_VERSION = /^((?:.*\/)?(?:gemini|gemma|text-embedding|text-multilingual-embedding)-.+?)-00[1-9]$/;
/** Bedrock's `-v1:0`, also with a length of the context: `-v1:0:300k`. */
const BEDROCK_VERSION = /^(.+?)-v(\d+)(?::\d+)?(?::\d+k)?$/;
const PREVIEW = new RegExp(`^(.+?)-(?:preview|exp)(?:-${MONTH}-(?:${DAY}|${YEAR}))?$`);

/** Returns the names of the model of which a name, in lower case, may be a dated, versioned or `-latest` alias. */
export function aliasesOf(name: string, providerId: string): ModelAlias[] {
  const aliases: ModelAlias[] = [];
  const add = (kind: ModelAlias["kind"], pattern: RegExp) => {
    const base = pattern.exec(name)?.[1];
    if (base !== undefined) aliases.push({ base, kind });
  };
  add("latest", LATEST);
  add("dated", DATED);
  // The numbers at the end of Claude's names are versions: claude-sonnet-4 and claude-sonnet-4-5 differ.
  if (!name.includes("claude")) add("dated", SHORT_DATED);
  if (providerId === "google") add("version", GEMINI_VERSION);
  if (providerId === "aws") add("version", BEDROCK_VERSION);
  add("preview", PREVIEW);
  return aliases;
}

/** Returns the number of a Bedrock version, or undefined. */
export function bedrockVersionOf(name: string): string | undefined {
  return BEDROCK_VERSION.exec(name)?.[2];
}

const PATH = /^(?:models\/|(?:projects\/.+\/)?publishers\/[^/]+\/models\/|arn:aws[^/]*\/|bedrock\/)/;
const REGION = /^(?:us|eu|apac|jp|au|in|ca|sa|us-gov|global)\./;
const VENDOR = /^[a-z0-9]+\./;

/**
 * Returns a name without the path of a resource, and the names that remain without the region and the vendor of Bedrock; those
 * hold only for names that the data matches anywhere.
 */
export function headsOf(name: string, providerId: string): { name: string; inner: string[] } {
  const own = `${providerId}/`;
  const short = name.startsWith(own) ? name.slice(own.length) : name.replace(PATH, "");
  if (providerId !== "aws") return { name: short, inner: [] };
  const regionless = short.replace(REGION, "");
  return {
    name: short,
    inner: [...new Set([regionless, regionless.replace(VENDOR, "")])].filter((one) => one !== short),
  };
}
