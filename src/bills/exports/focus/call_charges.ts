import type { ModelCall } from "../../../ledger/mod.ts";
import { valueOf } from "../../../ledger/mod.ts";
import { isTokenPart } from "../../../contract/billed_parts.ts";
import { startInUtc } from "../../../contract/windows.ts";
import { HOUR_MS, toIso } from "../../../kernel/clock.ts";
import { type PriceLine, priceLines, type Rates, tierFor } from "../../../pricing/mod.ts";
import { toDecimalText } from "../decimal_text.ts";
import { type FocusRow, SERVICE, toFocusTime } from "./focus_columns.ts";
import { developerOf, sellerOf } from "./sellers.ts";

/*
 * Calls as charges of FOCUS. The cost of a call is the sum of its parts, each a quantity by a rate, rounded once to nano-USD. A charge is the exact
 * product; what the rounding has changed is in `x_RoundingUsd` of one part, so that EffectiveCost and it add up to the ledger.
 */

/** The decimals of all amounts: rates are pico-USD. */
const DECIMALS = 12;

/** Quantities are priced by 10 to this power: tokens by the million, other counts by the thousand. */
const powerOf = (part: string): number => isTokenPart(part) ? 6 : part === REQUESTS ? 0 : 3;

/** The part of a call whose cost no rate card explains, and of one with a fee by request. */
const REQUESTS = "requests";

/** The part of a call without a price. */
const TOKENS = "tokens";

/** The charge for a part of the calls of an hour that have everything else in common. */
export interface Charge {
  call: ModelCall;
  line: PriceLine;
  rates: Rates | null;
  /** Pico-USD for each by the list; that of `line` unless the provider has stated another cost. */
  listRate: bigint;
  isUnpriced: boolean;
  quantity: bigint;
  /** Undefined for a part that isn't counted in tokens. */
  tokens?: bigint;
  roundingPicoUsd: bigint;
}

/** Sums charges by hour, SKU, key, agent and tags; with `perCall` by call, too. */
export class Charges {
  readonly #charges = new Map<string, Charge>();

  constructor(private readonly isPerCall: boolean) {}

  get size(): number {
    return this.#charges.size;
  }

  /** Returns the charges of the calls so far, and begins anew. */
  take(): Charge[] {
    const all = [...this.#charges.values()];
    this.#charges.clear();
    return all;
  }

  add(call: ModelCall, rates: Rates | null): void {
    const { priced, unpriced, card, listRate } = splitCall(call, rates);
    // A plan is billed by itself: its calls cost nothing beside it.
    const exact = priced.reduce((sum, { quantity, rate }) => sum + BigInt(quantity) * rate!, 0n);
    let rounding = call.planNanoUsd === undefined ? (call.costNanoUsd ?? 0n) * 1_000n - exact : 0n;
    const common = this.#keyOf(call);
    for (const line of [...priced, ...unpriced]) {
      const isUnpriced = line.rate === null;
      const key = `${common}\0${line.model ?? ""}\0${line.part}\0${line.rate}\0${listRate ?? ""}\0${
        isUnpriced ? "" : call.priceId
      }`;
      let charge = this.#charges.get(key);
      if (!charge) {
        charge = {
          call,
          line,
          rates: card,
          listRate: listRate ?? line.rate ?? 0n,
          isUnpriced,
          quantity: 0n,
          roundingPicoUsd: 0n,
        };
        this.#charges.set(key, charge);
      }
      charge.quantity += BigInt(line.quantity);
      const tokens = tokensOf(line, call, card);
      if (tokens !== undefined) charge.tokens = (charge.tokens ?? 0n) + BigInt(tokens);
      charge.roundingPicoUsd += rounding;
      rounding = 0n;
    }
  }

  #keyOf(call: ModelCall): string {
    if (this.isPerCall) return call.callId;
    const {
      at,
      provider,
      model,
      keyId,
      agentId,
      upstreamId,
      serviceTier,
      speed,
      inferenceGeo,
      isEstimated,
      tags,
    } = call;
    return [
      startInUtc("hour", at),
      provider,
      model,
      keyId,
      agentId,
      upstreamId,
      serviceTier,
      speed,
      inferenceGeo,
      isEstimated,
      modeOf(call),
      tags && JSON.stringify(tags),
    ].join("\0");
  }
}

