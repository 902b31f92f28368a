import type { Cause, MatchLevel } from "../../contract/bills/causes.ts";
import { type Cell, levelOf, REQUESTS } from "./cells.ts";
import { causeOfLine, type Explained, isLate, lateCause } from "./classify.ts";
import { textOf } from "./dimensions.ts";
import { ATTO_PER_NANO, type AttoUsd, lesser, type MicroUnits, shareOf, sizeOf } from "./exact.ts";
import { findCalls } from "./find_calls.ts";
import { ONE } from "./price_runs.ts";
import type { Setup } from "./reconciler.ts";

/** The costs of a bucket, and the buckets of usage within it. */
export interface MoneyCell {
  cell: Cell;
  sources: readonly Cell[];
  setup: Setup;
}

/** Takes what a comparison finds. */
export interface Findings {
  /** `source` is the bucket of the quantity, where it is one. */
  add(
    cause: Cause,
    part: string,
    quantity: MicroUnits,
    amount: AttoUsd,
    evidence: string,
    source?: Cell,
  ): void;
  match(level: MatchLevel, amount: AttoUsd): void;
  bound(amount: AttoUsd): void;
  /** Adds the prices that a bucket may have, as shares of the ledger's; `settle` tells whether they are a price. */
  price(sku: string, interval: { low: bigint; high: bigint }, settle?: (isPrice: boolean) => void): void;
  /** Adds the amount of usage whose source states none. */
  bill(amount: AttoUsd): void;
}

/** The causes of quantities that the bill has and the ledger hasn't. */
export const UNMATCHED: ReadonlySet<Cause> = new Set([
  "bypass",
  "lost",
  "unexplained",
  "tool_fee",
  "storage",
  "session",
]);

/** Splits the differences of the amounts of a bucket into those of quantities, by their causes, of prices, and of rounding. */
export function compareMoney(money: MoneyCell, found: Findings): void {
  const { cell, sources } = money;
  const billed = [...cell.bill.keys()].filter((part) =>
    part !== REQUESTS || cell.bill.get(part)!.amount !== undefined
  );
  const ours = sources.flatMap((source) => [...source.ours.keys(), ...source.bill.keys()]);
  const all = new Set([...billed, ...ours].filter((part) => part !== "" && part !== REQUESTS));
  if (billed.includes(REQUESTS)) all.add(REQUESTS);
  // One amount is of all parts that have none of their own.
  const rest = billed.includes("") ? [...all].filter((part) => !billed.includes(part)) : undefined;
  for (const part of all) if (!rest?.includes(part)) compareUnit(money, part, [part], found);
  if (rest) compareUnit(rest.length > 0 ? money : { ...money, sources: [] }, "", rest, found);
  const calls = sources.reduce((sum, source) => sum + source.calls, 0);
  const booked = sources.reduce((sum, source) => sum + source.bookedNanoUsd, 0n);
  const exact = sources.reduce(
    (sum, { ours }) => sum + [...ours.values()].reduce((sum, { amount }) => sum + amount, 0n),
    0n,
  );
  const drift = exact - booked * ATTO_PER_NANO;
  const bound = BigInt(calls) * ATTO_PER_NANO / 2n;
  found.bound(bound);
  if (sizeOf(drift) > bound) {
    found.add("unexplained", "", 0n, drift, "the ledger's costs are not those of its prices");
  }
}

