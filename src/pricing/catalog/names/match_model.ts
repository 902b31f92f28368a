import { aliasesOf, headsOf, type ModelAlias } from "./model_aliases.ts";
import type { NameIndex } from "./model_names.ts";
import type { ModelPrices } from "../price_data.ts";
import { isSameModel } from "./same_model.ts";

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
