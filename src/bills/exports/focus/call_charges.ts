import { type ModelCall, valueOf } from "../../../ledger/mod.ts";
import { isTokenPart } from "../../../contract/billed_parts.ts";
import { startInUtc } from "../../../contract/windows.ts";
import { HOUR_MS } from "../../../kernel/clock.ts";
import { type PriceLine, priceLines, type Rates, tierFor } from "../../../pricing/mod.ts";
import { toDecimalText } from "../decimal_text.ts";
import { toFocusTime } from "./focus_columns.ts";
import { modeOf, type Price, REQUESTS, toPrice } from "./price.ts";

/*
 * Calls as charges of FOCUS. The cost of a call is the sum of its parts, each a quantity by a rate, rounded once to nano-USD. A charge is the exact
 * product; what the rounding has changed is in `x_RoundingUsd` of one part, so that EffectiveCost and it add up to the ledger.
 */

/** The part of a call without a price. */
const TOKENS = "tokens";

/** The times that the charges of one hour have in common, and those of its month. */
interface Hour {
  at: number;
  start: string;
  end: string;
  periodStart: string;
  periodEnd: string;
}

const hourOf = (at: number): Hour => ({
  at,
  start: toFocusTime(at),
  end: toFocusTime(at + HOUR_MS),
  periodStart: toFocusTime(startInUtc("month", at)),
  periodEnd: toFocusTime(startInUtc("month", at, 1)),
});

/** The names of who has made a call: of its API key, and of the provider's account and project, where they are known. */
export interface Payer {
  keyName: string | null;
  account: string | null;
  project: string | null;
}

const UNKNOWN_PAYER: Payer = { keyName: null, account: null, project: null };

/** The charge for a part of the calls of an hour that have everything else in common. */
export interface Charge {
  /** The first of them. */
  call: ModelCall;
  price: Price;
  hour: Hour;
  /** The tags as JSON. */
  tags: string;
  payer: Payer;
  quantity: number;
  /** Undefined for a part that isn't counted in tokens. */
  tokens?: number;
  roundingPicoUsd: bigint;
  /** Exact USD: the quantity by the rate. Empty until all calls are added. */
  cost: string;
}

/** Sums charges by hour, SKU, key, agent and tags; with `perCall` by call, too. */
export class Charges {
  readonly #charges: Charge[] = [];
  readonly #prices = new Map<string, { price: Price; charges: Map<string, Charge> }>();
  #hour = hourOf(0);

  constructor(private readonly isPerCall: boolean) {}

  get size(): number {
    return this.#charges.length;
  }

  /** Returns the charges of the calls so far. */
  all(): Charge[] {
    for (const charge of this.#charges) {
      charge.cost = toDecimalText(charge.price.rate * BigInt(charge.quantity), 12);
    }
    return this.#charges;
  }

  add(call: ModelCall, rates: Rates | null): void {
    const { lines, card, listRate } = splitCall(call, rates);
    const { usage, provider, model, serviceTier, speed, inferenceGeo, priceId } = call;
    const at = startInUtc("hour", call.at);
    if (at !== this.#hour.at) this.#hour = hourOf(at);
    const tags = call.tags ? JSON.stringify(call.tags) : "{}";
    const tier = card ? tierFor(card, usage.inputTokens).aboveInputTokens : undefined;
    const sold = [provider, model, serviceTier, speed, inferenceGeo, modeOf(call), listRate].join("\0");
    const common = this.isPerCall
      ? call.callId
      : [at, call.keyId, call.agentId, call.upstreamId, call.isEstimated, tags].join("\0");
    let rounding = roundingOf(call, lines);
    for (const line of lines) {
      const key = `${sold}\0${line.model ?? ""}\0${line.part}\0${line.rate}\0${
        line.rate === null ? "" : `${priceId}\0${tier}`
      }`;
      let at = this.#prices.get(key);
      if (!at) {
        at = { price: toPrice(call, line, { listRate, tier }), charges: new Map() };
        this.#prices.set(key, at);
      }
      let charge = at.charges.get(common);
      if (!charge) {
        charge = {
          call,
          price: at.price,
          hour: this.#hour,
          tags,
          payer: UNKNOWN_PAYER,
          quantity: 0,
          roundingPicoUsd: 0n,
          cost: "",
        };
        at.charges.set(common, charge);
        this.#charges.push(charge);
      }
      charge.quantity += line.quantity;
      const tokens = tokensOf(line, call, tier);
      if (tokens !== undefined) charge.tokens = (charge.tokens ?? 0) + tokens;
      charge.roundingPicoUsd += rounding;
      rounding = 0n;
    }
  }
}

/** Splits a call into parts, those without a rate last. `card` is null where no rate card explains its cost. */
function splitCall(
  call: ModelCall,
  rates: Rates | null,
): { lines: PriceLine[]; card: Rates | null; listRate?: bigint | undefined } {
  const { usage, priceSource, listCostNanoUsd } = call;
  const price = valueOf(call);
  if (price === null) {
    const quantity = usage.inputTokens + usage.outputTokens;
    return { lines: [{ part: TOKENS, quantity, rate: null }], card: null };
  }
  const isStated = priceSource === "reported" || priceSource === "provider";
  const lines = rates && !isStated ? priceLines(rates, usage) : [];
  const unpriced = lines.filter(({ rate }) => rate === null);
  if (lines.length > unpriced.length) {
    return {
      lines: unpriced.length === 0 ? lines : [...lines.filter(({ rate }) => rate !== null), ...unpriced],
      card: rates,
    };
  }
  const listRate = listCostNanoUsd === undefined ? undefined : listCostNanoUsd * 1_000n;
  return {
    lines: [{ part: REQUESTS, quantity: 1, rate: price * 1_000n }, ...unpriced],
    card: null,
    listRate,
  };
}

/** Returns what rounding has added to the cost of a call. A plan is billed by itself: its calls cost nothing beside it. */
function roundingOf({ planNanoUsd, costNanoUsd }: ModelCall, lines: readonly PriceLine[]): bigint {
  if (planNanoUsd !== undefined) return 0n;
  const exact = lines.reduce(
    (sum, { quantity, rate }) => rate === null ? sum : sum + BigInt(quantity) * rate,
    0n,
  );
  return (costNanoUsd ?? 0n) * 1_000n - exact;
}

/** Returns the tokens of a part; those of the whole call, where its cost has no parts. */
function tokensOf(
  { part, quantity }: PriceLine,
  { usage }: ModelCall,
  tier: number | undefined,
): number | undefined {
  if (isTokenPart(part)) return quantity;
  return tier === undefined && (part === REQUESTS || part === TOKENS)
    ? usage.inputTokens + usage.outputTokens
    : undefined;
}
