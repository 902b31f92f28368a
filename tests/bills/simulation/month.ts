import type { Cause } from "../../../src/contract/bills/causes.ts";
import type { NumberedLine } from "../../../src/bills/reconcile/cells.ts";
import type { DaySides, Setup } from "../../../src/bills/reconcile/reconciler.ts";
import { seededRandom } from "../../harness/random.ts";
import { type Billed, toAtto, toLines, toText } from "./provider_lines.ts";
import { DAY, HOUR, type Provider, PROVIDERS } from "./providers.ts";
import { type Counts, MICRO, PARTS, rates, type SimulatedCall, toCell } from "./simulated_calls.ts";

/*
 * A month of calls, and a bill of them by a provider's own rules. What the rules do to the bill is kept by cause, in atto-USD, so that
 * the comparison can be asked for it.
 */

const FROM = Date.UTC(2026, 9, 1);
const DAYS = 6;
/** The price of the tier `priority`, in millionths of the standard one. */
const PRIORITY = 2_000_000n;

export interface Month {
  provider: Provider;
  setup: Setup;
  days: DaySides[];
  calls: readonly SimulatedCall[];
  lines: readonly NumberedLine[];
  /** The amounts that the rules have made, in atto-USD. */
  expected: Map<Cause, bigint>;
  injected: readonly Cause[];
  billed: bigint;
  booked: bigint;
  /** The amount that both sides have, in atto-USD. */
  matched: bigint;
  others: number;
}

/** The injections that a provider's bill can prove. */
const ALL: readonly Cause[] = [
  "bypass",
  "lost",
  "not_billed",
  "price",
  "discount",
  "tier",
  "cache_kind",
  "tool_fee",
  "fee",
  "tax",
  "credit",
  "fx",
  "minimum",
  "late",
  "model_alias",
  "boundary",
  "unpriced",
];
/** The causes of lines that are of no model's calls. */
const EXTRA = {
  tool_fee: 5n,
  fee: 7n,
  tax: 11n,
  credit: -13n,
  fx: 17n,
  minimum: 19n,
} as const;
const EXTRAS = Object.keys(EXTRA) as (keyof typeof EXTRA)[];
/** A provider names a conversion and a minimum as it likes, in lines of these categories. */
const NAMED = {
  fx: { category: "fee", sku: "FX-conversion_charge" },
  minimum: { category: "purchase", sku: "Minimum spend: shortfall" },
} as const;
const NOT_BY_CALL = new Set<Cause>(["tier", "cache_kind", "model_alias", "boundary", "price"]);

