import { aliasesOf, bedrockVersionOf, type ModelAlias } from "./model_aliases.ts";
import type { NameIndex } from "./model_names.ts";
import type { ModelPrices } from "../price_data.ts";

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