/** Splits a call into parts with a rate, and those without. */
function splitCall(call: ModelCall, rates: Rates | null): {
  priced: PriceLine[];
  unpriced: PriceLine[];
  card: Rates | null;
  listRate?: bigint;
} {
  const { usage, priceSource, listCostNanoUsd } = call;
  const price = valueOf(call);
  const isStated = priceSource === "reported" || priceSource === "provider";
  const lines = rates && !isStated ? priceLines(rates, usage) : [];
  const unpriced = lines.filter(({ rate }) => rate === null);
  if (price === null) {
    const quantity = usage.inputTokens + usage.outputTokens;
    return { priced: [], unpriced: [{ part: TOKENS, quantity, rate: null }], card: null };
  }
  const priced = lines.filter(({ rate }) => rate !== null);
  if (priced.length > 0) return { priced, unpriced, card: rates };
  const listRate = listCostNanoUsd === undefined ? undefined : listCostNanoUsd * 1_000n;
  return { priced: [{ part: REQUESTS, quantity: 1, rate: price * 1_000n }], unpriced, card: null, listRate };
}

/** Returns the tokens of a part; those of the whole call, where its cost has no parts. */
function tokensOf(
  { part, quantity }: PriceLine,
  { usage }: ModelCall,
  card: Rates | null,
): number | undefined {
  if (isTokenPart(part)) return quantity;
  return card === null && (part === REQUESTS || part === TOKENS)
    ? usage.inputTokens + usage.outputTokens
    : undefined;
}

/** Returns how a call is paid: by a plan, or, through a router, to a provider by a key of one's own. */
const modeOf = ({ planNanoUsd, statedReason }: ModelCall): "plan" | "own_key" | null =>
  planNanoUsd !== undefined ? "plan" : statedReason === "own_key" ? "own_key" : null;

/** The times that the charges of one hour have in common. */
interface Hour {
  at: number;
  BillingPeriodStart: string;
  BillingPeriodEnd: string;
  ChargePeriodStart: string;
  ChargePeriodEnd: string;
}

const hourOf = (at: number): Hour => ({
  at,
  BillingPeriodStart: toFocusTime(startInUtc("month", at)),
  BillingPeriodEnd: toFocusTime(startInUtc("month", at, 1)),
  ChargePeriodStart: toFocusTime(at),
  ChargePeriodEnd: toFocusTime(at + HOUR_MS),
});

const NONE = toDecimalText(0n, DECIMALS);

/** The names of who has made a call: of its API key, and of the provider's account and project, where they are known. */
export interface Payer {
  keyName: string | null;
  account: string | null;
  project: string | null;
}

/** Returns a function that makes the rows of charges, in the order of their hours. */
export function createUsageRows(): (charge: Charge, payer: Payer) => FocusRow {
  let hour = hourOf(0);
  return (charge, payer) => {
    const at = startInUtc("hour", charge.call.at);
    if (at !== hour.at) hour = hourOf(at);
    return toUsageRow(charge, payer, hour);
  };
}