/** Makes a month by a seed. `unexplained` is added to the amount of one line, as a mistake of the provider. */
export function makeMonth(seed: number, unexplained = 0n): Month {
  const next = seededRandom(seed);
  const below = (n: number) => Math.floor(next() * n);
  const provider = PROVIDERS[seed % PROVIDERS.length]!;
  const isByCall = provider.usageMs === 0;
  const isOnlyAmounts = provider.usageMs === undefined && !provider.hasQuantities;
  const isPossible = (cause: Cause) =>
    !(provider.usageMs === undefined && (cause === "lost" || cause === "boundary")) &&
    !(isByCall && NOT_BY_CALL.has(cause)) &&
    !(isOnlyAmounts && ["tier", "cache_kind", "model_alias"].includes(cause));
  const injected = ALL.filter((cause) => isPossible(cause) && next() < 0.4);
  const expected = new Map<Cause, bigint>();
  const expect = (cause: Cause, amount: bigint) => expected.set(cause, (expected.get(cause) ?? 0n) + amount);
  const to = FROM + DAYS * DAY;
  const calls: SimulatedCall[] = [];
  const bill: Billed[] = [];
  let matched = 0n;
  let made = 0;
  const countsBy = isByCall || next() < 0.5 ? "start" : "end";
  // Calls that are counted by the other rule leave open which one it is.
  const isUnknown = next() < 0.5 && !injected.includes("boundary") && !isOnlyAmounts;
  const wholeUntil = injected.includes("late") ? to - DAY : to;

  const amountOf = (model: string, counts: Counts) =>
    PARTS.reduce((sum, part) => sum + BigInt(counts[part]) * rates(model)[part] * MICRO, 0n);
  const timeOf = ({ at, endedAt }: SimulatedCall) => countsBy === "start" ? at : endedAt;
  const newCall = (model: string, day: number): SimulatedCall => {
    const at = FROM + day * DAY + below(DAY);
    const duration = 1_000 + below(90_000);
    return {
      id: `call_${++made}_${seed}`,
      at,
      endedAt: at + duration,
      model,
      credential: next() < 0.7 ? "key_one" : "key_two",
      tier: "standard",
      counts: {
        input_tokens: 100 + below(20_000),
        cache_read_tokens: below(50_000),
        output_tokens: 1 + below(4_000),
      },
      doubtful: false,
    };
  };
  const billOf = (call: SimulatedCall, more: Partial<Billed> = {}): Billed => ({
    ...call,
    billedModel: call.model,
    billedTier: call.tier,
    price: 1_000_000n,
    discount: 1_000_000n,
    ...more,
  });
  const isBilled = (call: SimulatedCall) => timeOf(call) >= FROM && timeOf(call) < to;

  /** Adds calls of a model that only one cause has changed. */
  function addModel(model: string, cause: Cause | undefined): void {
    const before: SimulatedCall = { ...newCall(model, 0), at: FROM - 5_000, endedAt: FROM + 5_000 };
    const after: SimulatedCall = { ...newCall(model, 0), at: to - 5_000, endedAt: to + 5_000 };
    const all = Array.from({ length: 24 }, (_, index) => newCall(model, index % DAYS));
    if (cause === undefined && !isByCall) all.push(before, after);
    const changedFrom = FROM + 3 * DAY;
    for (const [index, call] of all.entries()) {
      const isChanged = index % 3 === 0 && isBilled(call);
      const amount = amountOf(model, call.counts);
      const both = () => {
        if (isBilled(call) && timeOf(call) < wholeUntil) matched += amount;
      };
      switch (cause) {
        case "bypass":
          if (isChanged && isOnlyAmounts) {
            bill.push(billOf({ ...call, credential: "key_other" }));
          } else if (isChanged) bill.push(billOf(index % 2 ? call : { ...call, credential: "key_other" }));
          else {
            calls.push(call);
            bill.push(billOf(call));
            both();
          }
          if (isChanged && timeOf(call) < wholeUntil) expect("bypass", amount);
          break;
        case "lost": {
          const seen = { ...call.counts, output_tokens: Math.floor(call.counts.output_tokens / 2) };
          calls.push(isChanged ? { ...call, counts: seen, doubtful: true } : call);
          bill.push(billOf(call));
          if (isChanged && timeOf(call) < wholeUntil) {
            expect("lost", amount - amountOf(model, seen));
            matched += amountOf(model, seen);
          } else both();
          break;
        }
        case "not_billed":
          calls.push(call);
          if (!isChanged) {
            bill.push(billOf(call));
            both();
          } else if (timeOf(call) < wholeUntil) expect("not_billed", -amount);
          break;
        case "price":
        case "discount": {
          const isLater = timeOf(call) >= changedFrom;
          calls.push(call);
          bill.push(
            billOf(call, isLater ? cause === "price" ? { price: 1_100_000n } : { discount: 800_000n } : {}),
          );
          if (isLater && isBilled(call) && timeOf(call) < wholeUntil) {
            const change = cause === "price" ? amount / 10n : -amount / 5n;
            expect(cause, change);
            matched += change;
          }
          both();
          break;
        }
        case "tier": {
          const isMoved = timeOf(call) >= changedFrom;
          calls.push(call);
          bill.push(billOf(call, isMoved ? { billedTier: "priority", price: PRIORITY } : {}));
          if (isMoved && isBilled(call) && timeOf(call) < wholeUntil) {
            expect("tier", amount);
            matched += amount;
          }
          both();
          break;
        }
        case "unpriced":
          calls.push(isChanged ? { ...call, isUnpriced: true } : call);
          bill.push(billOf(call));
          if (isChanged && timeOf(call) < wholeUntil) expect("unpriced", amount);
          both();
          break;
        case "cache_kind": {
          const shift = Math.min(50, call.counts.input_tokens);
          const billed = {
            ...call.counts,
            input_tokens: call.counts.input_tokens - shift,
            cache_read_tokens: call.counts.cache_read_tokens + shift,
          };
          calls.push(call);
          bill.push(billOf({ ...call, counts: billed }));
          if (isBilled(call) && timeOf(call) < wholeUntil) {
            expect("cache_kind", amountOf(model, billed) - amount);
            matched += amountOf(model, billed);
          }
          break;
        }
        case "model_alias":
          calls.push(call);
          bill.push(billOf(call, { billedModel: "another-name" }));
          both();
          break;
        case "boundary": {
          // Counted by the other rule: it crosses the border of its bucket, whatever the others do.
          const border = call.at - call.at % DAY + 12 * HOUR;
          const crossing = index % 4 === 0
            ? { ...call, at: border - 10_000, endedAt: border + 10_000 }
            : call;
          calls.push(crossing);
          const other = countsBy === "start" ? crossing.endedAt : crossing.at;
          bill.push(billOf(index % 4 === 0 ? { ...crossing, at: other, endedAt: other } : crossing));
          if (timeOf(crossing) < wholeUntil && isBilled(crossing)) matched += amount;
          break;
        }
        default:
          calls.push(call);
          bill.push(billOf(call));
          both();
      }
      if (cause !== "bypass" || !isChanged) {
        const booked = calls.at(-1)!;
        const isOwed = isBilled(booked) && timeOf(booked) >= wholeUntil && !booked.isUnpriced;
        if (isOwed) expect("late", -amountOf(model, booked.counts));
      }
    }
  }

  addModel("alpha", undefined);
  addModel("bravo", undefined);
  const changing = injected.filter((cause) => cause !== "late" && !EXTRAS.some((extra) => extra === cause));
  changing.forEach((cause, index) => addModel(`m${String.fromCharCode(99 + index)}-${cause}`, cause));

  const lines = toLines(provider, bill.filter(isBilled).filter((call) => timeOf(call) < wholeUntil), timeOf);
  const extra = (line: Partial<NumberedLine>, amount: bigint) =>
    lines.push({
      position: 0,
      series: "cost",
      category: "usage",
      startsAt: FROM + DAY,
      endsAt: FROM + DAY + (provider.costMs || DAY),
      currency: "USD",
      amount: toText(amount),
      ...line,
    });
  for (const cause of EXTRAS) {
    if (!injected.includes(cause)) continue;
    const amount = EXTRA[cause] * 10n ** 16n;
    expect(cause, amount);
    extra(
      cause === "tool_fee"
        ? {
          part: "web_searches",
          model: "alpha",
          ...(provider.hasQuantities && { quantity: "5", unit: "searches" }),
          ...(provider.hasKeyInCosts && { credential: "key_one" }),
        }
        : {
          ...cause in NAMED ? NAMED[cause as "fx"] : { category: cause as "fee", sku: cause },
          endsAt: FROM + DAYS * DAY,
        },
      amount,
    );
  }
  const others = below(3);
  for (let index = 0; index < others; index++) {
    extra({ category: "usage", model: "alpha", currency: "EUR" }, 10n ** 18n);
  }
  if (unexplained !== 0n) {
    const target = lines.find(({ series, model, startsAt }) =>
      series === "cost" && model === "alpha" && startsAt >= FROM + 2 * DAY
    )!;
    target.amount = toText(toAtto(target.amount!) + unexplained);
    expect("unexplained", unexplained);
    if (unexplained < 0n) matched += unexplained;
  }
  if (injected.includes("model_alias")) expected.set("model_alias", 0n);
  const billed = lines.reduce(
    (sum, { amount, currency, series }) =>
      sum + (amount && currency === "USD" && series === "cost" ? toAtto(amount) : 0n),
    0n,
  );
  const cells = calls.map((call) => toCell(call, provider));
  const booked = cells.filter((_, index) => isBilled(calls[index]!)).reduce(
    (sum, { bookedNanoUsd }) => sum + bookedNanoUsd,
    0n,
  );
  return {
    provider,
    expected,
    injected,
    calls,
    lines,
    billed,
    booked,
    matched,
    others,
    setup: {
      terms: {
        provider: null,
        ...(!isUnknown && { countsBy } as const),
      },
      amountDecimals: provider.decimals ?? 18,
      isByCall: provider.usageMs === undefined,
      from: FROM,
      to,
      own: new Set(["key_one", "key_two"]),
      whole: { from: FROM, to: wholeUntil },
      hasModels: true,
      usageGrain: ["model", "credential", "serviceTier"],
      costGrain: provider.hasKeyInCosts ? ["model", "credential", "serviceTier"] : ["model", "serviceTier"],
      hasCosts: true,
      parts: new Set(PARTS),
      aliases: new Map(),
    },
    days: Array.from({ length: DAYS }, (_, day) => {
      const [startsAt, endsAt] = [FROM + day * DAY, FROM + (day + 1) * DAY];
      const isIn = (at: number) => at >= startsAt && at < endsAt;
      return {
        startsAt,
        endsAt,
        lines: lines.filter((line) => isIn(line.startsAt)),
        calls: cells.filter((cell) => isIn(cell.startsAt) || isIn(cell.endedAt)),
      };
    }),
  };
}
