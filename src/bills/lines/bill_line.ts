import type { BillCategory, BillSeries } from "../../contract/values.ts";

/**
 * One line of a provider's bill, in the form that all sources are read into: one priced part, in one bucket of time, with one value of
 * each dimension. A record with several counts is several lines.
 *
 * A fact that the source doesn't state is undefined, never 0. Quantities and amounts are decimal texts, exactly as they were stated but for
 * the unit: they may have more digits than nano-USD.
 */
export interface BillLine {
  series: BillSeries;
  category: BillCategory;
  /** The bucket, in milliseconds since the epoch: [startsAt, endsAt). Both are the same for a line of one call. */
  startsAt: number;
  endsAt: number;
  /** The provider's id of the answer, of a line of one call. */
  responseId?: string;
  /** As the bill names it. */
  model?: string;
  /**
   * The part that is billed, by the names of `priceLines()` in pricing/: `input_tokens` are those that no other part has,
   * `requests` is the number of requests. Undefined if the source doesn't say, or if it is no part of a call.
   */
  part?: string;
  /** The provider's own name or number of what is billed. */
  sku?: string;
  /** The provider's id of the credential: `apikey_…`, `key_…`, a principal. */
  credential?: string;
  /** The provider's workspace or project. */
  project?: string;
  /** The person or service account, as the provider names it. */
  actor?: string;
  serviceTier?: string;
  region?: string;
  speed?: string;
  /** The class of the context window, as the provider names it: `0-200k`. */
  context?: string;
  isBatch?: boolean;
  /** Dimensions without a field above, by the names of the source. */
  other?: Readonly<Record<string, string>>;
  quantity?: string;
  /** `tokens`, `requests`, `searches`, `hours`, … */
  unit?: string;
  /** The amount to be paid, after discounts, in whole units of `currency`: 0.0288384 for 2.88384 cents. */
  amount?: string;
  /** The same before discounts. */
  listAmount?: string;
  /** ISO 4217 in upper case; an amount in another one than USD is kept and shown, and never part of a sum. */
  currency?: string;
  /** True for the price by the API of calls that a subscription pays for: it is never billed. */
  isEquivalent?: boolean;
}
