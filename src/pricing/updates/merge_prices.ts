import { PurserError } from "../../kernel/errors.ts";
import type { CatalogData } from "../catalog.ts";
import type { GenaiPrices, LitellmPrices, ModelPrices, PriceData } from "../catalog/price_data.ts";
import {
  changedRates,
  entriesOf,
  entryNameOf,
  type PriceEntry,
  providersOf,
  type RateChange,
  withEntries,
} from "./entries.ts";
import { createPriceSources, type FoundModel } from "../catalog/price_sources.ts";
import { indexNames } from "../catalog/names/model_names.ts";
import { litellmNamesOf, providerIdOfLitellm } from "../catalog/names/provider_names.ts";
import { DAY_MS, startOf } from "../../kernel/clock.ts";
import { cardAt } from "../catalog/card_at.ts";
import { correctedCuts } from "../catalog/deepseek_peak.ts";
import { dailyCutsOf, isList } from "../catalog/prices_at.ts";
import type { Served } from "../price_book.ts";
import { type Rates, type RateTier, tierFor } from "../rates.ts";

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

/**
 * Merges new prices of one source into those in use. A model that is gone, or new and free, or whose name would be billed at a rate that changes
 * by more than three times, keeps its old entry unless it is confirmed; everything else is taken. Names are compared as calls
 * are priced, by both sources: by those that either file lists, at every time and service.
 */
export async function mergePrices(
  used: CatalogData,
  next: PriceData,
  accepted: Accepted,
  { now, pause = () => Promise.resolve() }: { now: number; pause?: () => Promise<void> },
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
    if (!offered.has(name)) keep(name, "it is gone");
  }
  for (const [name, { model }] of accepted === "all" ? [] : offered) {
    if (!old.has(name) && isFree(model)) keep(name, "it is new and costs nothing");
  }
  let data = build();
  const findFaults = createFindFaults(used, now, pause);
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

/** A rate may rise to three times its value, or fall to a third, without a confirmation. */
export const MAX_RATIO = 3n;

/** The services whose rates are compared. */
const SERVICES: readonly Served[] = [
  {},
  ...["flex", "priority", "fast", "batch", "ultrafast"].map((serviceTier) => ({ serviceTier })),
  { speed: "fast" },
  { inferenceGeo: "us" },
];

/**
 * Returns why a call would be priced implausibly by the new prices of a model, or undefined: at some time and for some service,
 * a rate changes by more than {@link MAX_RATIO} either way, or is gone.
 */
export function findImplausible(before: FoundModel, after: FoundModel, now: number): string | undefined {
  if (isSame(before, after)) return undefined;
  for (const at of timesOf([before, after], now)) {
    for (const served of SERVICES) {
      const fault = compareCards(cardAt(before, served, at), cardAt(after, served, at));
      if (fault === undefined) continue;
      const service = Object.values(served)[0];
      return service === undefined ? fault : `${service} ${fault}`;
    }
  }
  return undefined;
}

function isSame(before: FoundModel, after: FoundModel): boolean {
  const textOf = ({ providerId, isOwn, model }: FoundModel) =>
    JSON.stringify([providerId, isOwn, model.id, model.prices, model.price_variants]);
  return textOf(before) === textOf(after);
}

/** Returns times of every period in which a model has other prices. */
function timesOf(models: readonly FoundModel[], now: number): number[] {
  const days = new Set([0, now]);
  const cuts = new Set<number>();
  for (const { providerId, model } of models) {
    const lists = [isList(model.prices) ? model.prices : [], model.price_variants ?? []];
    for (const { constraint } of lists.flat()) {
      if (constraint?.type === "start_date") days.add(Date.parse(`${constraint.start_date}T00:00:00.000Z`));
    }
    for (const cut of [...dailyCutsOf(model), ...correctedCuts(providerId, model)]) cuts.add(cut);
  }
  return [...days].flatMap((day) => [day, ...[...cuts].map((cut) => startOf(day, DAY_MS) + cut)]);
}

function compareCards(before: Rates | null, after: Rates | null): string | undefined {
  // What had no price can have any.
  if (before === null) return undefined;
  if (after === null) return "has no price any more";
  const gone = after.unknown?.find((service) => !before.unknown?.includes(service));
  if (gone !== undefined) return `has no rates for this ${gone} any more`;
  // Without rates of its own, a service has those of the standard, which are compared by themselves.
  if (before.unknown) return undefined;
  const thresholds = new Set([...before.tiers, ...after.tiers].map((tier) => tier.aboveInputTokens));
  for (const threshold of thresholds) {
    const [old, next] = [tierFor(before, threshold + 1), tierFor(after, threshold + 1)].map(ratesOf);
    for (const [part, rate] of Object.entries(old!)) {
      const changed = next![part];
      if (rate == null || !isImplausible(rate, changed)) continue;
      return `${part} ${perMillion(rate)} -> ${changed == null ? "none" : perMillion(changed)}`;
    }
  }
  return undefined;
}

function ratesOf(
  { aboveInputTokens: _tier, isRequestByContext: _fee, details, ...rates }: RateTier,
): Record<string, bigint | null | undefined> {
  return { ...rates, ...details };
}

/** Returns whether a rate is gone, or changes by more than {@link MAX_RATIO} either way. */
export function isImplausible(before: bigint, after: bigint | null | undefined): boolean {
  return after == null || after > before * MAX_RATIO || before > after * MAX_RATIO;
}

/** Formats a rate in USD per million. */
function perMillion(picoUsd: bigint): string {
  return String(Number(picoUsd) / 1e6);
}
