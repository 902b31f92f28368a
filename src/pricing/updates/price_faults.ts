import { cardAt, type SourcedCard, sourcedCardAt } from "../catalog/card_at.ts";
import type { CatalogData } from "../catalog.ts";
import { correctedCuts } from "../catalog/deepseek_peak.ts";
import { indexNames } from "../catalog/names/model_names.ts";
import { litellmNamesOf, providerIdOfLitellm } from "../catalog/names/provider_names.ts";
import type { GenaiPrices, LitellmPrices, PriceData } from "../catalog/price_data.ts";
import { createPriceSources, type FoundModel } from "../catalog/price_sources.ts";
import { dailyCutsOf, isList } from "../catalog/prices_at.ts";
import type { Served } from "../price_book.ts";
import { type Rates, type RateTier, tierFor } from "../rates.ts";
import { startOf } from "../../contract/windows.ts";

/** A name whose calls the new prices would bill implausibly. */
export interface Fault {
  /** The entries of the updated source that decide its price. */
  involved: string[];
  providerIds: string[];
  reason: string;
}

/** Finds the faults of new prices; it is called again while entries are held back. */
export type FindFaults = (data: PriceData) => Promise<Fault[]>;

/** Compares prices with those in use, and with those of the release if they are others, by both sources. */
export function createFindFaults(
  used: CatalogData,
  { now, release, pause }: { now: number; release: CatalogData | undefined; pause: () => Promise<void> },
): FindFaults {
  const findBefore = cachedFind(used, now);
  const findReleased = release && cachedFind(release, now);
  const oldNames = new Map<string, Set<string>>();
  addListedNames(used, oldNames);

  return async (data) => {
    const after = createPriceSources({ ...used, [data.source === "litellm" ? "litellm" : "genai"]: data });
    const names = new Map([...oldNames].map(([id, listed]) => [id, new Set(listed)]));
    addListedNames(data.source === "litellm" ? { litellm: data } : { genai: data }, names);
    const compared = new Map<string, string | undefined>();
    const faults: Fault[] = [];
    const check = (provider: string, name: string): { isOther: boolean } => {
      const old = findBefore(provider, name);
      if (old === undefined) return { isOther: false };
      const next = after.find(provider, name, now);
      const isOther = next !== undefined &&
        (identityOf(old) !== identityOf(next) || next.replaces !== undefined);
      const released = findReleased?.(provider, name);
      const fault = next === undefined
        ? "has no price any more"
        : compareOnce({ old, next, released }, now, compared);
      if (fault === undefined) return { isOther };
      const found = next === undefined ? [old] : [old, next];
      const sourced = found.flatMap((one) => one.other ? [one, one.other] : [one]);
      faults.push({
        involved: [
          ...new Set(
            sourced.filter(({ source }) => source.startsWith(data.source)).flatMap(({ entries }) => entries),
          ),
        ],
        providerIds: [...new Set([provider, ...found.map(({ providerId }) => providerId)])],
        reason: `${provider}:${name} ${fault}`,
      });
      return { isOther };
    };
    let checked = 0;
    for (const [provider, listed] of names) {
      for (const name of listed) {
        if (checked++ % NAMES_AT_ONCE === 0) await pause();
        // Where another entry has the price, or another source, aliases of the name may have other prices, or none.
        if (check(provider, name).isOther) { for (const end of ALIASES) check(provider, name + end); }
      }
    }
    // The reason of an entry is shown by the provider's own name of it.
    const isOwn = ({ involved, providerIds: [provider] }: Fault) =>
      involved.some((name) => name.startsWith(`${provider}:`));
    return faults.sort((a, b) => Number(isOwn(b)) - Number(isOwn(a)));
  };
}

function cachedFind(
  data: CatalogData,
  now: number,
): (provider: string, name: string) => FoundModel | undefined {
  const sources = createPriceSources(data);
  const found = new Map<string, FoundModel | undefined>();
  return (provider, name) => {
    const key = `${provider}\n${name}`;
    if (!found.has(key)) found.set(key, sources.find(provider, name, now));
    return found.get(key);
  };
}

/** A model in the prices in use, in the new ones, and in those of the release. */
interface Versions {
  old: FoundModel;
  next: FoundModel;
  released: FoundModel | undefined;
}

/** Many names mean one model, so that each pair of models is compared once. */
function compareOnce(
  versions: Versions,
  now: number,
  compared: Map<string, string | undefined>,
): string | undefined {
  const { old, next, released } = versions;
  const key = [old, next, ...released ? [released] : []].map(identityOf).join("\n");
  if (!compared.has(key)) compared.set(key, findImplausible(versions, now));
  return compared.get(key);
}

function identityOf({ isOwn, entries, source, other, replaces }: FoundModel): string {
  return JSON.stringify([isOwn, source.split("@")[0], entries, other?.entries, other?.isFirst, replaces]);
}

/** The number of names that are checked at once, which takes some ms: no other request is answered meanwhile. */
const NAMES_AT_ONCE = 100;

/** A dated alias of a name that the data lists by its beginning. */
const ANY_DATE = "2026-01-01";

/** The ends of names that no data lists. */
const ALIASES = ["-2020-01-01", "-latest"];

