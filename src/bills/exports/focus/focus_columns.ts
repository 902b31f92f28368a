import type { ExportCell, ExportColumn } from "../../../contract/exports.ts";
import { COUNTED, DIMENSIONS } from "../../../contract/costs/dimensions.ts";
import type { FocusVersion } from "../../../contract/values.ts";
import { toIso } from "../../../kernel/clock.ts";
import { toDecimalText } from "../decimal_text.ts";
import type { Charge } from "./call_charges.ts";
import type { Price } from "./price.ts";

/** The decimals of all amounts: rates are pico-USD. */
const DECIMALS = 12;

const ZERO = toDecimalText(0n, DECIMALS);

/** The service that all rows charge for. */
export const SERVICE = {
  ServiceCategory: "AI and Machine Learning",
  ServiceSubcategory: "Generative AI",
  BillingCurrency: "USD",
} as const;

/** A column: its cells are the same for all charges at one price, or are of one charge. */
interface Column extends ExportColumn {
  ofPrice?: (price: Price) => ExportCell;
  ofCharge?: (charge: Charge) => ExportCell;
  /** The version that has it, or `per_call`; undefined for all. */
  only?: FocusVersion | "per_call" | undefined;
}

const column = <Of extends "ofPrice" | "ofCharge">(of: Of) =>
(
  name: string,
  kind: ExportColumn["kind"],
  cell: NonNullable<Column[Of]>,
  only?: Column["only"],
): Column => ({ name, kind, [of]: cell, only });

const ofPrice = column("ofPrice");
const ofCharge = column("ofCharge");

/** Returns a unit price; that of `power` tokens or requests. */
const unitPrice = (rate: bigint, { power }: Price) => toDecimalText(rate * 10n ** BigInt(power), DECIMALS);

/**
 * The columns of the dataset Cost and Usage that are exported, and Purser's own, with `x_`, by their names as in FOCUS. A version has those that name it
 * or no version: 1.3 has replaced `ProviderName` and `PublisherName`, and 1.4 has removed them (https://focus.finops.org/focus-specification/,
 * read 2026-11-26).
 */
