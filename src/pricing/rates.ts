import { parseUsdPerMillion, type PicoUsdPerToken } from "../kernel/money.ts";
import type { UsageDetail } from "./usage/usage.ts";

/** The prices of one tier of the context length, each in pico-USD per token or count. */
export interface RateTier {
  /** The tier applies to calls with more input tokens, cached ones included, than this; -1 on the first tier. */
  aboveInputTokens: number;
  input: PicoUsdPerToken;
  /** Text output; null where the model has no output price (an embedding model). */
  output: PicoUsdPerToken | null;
  /** Reasoning output; null where the model has no output price. */
  reasoning: PicoUsdPerToken | null;
  cacheRead: PicoUsdPerToken;
  /** Cache writes of any lifetime but one and twelve hours. */
  cacheWrite: PicoUsdPerToken;
  cacheWrite1h: PicoUsdPerToken;
  /** The rates of parts that most calls don't have; a call with a part without a rate is partly priced. */
  details?: Readonly<Partial<Record<UsageDetail, bigint>>>;
  /** The fee of each request, in pico-USD. */
  request?: bigint;
  /**
   * True if the fee depends on the size of the search context: `request` is that of the lowest, and a call whose size is not
   * known is partly priced.
   */
  isRequestByContext?: boolean;
  /** The source of each part of a usage whose rate is another one's than that of the card. */
  sources?: Readonly<Record<string, string>>;
}

/** Returns whether a card is one that people have set: nothing is added to it. */
export const isOwn = ({ source }: Pick<Rates, "source">): boolean =>
  source === "config" || source === "database";

/** The rate card of one model at one time, as served. */
export interface Rates {
  /** The source of the price of input tokens: `database`, `config`, `demo`, `genai-prices@<date>` or `litellm@<date>`. */
  source: string;
  /** At least one tier, by rising threshold. */
  tiers: readonly RateTier[];
  /** The id of the model in the source, where that is not the one of the query. */
  model?: string;
  /** The properties of the service, such as `service_tier`, that the source has no rates for: its calls are partly priced. */
  unknown?: readonly string[];
  /** The rate cards of other models that a call has used, by their names. */
  others?: Readonly<Record<string, Rates>>;
}

/** Returns the tier of a call. Above the threshold of a long-context tier, its prices apply to every token of the call. */
export function tierFor(rates: Rates, inputTokens: number): RateTier {
  for (let i = rates.tiers.length - 1; i > 0; i--) {
    const tier = rates.tiers[i]!;
    if (inputTokens > tier.aboveInputTokens) return tier;
  }
  return rates.tiers[0]!;
}

/** The fictitious prices of the `demo` models: 1 USD per million input tokens, 4 USD per million output tokens. */
export const DEMO_RATES: Rates = {
  source: "demo",
  tiers: [{
    aboveInputTokens: -1,
    input: parseUsdPerMillion(1),
    output: parseUsdPerMillion(4),
    reasoning: parseUsdPerMillion(4),
    cacheRead: parseUsdPerMillion(0.1),
    cacheWrite: parseUsdPerMillion(1.25),
    cacheWrite1h: parseUsdPerMillion(1.25),
  }],
};