function toUsageRow(charge: Charge, { keyName, account, project }: Payer, hour: Hour): FocusRow {
  const { call, line, listRate, isUnpriced, quantity, tokens, roundingPicoUsd } = charge;
  const { provider, keyId, serviceTier, inferenceGeo, tags } = call;
  const model = line.model ?? call.model;
  const seller = sellerOf(provider);
  const mode = modeOf(call);
  const meter = meterOf(line.part);
  const sku = `${provider}/${model}/${line.part}`;
  const counted = isTokenPart(line.part) ? "Tokens" : "Requests";
  const power = powerOf(line.part);
  const rate = line.rate ?? 0n;
  const priced = <Value>(value: Value) => isUnpriced ? null : value;
  const priceOf = (of: bigint) => toDecimalText(of * 10n ** BigInt(power), DECIMALS);
  const price = priced(priceOf(rate));
  const cost = toDecimalText(rate * quantity, DECIMALS);
  // One literal: a spread for each row takes longer than all else.
  return {
    BilledCost: mode === null ? cost : NONE,
    BillingAccountId: account ?? provider,
    BillingCurrency: SERVICE.BillingCurrency,
    BillingPeriodEnd: hour.BillingPeriodEnd,
    BillingPeriodStart: hour.BillingPeriodStart,
    ChargeCategory: "Usage",
    ChargeDescription: `${provider}:${model} ${meter}`,
    ChargeFrequency: "Usage-Based",
    ChargePeriodEnd: hour.ChargePeriodEnd,
    ChargePeriodStart: hour.ChargePeriodStart,
    ConsumedQuantity: priced(toDecimalText(quantity, 0)),
    ConsumedUnit: priced(counted),
    ContractedCost: cost,
    ContractedUnitPrice: price,
    EffectiveCost: mode === "plan" ? NONE : cost,
    HostProviderName: seller.host,
    InvoiceIssuerName: seller.name,
    ListCost: listRate === rate ? cost : toDecimalText(listRate * quantity, DECIMALS),
    ListUnitPrice: listRate === rate ? price : priceOf(listRate),
    PricingCategory: priced("Standard"),
    PricingQuantity: priced(toDecimalText(quantity, power)),
    PricingUnit: priced(power === 0 ? counted : `${10 ** power} ${counted}`),
    ProviderName: seller.name,
    PublisherName: developerOf(model) ?? seller.name,
    RegionId: inferenceGeo ?? null,
    RegionName: inferenceGeo ?? null,
    ServiceCategory: SERVICE.ServiceCategory,
    ServiceName: seller.service,
    ServiceProviderName: seller.name,
    ServiceSubcategory: SERVICE.ServiceSubcategory,
    SkuId: sku,
    SkuMeter: meter,
    SkuPriceDetails: isUnpriced ? null : JSON.stringify(detailsOf(line.part, model, serviceTier)),
    SkuPriceId: isUnpriced ? null : skuPriceOf(sku, charge),
    SubAccountId: project ?? keyId ?? null,
    SubAccountName: project ?? keyName,
    Tags: tags ? JSON.stringify(tags) : "{}",
    x_AgentId: call.agentId,
    x_BillingMode: mode,
    x_CallAt: toIso(call.at),
    x_CallId: call.callId,
    x_ConsumedTokens: tokens === undefined ? null : Number(tokens),
    x_Estimated: String(call.isEstimated),
    x_KeyId: keyId ?? null,
    x_RoundingUsd: roundingPicoUsd === 0n ? NONE : toDecimalText(roundingPicoUsd, DECIMALS),
    x_RunId: call.runId ?? null,
    x_ServiceTier: serviceTier ?? null,
    x_SessionId: call.sessionId ?? null,
    x_Unpriced: String(isUnpriced),
  };
}

/** Returns the id of a price: the SKU, and all that makes the price another one. */
function skuPriceOf(sku: string, { call, line, rates, listRate }: Charge): string {
  const { serviceTier, speed, inferenceGeo, priceId, usage } = call;
  const above = rates ? tierFor(rates, usage.inputTokens).aboveInputTokens : -1;
  return [
    sku,
    serviceTier ?? "standard",
    ...speed ? [speed] : [],
    ...inferenceGeo ? [inferenceGeo] : [],
    ...above >= 0 ? [`above_${above}`] : [],
    rates ? `card_${priceId ?? 0}` : `stated_${line.rate}_${listRate}`,
  ].join("/");
}

/** Returns the name of a part as a meter: `Cache Write 1h Tokens`. */
const meterOf = (part: string): string =>
  part.split("_").map((word) =>
    word === "1h" || word === "12h" ? word : word[0]!.toUpperCase() + word.slice(1)
  ).join(" ");

/**
 * Returns the details of a price. FOCUS 1.5 is to have these keys without `x_` (FOCUS_Spec#2442 and #2606, read 2026-11-26); until
 * then those of a custom kind need it.
 */
function detailsOf(
  part: string,
  model: string,
  serviceTier: string | null | undefined,
): Record<string, string> {
  const developer = developerOf(model);
  const isInput = /^(?:input|cache)_/.test(part);
  const cache = /^cache_(read|write)_/.exec(part)?.[1];
  return {
    x_ModelId: model,
    ...developer !== undefined && { x_ModelDeveloper: developer },
    ...isTokenPart(part) && { x_TokenDirection: isInput ? "Input" : "Output" },
    ...isTokenPart(part) && isInput &&
      { x_TokenCacheAction: cache === undefined ? "Uncached" : cache === "read" ? "Read" : "Write" },
    ...serviceTier != null && { x_ServiceTier: serviceTier },
  };
}
