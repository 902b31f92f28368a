import { PurserError } from "../../kernel/errors.ts";
import type { CatalogData } from "../catalog.ts";
import type { ModelPrices, PriceData } from "../catalog/price_data.ts";
import {
  changedRates,
  entriesOf,
  type PriceEntry,
  providersOf,
  type RateChange,
  withEntries,
} from "./entries.ts";
import { isList } from "../catalog/prices_at.ts";
import { createFindFaults } from "./price_faults.ts";

/** A model whose rates an update changes. */
export interface ChangedModel {
  /** `provider:model`, or LiteLLM's key. */
  model: string;
  rates: RateChange[];
}

/** A change that is not taken until it is confirmed. */
export interface HeldModel extends ChangedModel {
  /** The effect that the update would have on the entry. */
  change: "added" | "changed" | "removed";
  reason: string;
}

/** The difference that an update makes, and the prices after it. */
export interface MergedPrices {
  data: PriceData;
  added: string[];
  changed: ChangedModel[];
  removed: ChangedModel[];
  held: HeldModel[];
}

/** The confirmed entries by name, or all. */
export type Accepted = ReadonlySet<string> | "all";

/** The circumstances of an update. */
export interface MergeContext {
  now: number;
  /** The prices of the release, if others are in use: the changes of many updates must not add up. */
  release?: CatalogData | undefined;
  /** The reasons of the entries of the new file that were left out. */
  refused?: ReadonlyMap<string, string>;
  /** Lets other work of the process run. */
  pause?: () => Promise<void>;
}

/**
 * Merges new prices of one source into those in use. A model that is gone, or new and free, or whose name would be billed at a
 * rate that changes by more than three times, or that is more than three times that of the release, keeps its old entry unless
 * it is confirmed; everything else is taken. Names are compared as calls are priced, by both sources: by those that either file
 * lists, at every time and service.
 */
export async function mergePrices(
  used: CatalogData,
  next: PriceData,
  accepted: Accepted,
  { now, release, refused, pause = () => Promise.resolve() }: MergeContext,
): Promise<MergedPrices> {
  const current = (next.source === "litellm" ? used.litellm : used.genai)!;
  const [old, offered] = [entriesOf(current), entriesOf(next)];
  const merged = new Map(offered);
  const reasons = new Map<string, string>();
  const oldProviders = providersOf(current);
  const providers = new Map([...oldProviders, ...providersOf(next)]);
  const build = () => withEntries(next, merged.values(), providers);
  const keep = (name: string, reason: string): boolean => {
    const entry = old.get(name);
    if (accepted !== "all" && accepted.has(name)) return false;
    if (merged.get(name) === entry || isEqual(merged.get(name), entry)) return false;
    if (entry) merged.set(name, entry);
    else merged.delete(name);
    if (!reasons.has(name)) reasons.set(name, reason);
    return true;
  };

  const wholeProviders = new Set<string>();
  const keepProvider = (id: string, reason: string): boolean => {
    if (wholeProviders.has(id)) return false;
    wholeProviders.add(id);
    const facts = oldProviders.get(id);
    if (facts) providers.set(id, facts);
    else providers.delete(id);
    for (const { name, providerId } of offered.values()) {
      if (providerId === id && merged.delete(name) && !reasons.has(name)) reasons.set(name, reason);
    }
    for (const entry of old.values()) {
      if (entry.providerId !== id) continue;
      merged.delete(entry.name);
      merged.set(entry.name, entry);
    }
    return true;
  };

  for (const name of accepted === "all" ? [] : old.keys()) {
    if (!offered.has(name)) keep(name, refused?.get(name) ?? "it is gone");
  }
  for (const [name, { model }] of accepted === "all" ? [] : offered) {
    if (!old.has(name) && isFree(model)) keep(name, "it is new and costs nothing");
  }
  let data = build();
  const findFaults = createFindFaults(used, { now, release, pause });
  while (accepted !== "all") {
    const open = (await findFaults(data)).filter(({ involved }) =>
      !involved.some((name) => accepted.has(name))
    );
    if (open.length === 0) break;
    const kept = open.map(({ involved, reason }) => involved.map((name) => keep(name, reason)).some(Boolean));
    if (!kept.some(Boolean)) {
      // The order of models with one name, or the models that a provider offers of another one, have changed.
      const whole = open.flatMap(({ providerIds, reason }) =>
        providerIds.map((id) => keepProvider(id, reason))
      );
      if (!whole.some(Boolean)) {
        throw new PurserError(
          "conflict",
          `Cannot take the prices: ${open[0]!.reason}; accept all to take them`,
        );
      }
    }
    data = build();
  }
  return { data, ...differenceOf(old, offered, merged, reasons) };
}

/** Returns true for prices of 0 alone: they may be free or unknown. */
function isFree({ prices, price_variants: variants = [] }: ModelPrices): boolean {
  const tables = isList(prices) ? prices.map((one) => one.prices) : [prices];
  return [...tables, ...variants.map((one) => one.prices)].every((table) =>
    Object.values(table).every((price) =>
      typeof price === "number"
        ? price === 0
        : price.base === 0 && price.tiers.every((tier) => tier.price === 0)
    )
  );
}

const isEqual = (a: PriceEntry | undefined, b: PriceEntry | undefined) =>
  JSON.stringify(a?.value) === JSON.stringify(b?.value);

function differenceOf(
  old: ReadonlyMap<string, PriceEntry>,
  offered: ReadonlyMap<string, PriceEntry>,
  merged: ReadonlyMap<string, PriceEntry>,
  reasons: ReadonlyMap<string, string>,
): Omit<MergedPrices, "data"> {
  const names = [...new Set([...old.keys(), ...offered.keys()])].sort();
  const of = (name: string, entry: PriceEntry | undefined): ChangedModel => ({
    model: name,
    rates: changedRates(old.get(name)?.model, entry?.model),
  });
  const held = names.filter((name) => !isEqual(merged.get(name), offered.get(name)));
  const taken = names.filter((name) => !held.includes(name));
  return {
    added: taken.filter((name) => !old.has(name)),
    changed: taken.filter((name) => old.has(name) && merged.has(name)).map((name) =>
      of(name, merged.get(name))
    )
      .filter(({ rates }) => rates.length > 0),
    removed: taken.filter((name) => !merged.has(name)).map((name) => of(name, undefined)),
    held: held.map((name) => ({
      ...of(name, offered.get(name)),
      change: !old.has(name) ? "added" : offered.has(name) ? "changed" : "removed",
      reason: reasons.get(name)!,
    })),
  };
}
