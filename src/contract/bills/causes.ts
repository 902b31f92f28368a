/** The actions that a difference between a bill and the ledger calls for. */
export const REMEDIES = [
  "none",
  "wait",
  "import",
  "correct",
  "reprice",
  "override",
  "credit",
  "map",
  "dispute",
] as const;
export type Remedy = typeof REMEDIES[number];

interface CauseTerms {
  /** The evidence by which it is found. */
  test: string;
  /** The action. */
  remedy: Remedy;
  advice: string;
}

const dimensionMoved = (name: string): CauseTerms => ({
  test: `The quantities agree once they are moved to another ${name}.`,
  remedy: "map",
  advice: `Check how the ${name} of these calls is read: the price depends on it.`,
});

/** The causes of a difference between a bill and the ledger: how each is found, and what to do. */
export const CAUSES = {
  late: {
    test: "The bill has less, in a bucket that the source had not counted fully when it was imported.",
    remedy: "wait",
    advice: "Import the bill of that time, or again later.",
  },
  boundary: {
    test:
      "Calls that began in one bucket and ended in another are counted in the other one; the sum of both is the same.",
    remedy: "none",
    advice: "Nothing: it nets to zero.",
  },
  rounding: {
    test:
      "It is at most half of the last digit that the bill states, for each line, and half a nano-USD for each call.",
    remedy: "none",
    advice: "Nothing.",
  },
  bypass: {
    test:
      "The line is of a key that the ledger has no calls of, or the bill has more requests than the ledger, or more of input and output where it counts none.",
    remedy: "import",
    advice: "Import the calls of this key, or have them go through the gateway.",
  },
  lost: {
    test:
      "The requests are the same and the quantities are not, in a bucket with calls that failed, were cut off, or are estimates.",
    remedy: "correct",
    advice: "Correct the calls by the bill: purser reconcile … --correct.",
  },
  fx: {
    test:
      "The bill states the amount of these calls in another currency than USD, or the line is named a conversion of currencies.",
    remedy: "none",
    advice:
      "It belongs to no call; compare amounts in another currency by themselves: they are in no sum of USD.",
  },
  not_billed: {
    test:
      "The bill has fewer requests than the ledger, an amount of 0 for them, or less by exactly what some calls have: blocked, failed or free requests.",
    remedy: "credit",
    advice: "Nothing is owed for these calls.",
  },
  price: {
    test:
      "The quantities are the same, and the unit price is another one, in several buckets or in the only one.",
    remedy: "reprice",
    advice: "Set this price, then price the calls again: purser prices set, purser reprice.",
  },
  unpriced: {
    test: "The ledger has no price for these calls, and the bill has an amount.",
    remedy: "override",
    advice: "Set their price, then price them: purser prices set, purser reprice --unpriced.",
  },
  discount: {
    test: "The line states a price before discounts, and a lower amount.",
    remedy: "override",
    advice: "Set the price of your contract, so that the ledger has it too.",
  },
  tier: dimensionMoved("service tier"),
  batch: dimensionMoved("batch flag"),
  speed: dimensionMoved("speed"),
  geo: dimensionMoved("region"),
  context: dimensionMoved("class of the context length"),
  cache_kind: {
    test: "The input is the same in total, and split otherwise into new, cached and written tokens.",
    remedy: "dispute",
    advice: "Compare one call: either its usage was read wrongly, or it is billed wrongly.",
  },
  tool_fee: {
    test: "The line is of a tool, such as web searches, that the ledger has no count of.",
    remedy: "none",
    advice: "Charge it by share: it belongs to no single call.",
  },
  storage: { test: "The line is of storage.", remedy: "none", advice: "Charge it by share." },
  session: { test: "The line is of the time of sessions.", remedy: "none", advice: "Charge it by share." },
  fee: {
    test: "The line is a fee, or has more than the price that it states.",
    remedy: "none",
    advice: "Charge it by share.",
  },
  minimum: {
    test: "The line is named a minimum of the contract, such as a minimum spend or what is short of it.",
    remedy: "none",
    advice: "Charge it by share: it is what the contract adds to the usage.",
  },
  credit: {
    test: "The line is a credit or an adjustment of the provider.",
    remedy: "none",
    advice: "It belongs to no call.",
  },
  commitment: {
    test: "The line is a purchase or a commitment.",
    remedy: "none",
    advice: "It belongs to no call.",
  },
  tax: { test: "The line is a tax.", remedy: "none", advice: "It belongs to no call." },
  model_alias: {
    test: "The same quantities stand under another name of the model.",
    remedy: "map",
    advice: "Report the name, so that it is mapped.",
  },
  correction: {
    test: "The bill or the calls of a closed month have changed since.",
    remedy: "none",
    advice: "It is a correction of that month, which stays as it was closed.",
  },
  unexplained: {
    test: "No other cause explains it.",
    remedy: "dispute",
    advice: "Compare its lines with its calls, and ask the provider.",
  },
} as const satisfies Record<string, CauseTerms>;

export type Cause = keyof typeof CAUSES;
export const CAUSE_NAMES = Object.keys(CAUSES) as [Cause, ...Cause[]];

/** The ways in which lines are matched with calls, the surest first: an amount that matches in total is no proof of a single call. */
export const MATCH_LEVELS = ["call", "cell", "bucket", "day", "total"] as const;
export type MatchLevel = typeof MATCH_LEVELS[number];

/** The states of a month of a bill: `soft_closed` before the provider's bill is final, `closed` from then on. */
export const PERIOD_STATES = ["open", "soft_closed", "closed", "reopened"] as const;
export type PeriodState = typeof PERIOD_STATES[number];
