import type { StatedCostReason } from "../contract/costs/stated_costs.ts";
import type { NanoUsd } from "../kernel/money.ts";
import type { UsageCost } from "./price_usage.ts";
import type { Rates } from "./rates.ts";
import type { Statement } from "./stated/statement.ts";
import type { Usage } from "./usage/usage.ts";
import type { WorstCaseRates } from "./worst_case.ts";

/** A price to look up. `provider` and `model` are Purser's names: `openai` and `gpt-4o-mini`. */
export interface PriceQuery {
  provider: string;
  model: string;
  /** The time of the call, in milliseconds since the epoch; prices change by date and some by the hour. */
  at: number;
}

/** The service that a provider reports of a call; each property may have its own rates. */
export interface Served {
  /** The model, if another one has answered than the one that was called: a fallback of Anthropic's. */
  model?: string | undefined;
  /** `flex`, `priority`, `batch`, …, or the name of the standard tier. */
  serviceTier?: string | undefined;
  /** Anthropic: `fast` or `standard`. */
  speed?: string | undefined;
  /** The place where it was served: `us` or `global` of Anthropic, the location of Vertex, the region of Bedrock or Azure. */
  inferenceGeo?: string | undefined;
}

/** The cost of a call and the source of its price. */
export interface Price extends UsageCost {
  /** `database`, `config`, `genai-prices@<date>`, `litellm@<date>`, `demo`, `provider` or `none`. */
  priceSource: string;
  /** The rate card of the cost; null if no price is known. */
  rates: Rates | null;
  /** The cost by the rate card, if `costNanoUsd` is the cost that the provider has stated. */
  listCostNanoUsd?: NanoUsd;
  /** The cost that the provider has stated, if it isn't the one that is booked. */
  statedNanoUsd?: NanoUsd | undefined;
  /** The reason for that. */
  statedReason?: StatedCostReason | undefined;
}

/**
 * All known prices, in this order: the rows of the database, the overrides of the config, the `demo` provider, the catalog, whose
 * rates contracts change. Models are matched exactly,
 * or by a dated or `-latest` alias; all others are unpriced.
 *
 * A call that was served at another tier, speed or region than the standard one is priced by the override with that
 * `service_tier`, else by the catalog's rates for it; without any, at the standard rates and as partly priced.
 */
export interface PriceBook {
  /**
   * Prices a call: by a row of the config, else by the bill that its answer states, where the provider documents one, else by
   * the catalog. Throws `invalid` for a contradictory usage.
   */
  price(input: PriceQuery & Served & { usage: Usage; statement?: Statement | undefined }): Price;
  /** Adds the region that the address of the provider names, for a call to it whose answer names no region. */
  located<Q extends PriceQuery & Served>(query: Q): Q;
  /** Returns the prices of a model by its contract, or null if they aren't known; `complete` adds rates before the contract. */
  rates(input: PriceQuery & Served, complete?: (card: Rates) => Rates): Rates | null;
  /** Returns the priced name that is nearest to a model without a price, as `provider:model`. */
  nearest?(input: Pick<PriceQuery, "provider" | "model">): string | undefined;
  /**
   * Returns the highest prices of the tokens of a call of at most `inputTokens`, over the service that it asks for and those that
   * it can get without asking.
   */
  worstCaseRates(input: PriceQuery & Served & { inputTokens: number }): WorstCaseRates | null;
  /** Returns an upper bound of the cost of a call, in nano-USD rounded up, or null if no price is known. */
  worstCase(input: PriceQuery & Served & { inputTokens: number; outputTokens: number }): NanoUsd | null;
}
