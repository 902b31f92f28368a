import type { CatalogData } from "../catalog.ts";
import type { PriceData } from "../catalog/price_data.ts";
import { createPriceSources, type FoundModel } from "../catalog/price_sources.ts";
import { findImplausible } from "./compare_cards.ts";
import { entryNameOf } from "./entries.ts";
import { addListedNames } from "./listed_names.ts";

/** A name whose calls the new prices would bill implausibly. */
export interface Fault {
  /** The entries of the updated source that decide its price. */
  involved: string[];
  providerIds: string[];
  reason: string;
}

/** Finds the faults of new prices; it is called again while entries are held back. */
export type FindFaults = (data: PriceData) => Promise<Fault[]>;

/** Compares prices with those in use, by both sources. `pause` lets other work of the process run. */
export function createFindFaults(used: CatalogData, now: number, pause: () => Promise<void>): FindFaults {
  const before = createPriceSources(used);
  const found = new Map<string, FoundModel | undefined>();
  const oldNames = new Map<string, Set<string>>();
  addListedNames(used, oldNames);

  function findBefore(provider: string, name: string): FoundModel | undefined {
    const key = `${provider}\n${name}`;
    if (!found.has(key)) found.set(key, before.find(provider, name, now));
    return found.get(key);
  }

  return async (data) => {
    const after = createPriceSources({ ...used, [data.source === "litellm" ? "litellm" : "genai"]: data });
    const names = new Map([...oldNames].map(([id, listed]) => [id, new Set(listed)]));
    addListedNames(data.source === "litellm" ? { litellm: data } : { genai: data }, names);
    const compared = new Map<string, string | undefined>();
    const faults: Fault[] = [];
    for (const [provider, listed] of names) {
      await pause();
      for (const name of listed) {
        const old = findBefore(provider, name);
        if (old === undefined) continue;
        const next = after.find(provider, name, now);
        const fault = next === undefined ? "has no price any more" : compareOnce(old, next, now, compared);
        if (fault === undefined) continue;
        const both = next === undefined ? [old] : [old, next];
        faults.push({
          involved: [
            ...new Set(both.filter(({ source }) => source.startsWith(data.source)).map(entryNameOf)),
          ],
          providerIds: [...new Set([provider, ...both.map(({ providerId }) => providerId)])],
          reason: `${provider}:${name} ${fault}`,
        });
      }
    }
    // The reason of an entry is shown by the provider's own name of it.
    const isOwn = ({ involved, providerIds: [provider] }: Fault) =>
      involved.some((name) => name.startsWith(`${provider}:`));
    return faults.sort((a, b) => Number(isOwn(b)) - Number(isOwn(a)));
  };
}

/** Many names mean one model, so that each pair of models is compared once. */
function compareOnce(
  old: FoundModel,
  next: FoundModel,
  now: number,
  compared: Map<string, string | undefined>,
): string | undefined {
  const pair = [old, next].map((one) => `${one.isOwn} ${one.source.split("@")[0]} ${entryNameOf(one)}`).join(
    "\n",
  );
  if (!compared.has(pair)) compared.set(pair, findImplausible(old, next, now));
  return compared.get(pair);
}