/** A part of a bucket, or all of it where the bill has one amount for all parts. */
function compareUnit(
  { cell, sources, setup }: MoneyCell,
  name: string,
  parts: readonly string[],
  found: Findings,
): void {
  const line = cell.bill.get(name);
  const sums = new Map(parts.map((part) => [part, sumsOf(part, sources)]));
  const amountOf = (of: ReadonlyMap<string, { amount: AttoUsd }>) =>
    parts.reduce((sum, part) => sum + (of.get(part)?.amount ?? 0n), 0n);
  const ours = amountOf(sums);
  const counted = name === "" ? undefined : line?.quantity ?? sums.get(name)?.billed;
  const volumes = sources.flatMap((source) =>
    source.moved.filter(({ part }) => parts.includes(part))
      .map((one) => ({ ...one, source, amount: priceOf(one.part, one.quantity) }))
  );

  function priceOf(part: string, quantity: MicroUnits): AttoUsd | undefined {
    const sum = sums.get(part)!;
    const priced = sum.quantity - sum.unpriced;
    if (priced > 0n) return shareOf(sum.amount, quantity, priced);
    const isOnly = name !== "" && counted !== undefined && counted !== 0n && setup.hasCosts;
    return isOnly ? shareOf(line?.list ?? 0n, quantity, counted) : undefined;
  }

  const known = volumes.reduce((sum, { amount }) => sum + (amount ?? 0n), 0n);
  if (!setup.hasCosts) found.bill(ours + known);
  const amount = setup.hasCosts ? line?.amount ?? 0n : ours + known;
  const list = setup.hasCosts ? line?.list ?? 0n : amount;
  let left = list - ours - known;
  if (name === "" && setup.hidesCache) takeInput();
  const unpriced = [...sums.values()].reduce((sum, one) => sum + one.unpriced, 0n);
  for (const one of volumes) {
    // What has no price of the ledger is priced by the bill: of an amount for all parts, all together.
    const isWhole = one.amount === undefined && name === "";
    if (one.amount === undefined) {
      one.amount = left;
      left = 0n;
    }
    const [part, quantity] = isWhole ? ["", 0n] : [one.part, one.quantity];
    if (!isWhole || one.amount !== 0n) {
      found.add(one.cause, part, quantity, one.amount, one.evidence, one.source);
    }
  }
  // Calls without a price cost what the bill says: their share by quantity, or where it states none, all that is more.
  if (unpriced > 0n && left > 0n && list > 0n && setup.hasCosts) {
    const share = counted !== undefined && counted > 0n
      ? lesser(shareOf(list, unpriced, counted), left)
      : left;
    const price = setup.terms.provider ? `${setup.terms.provider}:` : "";
    found.add(
      "unpriced",
      name,
      0n,
      share,
      `the ledger has no price of ${price}${cell.dimensions.model ?? "these calls"}`,
    );
    left -= share;
  }
  if (sizeOf(amount) > sizeOf(list)) {
    found.add("fee", name, 0n, amount - list, "the line states a lower price of the usage alone");
  } else if (amount !== list) {
    found.add("discount", name, 0n, amount - list, "the line states a price before discounts");
  }

  const net = (part: AttoUsd): AttoUsd => list === 0n ? part : shareOf(amount, part, list);
  let matched = amount;
  for (const one of volumes) {
    if (one.quantity <= 0n || !UNMATCHED.has(one.cause)) continue;
    matched -= name !== "" && counted !== undefined && counted > 0n
      ? shareOf(amount, lesser(one.quantity, counted), counted)
      : net(one.amount!);
  }
  const half = 10n ** BigInt(Math.max(0, 18 - setup.amountDecimals)) / 2n || 1n;
  const bound = BigInt(line?.lines ?? 0) * half + BigInt(volumes.length + 1);
  found.bound(bound);
  const base = list - left;
  const isPriced = base > 0n && list > 0n;
  const interval = () => ({ low: (list - bound) * ONE / base - 1n, high: (list + bound) * ONE / base + 1n });
  const sku = `${name}\0${
    textOf({ ...cell.dimensions, credential: undefined, project: undefined } as Cell["dimensions"])
  }`;
  const level = levelOf(cell);
  if (sizeOf(left) <= bound) {
    if (isPriced) found.price(sku, interval());
  } else {
    const reason = reasonOf();
    if (reason) {
      found.add(reason[0], name, 0n, left, reason[1]);
      if (left > 0n && UNMATCHED.has(reason[0])) matched -= net(left);
    } else {
      found.price(sku, interval(), (isPrice) => {
        const [cause, evidence] = causeOfLeft(isPrice);
        found.add(cause, name, 0n, left, evidence);
        if (cause === "unexplained" && left > 0n) matchLevels(-net(left));
      });
    }
  }
  matchLevels(matched < 0n ? 0n : matched);

  /** Gives what is left to the input that one side alone has, if its kind isn't told: input costs at most what output does. */
  function takeInput(): void {
    const [input, ...others] = volumes.filter(({ part }) => part === "input_tokens");
    const most = input && sums.has("output_tokens") ? priceOf("output_tokens", input.quantity) : undefined;
    if (!input?.amount || !most || others.length > 0) return;
    const whole = input.amount + left;
    if (volumes.some(({ cause }) => cause !== input.cause) || whole < 0n !== most < 0n) return;
    if (sizeOf(whole) > sizeOf(most)) return;
    input.amount = whole;
    left = 0n;
  }

  /** Returns the cause of an amount that is no other price. */
  function reasonOf(): Explained | undefined {
    const calls = sources.reduce((sum, source) => sum + source.calls, 0);
    if (calls === 0 || (name !== "" && !sums.get(name)?.quantity)) return causeAlone(cell, name, setup);
    if (line?.currency !== undefined) return ["fx", `the bill states it in ${line.currency}`];
    if (list < 0n) return ["unexplained", "a negative amount of usage"];
    if (list === 0n) {
      return line === undefined && isLate(cell, setup)
        ? lateCause(cell, setup)
        : ["not_billed", "its amount is 0"];
    }
    if (counted === 0n) return ["unexplained", "an amount without a quantity"];
    if (counted === undefined && sources.some(({ doubtful }) => doubtful > 0)) {
      return ["lost", "a call failed, was cut off, or is an estimate"];
    }
    return base <= 0n ? ["price", "the ledger has the price 0 for it"] : undefined;
  }

  function causeOfLeft(isPrice: boolean): Explained {
    const share = priceEvidence(list, base);
    if (isPrice) return ["price", share];
    const missing = left < 0n ? findCalls(sources, [-left], (own) => [amountOf(own)], bound) : "none";
    return Array.isArray(missing)
      ? ["not_billed", `the amount is less by that of ${missing.join(", ")}`]
      : ["unexplained", `${share}, and no other bucket has this price`];
  }

  /** Divides what is matched by how surely its quantities are. */
  function matchLevels(amount: AttoUsd): void {
    if (amount === 0n) return;
    const weights = new Map<MatchLevel, bigint>();
    for (const source of sources) {
      const level = levelOf(source);
      for (const part of parts) {
        const weight = lesser(source.bill.get(part)?.quantity ?? 0n, source.ours.get(part)?.quantity ?? 0n);
        if (weight > 0n) weights.set(level, (weights.get(level) ?? 0n) + weight);
      }
    }
    const whole = [...weights.values()].reduce((sum, weight) => sum + weight, 0n);
    let rest = amount;
    for (const [one, weight] of weights) {
      const share = shareOf(amount, weight, whole);
      found.match(one, share);
      rest -= share;
    }
    if (rest !== 0n) {
      found.match([...weights.keys()].at(-1) ?? (sources.length === 1 ? levelOf(sources[0]!) : level), rest);
    }
  }
}

