import { movePoint } from "../../../src/bills/lines/decimal.ts";
import type { Cause } from "../../../src/contract/bills/causes.ts";
import { DAY_MS, toIso } from "../../../src/kernel/clock.ts";
import { divideHalfEven } from "../../../src/kernel/money.ts";
import { toText } from "./provider_lines.ts";

/** The rules by which a source makes a bill of calls, and what those of several sources share. */

/** A call, and what has become of it: `past` is on the bill alone, `unbilled` in the ledger alone, a `blocked` one has usage and no cost. */
export interface Call {
  id: string;
  at: number;
  model: string;
  input: number;
  cacheRead: number;
  output: number;
  fate: Fate;
}
export type Fate = "both" | "past" | "unbilled" | "blocked" | "cut";
type Count = "input" | "cacheRead" | "output";

/** Pico-USD for each token. */
export const PRICES = { input: 2_718_281n, cacheRead: 271_828n, output: 14_142_135n };
export const COUNTS = Object.keys(PRICES) as Count[];
const ATTO_PER_PICO = 1_000_000n;

export const sumOf = (calls: readonly Call[], count: Count) =>
  calls.reduce((sum, call) => sum + call[count], 0);
export const promptOf = (calls: readonly Call[]) => sumOf(calls, "input") + sumOf(calls, "cacheRead");
export const costOf = (calls: readonly Call[], count: Count) =>
  calls.reduce((sum, call) => sum + BigInt(call[count]), 0n) * PRICES[count] * ATTO_PER_PICO;
/** The price of calls in atto-USD. */
export const priceOf = (...calls: readonly Call[]) =>
  COUNTS.reduce((sum, count) => sum + costOf(calls, count), 0n);

/** A bill to make. */
export interface Bill {
  calls: readonly Call[];
  /** In percent of the list price. */
  share: bigint;
  /** The amount that is billed too much, in atto-USD, on the first day. */
  mistake: bigint;
  extras: Partial<Record<Cause, bigint>>;
}

/** The first day, and the time at which the bill has ended. */
export const START = Date.parse("2026-11-21T00:00:00Z");
export const DAYS = 5;
export const END = START + DAYS * DAY_MS;

/** The form of a source's bills. */
export interface Form {
  source: string;
  /** As the ledger names them. */
  provider: string;
  models: readonly string[];
  account?: string;
  /** The provider's id of the key. */
  credential?: string;
  /** The width of its buckets, in which amounts alone can't tell what has become of which call. */
  onlyAmountsMs?: number;
  hasNoModels?: true;
  /** It bills nothing: the price of its calls is shown as their equivalent. */
  isEstimate?: true;
  /** The ways in which calls of the ledger may be missing on it. */
  fates?: readonly Fate[];
  /** The shares of the list price that it may have. */
  shares?: readonly bigint[];
  /** The amounts of lines that are of no call, by their cause: in atto-USD. */
  extras?: Partial<Record<Cause, bigint>>;
  /** The amount that it names and doesn't bill. */
  equivalent?: string;
  /** Returns the rows of the answer to a request. */
  rows?(bill: Bill, url: URL, body: Record<string, unknown>): string[];
  /** Returns a file, and the names of its columns. */
  file?(bill: Bill): { text: string; columns?: Record<string, string> };
}

export const CENT = 10n ** 16n;
/** Formats an amount with at most so many decimals. */
export const usd = (atto: bigint, decimals: number) => {
  const unit = 10n ** BigInt(18 - decimals);
  return movePoint(toText(divideHalfEven(atto, unit) * unit), 0);
};
export const cents = (atto: bigint, decimals: number) => movePoint(usd(atto, decimals + 2), 2);
export const iso = (at: number) => toIso(at).replace(".000", "");
export const dateOf = (at: number) => toIso(at).slice(0, 10);
export const within = (calls: readonly Call[], from: number, to: number) =>
  calls.filter(({ at }) => at >= from && at < to);
export const onDay = (calls: readonly Call[], day: string | null) =>
  calls.filter(({ at }) => dateOf(at) === day);

export interface Group {
  at: number;
  model: string;
  own: readonly Call[];
  /** The calls that are paid for. */
  paid: readonly Call[];
  /** The amount that is billed too much. */
  more: bigint;
}

/** Groups calls by buckets and models; what is billed too much is in the first one. */
export function groupsOf(
  { calls, mistake }: Bill,
  own: readonly Call[],
  widthMs: number,
  hasModels = true,
): Group[] {
  const groups = Map.groupBy(own, ({ at, model }) => `${at - at % widthMs} ${hasModels ? model : ""}`);
  return [...groups].map(([key, own]) => ({
    at: Number(key.split(" ")[0]),
    model: key.slice(key.indexOf(" ") + 1),
    own,
    paid: own.filter(({ fate }) => fate !== "blocked"),
    more: own.includes(calls[0]!) ? mistake : 0n,
  }));
}
export const shared = (atto: bigint, { share }: Bill) => atto * share / 100n;
export const extraOf = ({ extras }: Bill, cause: Cause) => extras[cause] ?? 0n;

export const CLAUDE = ["claude-sonnet-5", "claude-opus-5"];
export const ROUTED = ["openai/gpt-6-astra", "anthropic/claude-sonnet-5"];
/** The amounts of the counts of a group. */
export const amountsOf = ({ paid, more }: Group) =>
  COUNTS.map((count) => [count, costOf(paid, count) + (count === "output" ? more : 0n)] as const)
    .filter(([, amount]) => amount !== 0n);
