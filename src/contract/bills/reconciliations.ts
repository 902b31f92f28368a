import { z } from "@hono/zod-openapi";
import { Count, id, Time, Usd } from "../parts.ts";
import { CAUSE_NAMES, MATCH_LEVELS, PERIOD_STATES, REMEDIES } from "./causes.ts";

/** The wire schemas of comparisons of bills with the ledger, and of the months that are closed. */

export const ReconciliationId = id("rec_01k9qv3v6a5c7e9g1j3m5p7r9t");
export const BillMonth = z.string().regex(/^\d{4}-(0[1-9]|1[0-2])$/, "must be a month, such as 2026-10")
  .openapi({ example: "2026-10" });
export const SourceName = z.string().regex(/^[a-z][a-z0-9-]{0,31}$/, "must be the name of a source of bills")
  .openapi({ example: "anthropic" });
const Account = z.string().max(200).openapi({
  description: "The provider's account; all of them if it is left out",
});

const month = { source: SourceName, month: BillMonth, account: Account.optional() };

export const ReconciliationBody = z.strictObject({
  ...month,
  limit_usd: z.number().min(0).max(1_000_000_000).optional().openapi({
    description: "What may stay unexplained; default: what rounding may make",
  }),
  correct: z.boolean().optional().openapi({
    description:
      "Corrects the estimates that the bill proves to be others, each by an entry that can be undone",
  }),
}).openapi("ReconciliationBody");
export type ReconciliationBody = z.infer<typeof ReconciliationBody>;

const share = z.number().min(0).nullable().openapi({
  description: "From 0 to 1; null of nothing",
  example: 0.9981,
});

const ExplainedCause = z.object({
  cause: z.enum(CAUSE_NAMES),
  amount_usd: Usd.openapi({ description: "Positive where the bill has more" }),
  variances: Count,
  remedy: z.enum(REMEDIES),
  advice: z.string(),
}).openapi("ExplainedCause");

export const Reconciliation = z.object({
  reconciliation_id: ReconciliationId,
  source: SourceName,
  account: z.string().nullable(),
  month: BillMonth,
  state: z.enum(PERIOD_STATES).openapi({ description: "That of the month, now" }),
  final_on: z.iso.date().openapi({ description: "From this day on the provider's bill no longer changes" }),
  is_final: z.boolean(),
  mapping: Count.openapi({ description: "The version of the names of the source" }),
  lines: Count,
  calls: Count,
  bill_usd: Usd,
  ledger_usd: Usd,
  difference_usd: Usd,
  unexplained_usd: Usd.openapi({ description: "The sum of the sizes of what nothing explains" }),
  limit_usd: Usd,
  is_within_limit: z.boolean(),
  split: z.object({ volume_usd: Usd, price_usd: Usd, other_usd: Usd, rounding_usd: Usd }).openapi({
    description:
      "The difference in parts: other quantities at the ledger's price, other prices, lines of no calls, and rounding",
  }),
  causes: z.array(ExplainedCause).openapi({
    description: "They add up to the difference; the largest first",
  }),
  coverage: z.object({
    in_scope_usd: Usd.openapi({ description: "Usage of keys that the ledger knows" }),
    matched_usd: Usd,
    of_scope: share,
    of_account: share.openapi({ description: "Of all of the bill; shows what passes Purser by" }),
    levels: z.object(
      Object.fromEntries(MATCH_LEVELS.map((level) => [level, Usd])) as Record<
        typeof MATCH_LEVELS[number],
        typeof Usd
      >,
    ),
    confirmed_usd: Usd.openapi({ description: "What the ledger has and the bill confirms" }),
    of_ledger: share,
  }),
  bypass: z.array(z.object({ credential: z.string().nullable(), amount_usd: Usd, cells: Count })).openapi({
    description: "What has passed Purser by, by the provider's id of the key",
  }),
  unnamed_keys: Count.openapi({ description: "Keys of the ledger whose id at the provider is not known" }),
  corrections: z.object({ proposed: Count, applied: Count, undone: Count }).openapi({
    description: "Estimates that the bill proves to be others",
  }),
  others: z.array(z.object({
    currency: z.string().openapi({ description: "Or `equivalent`, of what a plan pays for" }),
    lines: Count,
    amount: z.string().openapi({ example: "12.5" }),
  })).openapi({ description: "Amounts that are no part of a sum" }),
  rounding_bound_usd: Usd,
  created_at: Time,
}).openapi("Reconciliation");
export type Reconciliation = z.infer<typeof Reconciliation>;

export const ReconciliationVariance = z.object({
  cause: z.enum(CAUSE_NAMES),
  from: Time,
  to: Time,
  model: z.string().nullable(),
  credential: z.string().nullable(),
  project: z.string().nullable(),
  service_tier: z.string().nullable(),
  region: z.string().nullable(),
  speed: z.string().nullable(),
  context: z.string().nullable(),
  part: z.string().nullable(),
  level: z.enum(MATCH_LEVELS),
  quantity: z.string().openapi({ description: "Positive where the bill has more", example: "-1200" }),
  amount_usd: Usd,
  cells: Count.openapi({ description: "The buckets that it is the sum of" }),
  evidence: z.string(),
  lines: z.string().openapi({ description: "The path of its lines" }),
  calls: z.string().openapi({ description: "The path of the costs of its calls" }),
}).openapi("ReconciliationVariance");
export type ReconciliationVariance = z.infer<typeof ReconciliationVariance>;

export const ReconciliationDetail = z.object({
  ...Reconciliation.shape,
  variances: z.array(ReconciliationVariance).openapi({ description: "At most 500, the largest first" }),
}).openapi("ReconciliationDetail");
export type ReconciliationDetail = z.infer<typeof ReconciliationDetail>;

export const BillPeriod = z.object({
  source: SourceName,
  account: z.string().nullable(),
  month: BillMonth,
  state: z.enum(PERIOD_STATES),
  reconciliation_id: ReconciliationId.nullable().openapi({
    description: "As it was closed, else the latest",
  }),
  bill_usd: Usd.nullable(),
  ledger_usd: Usd.nullable(),
  final_on: z.iso.date().nullable().openapi({ description: "Null until it is compared" }),
  corrections: z.array(z.object({ month: BillMonth, bill_usd: Usd, ledger_usd: Usd })).openapi({
    description: "What has changed of closed months, and counts in this one",
  }),
  changed_at: Time.nullable(),
  changed_by: z.string().nullable(),
  reason: z.string().nullable(),
}).openapi("BillPeriod");
export type BillPeriod = z.infer<typeof BillPeriod>;

export const PeriodBody = z.strictObject(month).openapi("PeriodBody");
export const ReopenBody = z.strictObject({
  ...month,
  reason: z.string().trim().min(1).max(500).openapi({ description: "It is kept in the audit log" }),
}).openapi("ReopenBody");
