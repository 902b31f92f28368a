import { DAY_MS, startOf } from "../../kernel/clock.ts";
import { cardAt } from "../catalog/card_at.ts";
import { correctedCuts } from "../catalog/deepseek_peak.ts";
import type { FoundModel } from "../catalog/price_sources.ts";
import { dailyCutsOf, isList } from "../catalog/prices_at.ts";
import type { Served } from "../prices.ts";
import { type Rates, type RateTier, tierFor } from "../rates.ts";

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
  { aboveInputTokens: _, details, ...rates }: RateTier,
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
