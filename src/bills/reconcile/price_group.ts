import { priceLines, type Rates, tierFor, type Usage } from "../../pricing/mod.ts";
import { type LedgerCell, type OurPart, REQUESTS } from "./cells.ts";
import { ATTO_PER_NANO, ATTO_PER_PICO, type AttoUsd, MICRO, shareOf } from "./exact.ts";

/** Calls of one rate card and one tier of it, added up. */
export interface PricedGroup {
  calls: number;
  /** The sums of its counts. */
  usage: Usage;
  /** The input of one of the calls: all of them are in the same tier. */
  inputTokens: number;
  rates: Rates | undefined;
  /** True if the cost is not that of the rate card: the provider or the reporter has stated it. */
  isStated: boolean;
  bookedNanoUsd: bigint;
}

/** The rates of calls without a rate card: only their quantities are of use. */
const NO_RATES: Rates = {
  source: "none",
  tiers: [{
    aboveInputTokens: -1,
    input: 0n,
    output: 0n,
    reasoning: 0n,
    cacheRead: 0n,
    cacheWrite: 0n,
    cacheWrite1h: 0n,
  }],
};

/** Splits the cost of some calls into its parts, exactly; a cost that was stated is divided over the parts as the rate card would. */
export function priceGroup(group: PricedGroup): LedgerCell["parts"] {
  const { calls, usage, inputTokens, rates = NO_RATES, bookedNanoUsd } = group;
  const lines = priceLines({ ...rates, tiers: [tierFor(rates, inputTokens)] }, usage);
  const sums = new Map<string, Required<OurPart>>();
  for (const { part, model, quantity, rate } of lines) {
    // A fee of each request: the lines are those of one.
    const count = BigInt(quantity) * (part === REQUESTS && model === undefined ? BigInt(calls) : 1n);
    const known = sums.get(part) ?? { quantity: 0n, amount: 0n, unpriced: 0n };
    const isUnpriced = !group.isStated && (group.rates === undefined || rate === null);
    sums.set(part, {
      unpriced: known.unpriced + (isUnpriced ? count * MICRO : 0n),
      quantity: known.quantity + count * MICRO,
      amount: known.amount + count * (rate ?? 0n) * ATTO_PER_PICO,
    });
  }
  const parts = [...sums].map(([part, sum]) => ({ part, ...sum }));
  return group.isStated || group.rates === undefined ? divide(parts, bookedNanoUsd * ATTO_PER_NANO) : parts;
}

/** Divides an amount over parts by what they cost, or by what they are of if nothing has a price. */
function divide(
  parts: LedgerCell["parts"],
  amount: AttoUsd,
): LedgerCell["parts"] {
  const cost = parts.reduce((sum, part) => sum + part.amount, 0n);
  const weightOf = (part: typeof parts[number]) => cost > 0n ? part.amount : part.quantity;
  const whole = parts.reduce((sum, part) => sum + weightOf(part), 0n);
  let rest = amount;
  return parts.map((part, index) => {
    const share = index === parts.length - 1 ? rest : shareOf(amount, weightOf(part), whole);
    rest -= share;
    return { ...part, amount: share };
  });
}

/** Returns the counts of some calls with the same parts besides their tokens: those of one, so many times. */
export function timesParts(
  { details, others, models }: Pick<Usage, "details" | "others" | "models">,
  calls: number,
): Pick<Usage, "details" | "others" | "models"> {
  const times = <Counts extends object>(counts: Counts): Counts =>
    Object.fromEntries(
      Object.entries(counts).map((
        [name, count],
      ) => [name, typeof count === "number" ? count * calls : count]),
    ) as Counts;
  return {
    ...(details && { details: times(details) }),
    ...(others && { others: times(others) }),
    ...(models && {
      models: models.map(({ model, usage }) => ({
        model,
        usage: { ...times(usage), ...timesParts(usage, calls) },
      })),
    }),
  };
}
