import type { ExportCell } from "../../../contract/exports.ts";
import { isTokenPart } from "../../../contract/billed_parts.ts";
import type { ModelCall } from "../../../ledger/mod.ts";
import type { PriceLine } from "../../../pricing/mod.ts";
import { developerOf, type Seller, sellerOf } from "./sellers.ts";

/** The part of a call whose cost no rate card explains, and of one with a fee by request. */
export const REQUESTS = "requests";

/** The facts that the charges for a part of calls at one price have in common. */
export interface Price {
  provider: string;
  /** The model that the part was done by. */
  model: string;
  developer: string | undefined;
  seller: Seller;
  /** The name of the part: `Cache Write 1h Tokens`. */
  meter: string;
  unit: "Tokens" | "Requests";
  /** Quantities are priced by 10 to this power: tokens by the million, other counts by the thousand. */
  power: number;
  isUnpriced: boolean;
  /** Pico-USD for each. */
  rate: bigint;
  /** By the list; that of `rate` unless the provider has stated another cost. */
  listRate: bigint;
  /** The way in which the calls are paid: by a plan, or, through a router, to a provider by a key of one's own. */
  mode: "plan" | "own_key" | null;
  serviceTier: string | null;
  region: string | null;
  sku: string;
  /** Null without a price. */
  priceId: string | null;
  details: string | null;
  /** The cells of its rows, where they don't depend on the charge. */
  cells?: ExportCell[];
}

/** Returns how a call is paid. */
export const modeOf = ({ planNanoUsd, statedReason }: ModelCall): Price["mode"] =>
  planNanoUsd !== undefined ? "plan" : statedReason === "own_key" ? "own_key" : null;

/** Makes the price of a part of a call. `tier` is the lowest context of the tier of its rate card; undefined for a cost that was stated. */
export function toPrice(
  call: ModelCall,
  { part, rate, model = call.model }: PriceLine,
  { listRate = rate ?? 0n, tier }: { listRate?: bigint | undefined; tier?: number | undefined },
): Price {
  const { provider, serviceTier, speed, inferenceGeo } = call;
  const isUnpriced = rate === null;
  const sku = `${provider}/${model}/${part}`;
  const isTokens = isTokenPart(part);
  return {
    provider,
    model,
    developer: developerOf(model),
    seller: sellerOf(provider),
    meter: part.split("_").map((word) => /^\d/.test(word) ? word : word[0]!.toUpperCase() + word.slice(1))
      .join(" "),
    unit: isTokens ? "Tokens" : "Requests",
    power: isTokens ? 6 : part === REQUESTS ? 0 : 3,
    isUnpriced,
    rate: rate ?? 0n,
    listRate,
    mode: modeOf(call),
    serviceTier: serviceTier ?? null,
    region: inferenceGeo ?? null,
    sku,
    // All that makes the price of the SKU another one.
    priceId: isUnpriced ? null : [
      sku,
      serviceTier ?? "standard",
      ...speed ? [speed] : [],
      ...inferenceGeo ? [inferenceGeo] : [],
      ...tier !== undefined && tier >= 0 ? [`above_${tier}`] : [],
      tier === undefined ? `stated_${rate}_${listRate}` : `card_${call.priceId ?? 0}`,
    ].join("/"),
    details: isUnpriced ? null : JSON.stringify(detailsOf(part, model, serviceTier)),
  };
}

/**
 * Returns the details of a price. FOCUS 1.5 is to have these keys without `x_` (FOCUS_Spec#2442 and #2606, read 2026-11-26); until
 * then those of a custom kind need it.
 */
function detailsOf(part: string, model: string, serviceTier: string | null | undefined) {
  const isInput = /^(?:input|cache)_/.test(part);
  const cache = /^cache_(read|write)_/.exec(part)?.[1];
  const action = cache === undefined ? "Uncached" : cache === "read" ? "Read" : "Write";
  return {
    x_ModelId: model,
    x_ModelDeveloper: developerOf(model),
    x_TokenDirection: isTokenPart(part) ? isInput ? "Input" : "Output" : undefined,
    x_TokenCacheAction: isTokenPart(part) && isInput ? action : undefined,
    x_ServiceTier: serviceTier ?? undefined,
  };
}