/** Adds the names that the data lists for each provider, also those of another one's models that it offers. */
function addListedNames({ genai, litellm }: CatalogData, names: Map<string, Set<string>>): void {
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
const MAX_RATIO = 3n;

/** The services whose rates are compared. */
const SERVICES: readonly Served[] = [
  {},
  ...["flex", "priority", "fast", "batch", "ultrafast"].map((serviceTier) => ({ serviceTier })),
  { speed: "fast" },
  { inferenceGeo: "us" },
];

/**
 * Returns why a call would be priced implausibly by the new prices of a model, or undefined: at some time and for some service,
 * a rate changes by more than {@link MAX_RATIO} either way, is gone, or moves further away from the release's than that.
 */
function findImplausible({ old, next, released }: Versions, now: number): string | undefined {
  if (isSame(old, next)) return undefined;
  for (const at of timesOf([old, next], now)) {
    for (const served of SERVICES) {
      const [before, after] = [sourcedCardAt(old, served, at), sourcedCardAt(next, served, at)];
      const isKnown = released !== undefined && before !== null && after !== null;
      const fault = compareCards(before, after) ??
        (isKnown ? compareWithRelease(cardAt(released, served, at), before.rates, after.rates) : undefined);
      if (fault === undefined) continue;
      const service = Object.values(served)[0];
      return service === undefined ? fault : `${service} ${fault}`;
    }
  }
  return undefined;
}

function isSame(before: FoundModel, after: FoundModel): boolean {
  const textOf = ({ providerId, isOwn, model, other }: FoundModel) =>
    JSON.stringify([providerId, isOwn, model, other?.model, other?.isFirst]);
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
  return [...days].flatMap((day) => [day, ...[...cuts].map((cut) => startOf("day", day) + cut)]);
}

function compareCards(before: SourcedCard | null, after: SourcedCard | null): string | undefined {
  // What had no price can have any.
  if (before === null) return undefined;
  if (after === null) return "has no price any more";
  const { rates: old } = before;
  const gone = after.rates.unknown?.find((service) => !old.unknown?.includes(service));
  if (gone !== undefined) return `has no rates for this ${gone} any more`;
  // Without rates of its own, a service has those of the standard, which are compared by themselves.
  if (old.unknown) return undefined;
  const listed = [before.listed(), after.listed()];
  for (const { part, from, to } of ratePairs(old, after.rates)) {
    const name = PARTS[part] ?? part;
    const [wasListed, isListed] = listed.map((each) => MAIN_PARTS.has(part) || each.has(name));
    // Rates that follow from other rates by a rule are compared as those.
    if (!wasListed && !isListed) continue;
    // A first price of a cache or a detail replaces the price of a rule, which is mostly higher.
    const isFault = wasListed ? isImplausible(from, to) : to === 0n && from > 0n || isMore(from, to);
    if (isFault) {
      return changeText(part, from, to);
    }
  }
  return undefined;
}

/** The parts whose rates are never those of a rule. */
const MAIN_PARTS = new Set(["input", "output"]);

/** The names of the parts of a card, where they are not those of a usage. */
const PARTS: Readonly<Record<string, string>> = {
  reasoning: "reasoning_tokens",
  cacheRead: "cache_read_tokens",
  cacheWrite: "cache_write_tokens",
  cacheWrite1h: "cache_write_1h_tokens",
  request: "requests",
};

/** Returns the fault of a rate that an update moves further away from the release's than an update may by itself. */
function compareWithRelease(released: Rates | null, old: Rates, next: Rates): string | undefined {
  if (released === null || released.unknown) return undefined;
  const present = new Map([...ratePairs(released, old)].map(({ key, to }) => [key, to]));
  for (const { key, part, from, to } of ratePairs(released, next)) {
    const now = present.get(key);
    if (to == null || now == null || to === now || !isImplausible(from, to)) continue;
    if (distance(from, to) > distance(from, now)) return `${changeText(part, from, to)} since the release`;
  }
  return undefined;
}

/** Returns the larger of two ratios, as a number to compare. */
function distance(a: bigint, b: bigint): number {
  return a === 0n || b === 0n ? Infinity : Math.max(Number(a) / Number(b), Number(b) / Number(a));
}

/** Yields the rates of two cards, of every part that the first has, below and above each threshold of either. */
function* ratePairs(
  before: Rates,
  after: Rates,
): Iterable<{ key: string; part: string; from: bigint; to: bigint | null | undefined }> {
  const thresholds = new Set([...before.tiers, ...after.tiers].map((tier) => tier.aboveInputTokens));
  for (const threshold of thresholds) {
    const [old, next] = [tierFor(before, threshold + 1), tierFor(after, threshold + 1)].map(ratesOf);
    for (const [part, from] of Object.entries(old!)) {
      if (from != null) yield { key: `${threshold} ${part}`, part, from, to: next![part] };
    }
  }
}

function ratesOf(
  { aboveInputTokens: _, sources: _own, isRequestByContext: _fee, details, ...rates }: RateTier,
): Record<string, bigint | null | undefined> {
  return { ...rates, ...details };
}

/** Returns whether a rate is gone, or changes by more than {@link MAX_RATIO} either way. */
function isImplausible(before: bigint, after: bigint | null | undefined): boolean {
  return after == null || isMore(before, after) || before > after * MAX_RATIO;
}

function isMore(before: bigint, after: bigint | null | undefined): boolean {
  return after == null || after > before * MAX_RATIO;
}

const changeText = (part: string, from: bigint, to: bigint | null | undefined) =>
  `${part} ${perMillion(from)} -> ${to == null ? "none" : perMillion(to)}`;

/** Formats a rate in USD per million. */
function perMillion(picoUsd: bigint): string {
  return String(Number(picoUsd) / 1e6);
}