function sumsOf(part: string, sources: readonly Cell[]) {
  const sum = { quantity: 0n, amount: 0n, unpriced: 0n, billed: undefined as MicroUnits | undefined };
  for (const { ours, bill } of sources) {
    const own = ours.get(part);
    sum.quantity += own?.quantity ?? 0n;
    sum.amount += own?.amount ?? 0n;
    sum.unpriced += own?.unpriced ?? 0n;
    const billed = bill.get(part);
    if (billed?.quantity !== undefined) sum.billed = (sum.billed ?? 0n) + billed.quantity;
    else if (!billed && bill.size > 0 && !bill.has("")) sum.billed ??= 0n;
  }
  return sum;
}

/** Returns the cause of an amount that the ledger has no calls for, of a bill that states no quantity of it. */
function causeAlone(cell: Cell, name: string, setup: Setup): Explained {
  const isPriced = name !== "" && cell.bill.get(name)?.quantity !== undefined;
  return causeOfLine(cell, name, setup) ??
    (isPriced ? ["unexplained", "an amount without a quantity"] : ["bypass", "the ledger has no call there"]);
}

/** Says what share of the ledger's price a bill has. */
function priceEvidence(list: AttoUsd, base: AttoUsd): string {
  const share = Number(list * 1_000_000n / base) / 1_000_000;
  return `the same quantities at ${share} times the ledger's price`;
}
