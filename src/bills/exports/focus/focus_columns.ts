import type { ExportCell, ExportColumn } from "../../../contract/exports.ts";
import type { FocusVersion } from "../../../contract/values.ts";

/** The columns of a row, by their names in FOCUS; those that are left out are null. */
export type FocusRow = Record<string, ExportCell>;

/**
 * The columns of the dataset Cost and Usage that are exported, in FOCUS's order, and Purser's own, with `x_`. A version has those that name it
 * or no version: 1.3 has replaced `ProviderName` and `PublisherName`, and 1.4 has removed them (https://focus.finops.org/focus-specification/,
 * read 2026-11-26).
 */
const COLUMNS: readonly [name: string, kind: ExportColumn["kind"], only?: FocusVersion | "per_call"][] = [
  ["BilledCost", "decimal"],
  ["BillingAccountId", "text"],
  ["BillingAccountName", "text"],
  ["BillingCurrency", "text"],
  ["BillingPeriodEnd", "time"],
  ["BillingPeriodStart", "time"],
  ["ChargeCategory", "text"],
  ["ChargeClass", "text"],
  ["ChargeDescription", "text"],
  ["ChargeFrequency", "text"],
  ["ChargePeriodEnd", "time"],
  ["ChargePeriodStart", "time"],
  ["ConsumedQuantity", "decimal"],
  ["ConsumedUnit", "text"],
  ["ContractedCost", "decimal"],
  ["ContractedUnitPrice", "decimal"],
  ["EffectiveCost", "decimal"],
  ["HostProviderName", "text", "1.4"],
  ["InvoiceDetailId", "text", "1.4"],
  ["InvoiceId", "text"],
  ["InvoiceIssuerName", "text"],
  ["ListCost", "decimal"],
  ["ListUnitPrice", "decimal"],
  ["PricingCategory", "text"],
  ["PricingQuantity", "decimal"],
  ["PricingUnit", "text"],
  ["ProviderName", "text", "1.2"],
  ["PublisherName", "text", "1.2"],
  ["RegionId", "text"],
  ["RegionName", "text"],
  ["ServiceCategory", "text"],
  ["ServiceName", "text"],
  ["ServiceProviderName", "text", "1.4"],
  ["ServiceSubcategory", "text"],
  ["SkuId", "text"],
  ["SkuMeter", "text"],
  ["SkuPriceDetails", "text"],
  ["SkuPriceId", "text"],
  ["SubAccountId", "text"],
  ["SubAccountName", "text"],
  ["Tags", "text"],
  ["x_AgentId", "text"],
  ["x_BillingMode", "text"],
  ["x_CallAt", "time", "per_call"],
  ["x_CallId", "text", "per_call"],
  ["x_ConsumedTokens", "integer"],
  ["x_Estimated", "text"],
  ["x_KeyId", "text"],
  ["x_RoundingUsd", "decimal"],
  ["x_RunId", "text", "per_call"],
  ["x_ServiceTier", "text"],
  ["x_SessionId", "text", "per_call"],
  ["x_Unpriced", "text"],
];

/** Returns the columns of a version; with `perCall`, also those of one call. */
export const focusColumns = (version: FocusVersion, perCall: boolean): ExportColumn[] =>
  COLUMNS.filter(([, , only]) => only === undefined || only === version || (perCall && only === "per_call"))
    .map(([name, kind]) => ({ name, kind }));

/** Returns a time as FOCUS writes it: `2026-11-01T00:00:00Z`. */
export const toFocusTime = (at: number): string => `${new Date(at).toISOString().slice(0, 19)}Z`;

/** The service that all rows charge for. */
export const SERVICE = {
  ServiceCategory: "AI and Machine Learning",
  ServiceSubcategory: "Generative AI",
  BillingCurrency: "USD",
} as const;
