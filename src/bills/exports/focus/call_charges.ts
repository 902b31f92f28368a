import { IN_WINDOWS, type ModelCall, scopeIn, valueOf } from "../../../ledger/mod.ts";
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

/** The provider's account that pays for a call, where it is known; and its project, or else the call's API key. */
export interface Payer {
  account: string | null;
  subAccount: { id: string | null; name: string | null };
}

const UNKNOWN_PAYER: Payer = { account: null, subAccount: { id: null, name: null } };

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
  /** By all that calls at one price have in common, and then by part. */
  readonly #prices = new Map<string, Map<string, Price>>();
  /** Of the present hour, by all that calls of one charge have in common besides the price. */
  readonly #groups = new Map<string, Map<Price, Charge>>();
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

  /** Adds a call; calls come in the order of their times. */
  add(call: ModelCall, rates: Rates | null): void {
    const split = splitCall(call, rates);
    const at = startInUtc("hour", call.at);
    if (at !== this.#hour.at) {
      this.#hour = hourOf(at);
      this.#groups.clear();
    }
    const tags = call.tags ? JSON.stringify(call.tags) : "{}";
    const { upstreamId, isEstimated } = call;
    const group = this.isPerCall ? new Map<Price, Charge>() : entryOf(
      this.#groups,
      `${IN_WINDOWS.map((kind) => scopeIn(kind, call)).join("\0")}\0${upstreamId}\0${isEstimated}\0${tags}`,
      () => new Map<Price, Charge>(),
    );
    const priced = this.#pricesOf(call, split, true);
    let rounding = roundingOf(call, split.lines);
    for (const line of split.lines) {
      const { part, model, rate } = line;
      const key = rate !== null && split.tier !== undefined && model === undefined
        ? part
        : `${part}\0${model}\0${rate}`;
      const prices = rate === null ? this.#pricesOf(call, split, false) : priced;
      const price = entryOf(prices, key, () => toPrice(call, line, split));
      const charge = entryOf(group, price, () => {
        const made: Charge = {
          call,
          price,
          hour: this.#hour,
          tags,
          payer: UNKNOWN_PAYER,
          quantity: 0,
          roundingPicoUsd: 0n,
          cost: "",
        };
        this.#charges.push(made);
        return made;
      });
      charge.quantity += line.quantity;
      const tokens = tokensOf(line, call, split);
      if (tokens !== undefined) charge.tokens = (charge.tokens ?? 0) + tokens;
      charge.roundingPicoUsd += rounding;
      rounding = 0n;
    }
  }

  /** Returns the prices of a call by part; those of parts without one are the same by every card. */
  #pricesOf(call: ModelCall, { listRate, tier }: Split, isPriced: boolean): Map<string, Price> {
    const { provider, model, serviceTier, speed, inferenceGeo, priceId } = call;
    const sold = `${provider}\0${model}\0${serviceTier}\0${speed}\0${inferenceGeo}\0${
      modeOf(call)
    }\0${listRate}`;
    return entryOf(this.#prices, isPriced ? `${sold}\0${priceId}\0${tier}` : sold, () => new Map());
  }
}

/** Returns the entry of a key, which is made if there is none yet. */
function entryOf<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  let value = map.get(key);
  if (value === undefined) map.set(key, value = make());
  return value;
}

interface Split {
  /** Those without a rate are last. */
  lines: PriceLine[];
  /** The lowest context of the tier of the rate card; undefined where no rate card explains the cost. */
  tier?: number;
  /** The cost by the list, where the provider has stated another. */
  listRate?: bigint;
}

/** Splits a call into its parts. */
function splitCall(call: ModelCall, rates: Rates | null): Split {
  const { usage, priceSource, listCostNanoUsd } = call;
  const price = valueOf(call);
  if (price === null) {
    return { lines: [{ part: TOKENS, quantity: usage.inputTokens + usage.outputTokens, rate: null }] };
  }
  const isStated = priceSource === "reported" || priceSource === "provider";
  const lines = rates && !isStated ? priceLines(rates, usage) : [];
  const unpriced = lines.filter(({ rate }) => rate === null);
  if (rates && lines.length > unpriced.length) {
    const tier = tierFor(rates, usage.inputTokens).aboveInputTokens;
    if (unpriced.length === 0) return { lines, tier };
    return { lines: [...lines.filter(({ rate }) => rate !== null), ...unpriced], tier };
  }
  return {
    lines: [{ part: REQUESTS, quantity: 1, rate: price * 1_000n }, ...unpriced],
    ...listCostNanoUsd !== undefined && { listRate: listCostNanoUsd * 1_000n },
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
  { tier }: Split,
): number | undefined {
  if (isTokenPart(part)) return quantity;
  return tier === undefined && (part === REQUESTS || part === TOKENS)
    ? usage.inputTokens + usage.outputTokens
    : undefined;
}
