import type { Tags } from "../contract/tags/tags.ts";
import type { StatedCostReason } from "../contract/costs/stated_costs.ts";
import type { Scopes } from "./scopes/mod.ts";
import type { SaidBesides } from "./explain/said.ts";
import type { Upstream } from "./upstreams.ts";
import type { CallOutcome, CallSource } from "../contract/values.ts";
import { type NanoUsd } from "../kernel/money.ts";
import { type Rates, type Usage } from "../pricing/mod.ts";

/** The tolerance for calls made elsewhere with a time ahead of this process's clock. */
export const MAX_AHEAD_MS = 5 * 60_000;

/** One model call of the ledger. Times in milliseconds since the epoch. */
export interface ModelCall extends Scopes {
  callId: string;
  /** The start of a call, unless a log knows only when it was answered; with `durationMs`, its end. */
  at: number;
  /** The step of the run, from 1. */
  step: number | null;
  /** The names of the tools that the answer called. */
  tools: readonly string[];
  provider: string;
  model: string;
  usage: Usage;
  /** Null, never 0, if no price is known. */
  costNanoUsd: NanoUsd | null;
  /** The cost by the API of a call that a plan pays for; null if no price is known. Undefined for a billed call. */
  planNanoUsd?: NanoUsd | null;
  /** The parts of the usage without a price, which the cost leaves out; undefined for most calls. */
  unpricedParts?: readonly string[];
  /** The cost by the rate card, where the provider has stated another. */
  listCostNanoUsd?: NanoUsd;
  /** The cost that the provider or the reporter has stated, where it isn't the one that is booked. */
  statedNanoUsd?: NanoUsd | undefined;
  /** The reason for that. */
  statedReason?: StatedCostReason | undefined;
  /** `config`, `genai-prices@…`, `litellm@…`, `demo`, `provider`, `reported` or `none`. */
  priceSource: string;
  /** The rate card that priced a call to be booked. */
  rates?: Rates | null;
  /** The id of the rate card of a booked call. */
  priceId?: number | null;
  durationMs: number | null;
  /** True if the tokens are an estimate, because the provider's count never arrived. */
  isEstimated: boolean;
  source?: CallSource;
  /** The service tier that the provider used. */
  serviceTier?: string | null;
  /** Anthropic's `fast`, where it was used. */
  speed?: string;
  /** The region that Anthropic has served the call from, where it states one. */
  inferenceGeo?: string;
  /** The provider's id of the answer. */
  responseId?: string | null;
  /** The provider's id of the request. */
  requestId?: string | null;
  /** The credential and the account that have paid for a call to be booked. */
  upstream?: Upstream | undefined;
  /** The id of that of a booked call. */
  upstreamId?: number;
  /** The service tier that was asked for, where another one was used. */
  requestedTier?: string;
  /** The end of a call that didn't complete. */
  outcome?: CallOutcome;
  /** The HTTP status of a failed call. */
  status?: number;
  /** Set if the row as it was booked holds all that its witness has said. */
  said?: SaidBesides;
  /** The certainty of its counts, unless they are exact: `derived`, `provisional`, `aggregate` or `cost_only`. */
  quality?: string;
  /** The other facts that its witness can't state, such as `input_unknown`. */
  marks?: readonly string[];
  /** The tags of the run, meter or report, for attribution; undefined without any. */
  tags?: Tags;
}

/** Returns what a call costs by its price, whether it is billed or a plan pays for it; null if no price is known. */
export const valueOf = (
  { costNanoUsd, planNanoUsd }: Pick<ModelCall, "costNanoUsd" | "planNanoUsd">,
): NanoUsd | null => planNanoUsd === undefined ? costNanoUsd : planNanoUsd;