const COLUMNS: readonly Column[] = [
  ofCharge("BilledCost", "decimal", ({ price, cost }) => price.mode === null ? cost : ZERO),
  ofCharge("BillingAccountId", "text", ({ payer, price }) => payer.account ?? price.provider),
  ofPrice("BillingAccountName", "text", () => null),
  ofPrice("BillingCurrency", "text", () => SERVICE.BillingCurrency),
  ofCharge("BillingPeriodEnd", "time", ({ hour }) => hour.periodEnd),
  ofCharge("BillingPeriodStart", "time", ({ hour }) => hour.periodStart),
  ofPrice("ChargeCategory", "text", () => "Usage"),
  ofPrice("ChargeClass", "text", () => null),
  ofPrice("ChargeDescription", "text", ({ provider, model, meter }) => `${provider}:${model} ${meter}`),
  ofPrice("ChargeFrequency", "text", () => "Usage-Based"),
  ofCharge("ChargePeriodEnd", "time", ({ hour }) => hour.end),
  ofCharge("ChargePeriodStart", "time", ({ hour }) => hour.start),
  ofCharge("ConsumedQuantity", "decimal", ({ price, quantity }) => price.isUnpriced ? null : `${quantity}.0`),
  ofPrice("ConsumedUnit", "text", (price) => price.isUnpriced ? null : price.unit),
  ofCharge("ContractedCost", "decimal", ({ cost }) => cost),
  ofPrice(
    "ContractedUnitPrice",
    "decimal",
    (price) => price.isUnpriced ? null : unitPrice(price.rate, price),
  ),
  ofCharge("EffectiveCost", "decimal", ({ price, cost }) => price.mode === "plan" ? ZERO : cost),
  ofPrice("HostProviderName", "text", ({ seller }) => seller.host, "1.4"),
  ofPrice("InvoiceDetailId", "text", () => null, "1.4"),
  ofPrice("InvoiceId", "text", () => null),
  ofPrice("InvoiceIssuerName", "text", ({ seller }) => seller.name),
  ofCharge(
    "ListCost",
    "decimal",
    ({ price, cost, quantity }) =>
      price.listRate === price.rate ? cost : toDecimalText(price.listRate * BigInt(quantity), DECIMALS),
  ),
  ofPrice(
    "ListUnitPrice",
    "decimal",
    (price) => price.isUnpriced && price.listRate === price.rate ? null : unitPrice(price.listRate, price),
  ),
  ofPrice("PricingCategory", "text", ({ isUnpriced }) => isUnpriced ? null : "Standard"),
  ofCharge(
    "PricingQuantity",
    "decimal",
    ({ price, quantity }) => price.isUnpriced ? null : toDecimalText(BigInt(quantity), price.power),
  ),
  ofPrice(
    "PricingUnit",
    "text",
    ({ isUnpriced, power, unit }) => isUnpriced ? null : power === 0 ? unit : `${10 ** power} ${unit}`,
  ),
  ofPrice("ProviderName", "text", ({ seller }) => seller.name, "1.2"),
  ofPrice("PublisherName", "text", ({ developer, seller }) => developer ?? seller.name, "1.2"),
  ofPrice("RegionId", "text", ({ region }) => region),
  ofPrice("RegionName", "text", ({ region }) => region),
  ofPrice("ServiceCategory", "text", () => SERVICE.ServiceCategory),
  ofPrice("ServiceName", "text", ({ seller }) => seller.service),
  ofPrice("ServiceProviderName", "text", ({ seller }) => seller.name, "1.4"),
  ofPrice("ServiceSubcategory", "text", () => SERVICE.ServiceSubcategory),
  ofPrice("SkuId", "text", ({ sku }) => sku),
  ofPrice("SkuMeter", "text", ({ meter }) => meter),
  ofPrice("SkuPriceDetails", "text", ({ details }) => details),
  ofPrice("SkuPriceId", "text", ({ priceId }) => priceId),
  ofCharge("SubAccountId", "text", ({ payer }) => payer.subAccount.id),
  ofCharge("SubAccountName", "text", ({ payer }) => payer.subAccount.name),
  ofCharge("Tags", "text", ({ tags }) => tags),
  ofPrice("x_BillingMode", "text", ({ mode }) => mode),
  ofCharge("x_CallAt", "time", ({ call }) => toIso(call.at), "per_call"),
  ofCharge("x_CallId", "text", ({ call }) => call.callId, "per_call"),
  ofPrice("x_Cause", "text", () => null),
  ofCharge("x_ConsumedTokens", "integer", ({ tokens }) => tokens ?? null),
  ofCharge("x_Estimated", "text", ({ call }) => String(call.isEstimated)),
  ofCharge(
    "x_RoundingUsd",
    "decimal",
    ({ roundingPicoUsd }) => roundingPicoUsd === 0n ? ZERO : toDecimalText(roundingPicoUsd, DECIMALS),
  ),
  ofPrice("x_ServiceTier", "text", ({ serviceTier }) => serviceTier),
  ofPrice("x_Unpriced", "text", ({ isUnpriced }) => String(isUnpriced)),
  ...COUNTED.map((kind) => {
    const name = `x_${kind[0]!.toUpperCase()}${kind.slice(1)}Id`;
    const only = DIMENSIONS[kind].counter === "whole" ? "per_call" : undefined;
    return ofCharge(name, "text", ({ call }) => call[DIMENSIONS[kind].property] ?? null, only);
  }),
].sort((a, b) => a.name < b.name ? -1 : 1);

/** Returns the columns of a version; with `perCall`, also those of one call. */
export const focusColumns = (version: FocusVersion, perCall: boolean): Column[] =>
  COLUMNS.filter(({ only }) => only === undefined || only === version || (perCall && only === "per_call"));

/** Returns a function that makes the rows of charges. */
export function createRows(columns: readonly Column[]): (charge: Charge) => ExportCell[] {
  const own = columns.flatMap(({ ofCharge }, index) => ofCharge ? [[index, ofCharge] as const] : []);
  return (charge) => {
    const { price } = charge;
    const row = (price.cells ??= columns.map(({ ofPrice }) => ofPrice?.(price) ?? null)).slice();
    for (const [index, cell] of own) row[index] = cell(charge);
    return row;
  };
}

/** Returns a time as FOCUS writes it: `2026-11-01T00:00:00Z`. */
export const toFocusTime = (at: number): string => `${new Date(at).toISOString().slice(0, 19)}Z`;
