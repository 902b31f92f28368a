import type { ModelPrices } from "../price_data.ts";
import { aliasesOf, bedrockVersionOf, fineTunedBaseOf, headsOf, type ModelAlias } from "./model_aliases.ts";
import type { NameIndex } from "./model_names.ts";

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

function matchFineTuned(index: NameIndex, providerId: string, name: string): ModelPrices | undefined {
  const base = fineTunedBaseOf(name);
  return base === undefined || base === name ? undefined : matchName(index, providerId, base, () => true);
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

/** A way of naming a model: by its id, by a name that the data lists beside it, or by an alias of one of them. */
export type MatchKind = "id" | "listed" | "alias";

/** Returns how a name means the model that it was matched with. */
export function kindOfMatch(
  index: NameIndex,
  providerId: string,
  model: ModelPrices,
  name: string,
): MatchKind {
  const lower = name.toLowerCase();
  const names = [lower, headsOf(lower, providerId).name];
  const id = model.id.toLowerCase();
  // Fireworks' "accounts/fireworks/models/glm-5p2" has the id "glm-5p2".
  if (names.some((one) => one === id || one.endsWith(`/${id}`))) return "id";
  return names.some((one) => index.exact.get(one) === model) ? "listed" : "alias";
}
