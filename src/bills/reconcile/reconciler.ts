import type { Cause, MatchLevel } from "../../contract/bills/causes.ts";
import { startOf } from "../../contract/windows.ts";
import type { NanoUsd } from "../../kernel/money.ts";
import type { BillTerms } from "../sources/bill_terms.ts";
import {
  type Cell,
  Cells,
  compareQuantities,
  type LedgerCell,
  levelOf,
  type NumberedLine,
  REQUESTS,
} from "./cells.ts";
import { causeOfCategory, explainRest, isLate, type Known } from "./classify.ts";
import { dimensionsOfLine, type Grain, pick, textOf } from "./dimensions.ts";
import { ATTO_PER_NANO, type AttoUsd, MICRO, type MicroUnits, toAtto } from "./exact.ts";
import { BorderBand, moveCacheKinds, moveDimensions, restOf } from "./move_quantities.ts";
import { compareMoney } from "./compare_money.ts";
import { findAliases, OneSided } from "./find_aliases.ts";
import { PriceRuns } from "./price_runs.ts";
import { addVariance, type Variance } from "./variance.ts";

/** The month to compare, and the facts that hold for all of its days. */
export interface Setup extends Known {
  terms: Pick<BillTerms, "countsBy" | "provider">;
  /** The most decimals of an amount of the bill: half of the last one bounds the rounding of a line. */
  amountDecimals: number;
  /** The month: [from, to). */
  from: number;
  to: number;
  /** The dimensions of usage and of costs, as both sides know them. */
  usageGrain: Grain;
  costGrain: Grain;
  /** True if the source states amounts; else its quantities are priced as the ledger prices them. */
  hasCosts: boolean;
  /** The bill has one amount for all parts and no kind of cached input: it is among the other input. */
  hidesCache?: boolean;
  /** The calls of the month are few: each is compared by itself, so that those that a bill lacks are found. */
  isByCall?: boolean;
  /** The parts that the bill names: those that it doesn't name are compared as the part that has them. */
  parts: ReadonlySet<string>;
  /** The ledger's names of the models that the bill names otherwise. */
  aliases: ReadonlyMap<string, string>;
}

/** Both sides of a day, or of the month if a line is longer than a day. */
export interface DaySides {
  startsAt: number;
  endsAt: number;
  lines: readonly NumberedLine[];
  calls: readonly LedgerCell[];
}

/** An estimate, and the counts that the bill proves for it. */
export interface Proposal {
  callId: string;
  /** The counts by part, as the bill has them. */
  counts: Readonly<Record<string, number>>;
}

/** The result of a comparison. The amounts of the variances add up to the difference. */
export interface Reconciled {
  billed: AttoUsd;
  /** Of usage. */
  billedUsage: AttoUsd;
  bookedNanoUsd: NanoUsd;
  lines: number;
  calls: number;
  variances: Variance[];
  /** The amounts that both the bill and the ledger have, by how surely they are matched. */
  matched: Record<MatchLevel, AttoUsd>;
  /** The largest difference that rounding explains. */
  roundingBound: AttoUsd;
  proposals: Proposal[];
  /** Amounts that are no part of a sum: other currencies, and the API's prices of calls that a plan pays for. */
  others: Map<string, { lines: number; amount: AttoUsd }>;
}

/** The part that a finer part is compared as, where the bill doesn't tell it apart. */
const PARENTS: Readonly<Record<string, string>> = {
  reasoning_tokens: "output_tokens",
  output_audio_tokens: "output_tokens",
  output_image_tokens: "output_tokens",
  output_video_tokens: "output_tokens",
  input_audio_tokens: "input_tokens",
  input_image_tokens: "input_tokens",
  input_video_tokens: "input_tokens",
  cache_read_audio_tokens: "cache_read_tokens",
  cache_read_image_tokens: "cache_read_tokens",
  cache_write_1h_tokens: "cache_write_tokens",
  cache_write_12h_tokens: "cache_write_tokens",
};

/** The days that are kept open: a bucket may still explain one of the day before. */
const OPEN_DAYS = 1;

interface OpenDay {
  usage: Cells;
  money: Cells;
}

/**
 * Compares the lines of a bill with the calls of the ledger, day by day, in the provider's own buckets. It reads and writes nothing: see
 * docs/reconciliation.md for the method.
 */
export class Reconciler {
  readonly #result: Reconciled = {
    billed: 0n,
    billedUsage: 0n,
    bookedNanoUsd: 0n,
    lines: 0,
    calls: 0,
    variances: [],
    matched: { call: 0n, cell: 0n, bucket: 0n, day: 0n, total: 0n },
    roundingBound: 0n,
    proposals: [],
    others: new Map(),
  };
  readonly #variances = new Map<string, Variance>();
  readonly #runs = new PriceRuns();
  readonly #oneSided = new OneSided();
  readonly #open: OpenDay[] = [];
  readonly #band: BorderBand;
  #countsBy: "start" | "end";
  /** The rule by which the day before was counted. */
  #countedBy: "start" | "end";

  constructor(readonly setup: Setup) {
    this.#band = new BorderBand(setup.from);
    this.#countsBy = setup.terms.countsBy ?? "start";
    this.#countedBy = this.#countsBy;
  }

  /** Compares the next day. */
  addDay(day: DaySides): void {
    const lines = day.lines.filter((line) => this.#isUsage(line));
    const usageLines = lines.filter(({ series, quantity }) => series === "usage" && quantity !== undefined);
    const costLines = lines.filter(({ series }) => series === "cost");
    const isCounted = usageLines.length > 0;
    const counted = isCounted ? usageLines : costLines;
    const width = widthOf(counted, day);
    const { usageGrain, costGrain } = this.setup;
    const usage = new Cells(width, day.startsAt, isCounted ? usageGrain : costGrain, this.setup.isByCall);
    const hasRequests = counted.some(({ part, quantity }) => part === REQUESTS && quantity !== undefined);
    for (const line of counted) usage.addLine(line, this.setup.aliases);
    this.#place(usage, day.calls, hasRequests, day);
    moveDimensions(usage);
    for (const cell of usage.all.values()) moveCacheKinds(cell);
    const cells = [...usage.all.values()].sort((one, other) => one.startsAt - other.startsAt);
    for (const cell of cells) {
      if (cell.responseId === undefined && !isLate(cell, this.setup)) this.#band.pass(cell.chain, cell);
    }
    const moneyGrain = isCounted ? costGrain.filter((name) => usageGrain.includes(name)) : costGrain;
    const money = new Cells(Math.max(width, widthOf(costLines, day)), day.startsAt, moneyGrain);
    for (const line of costLines) money.addLine(line, this.setup.aliases);
    this.#open.push({ usage, money });
    if (this.#open.length > OPEN_DAYS) this.#close(this.#open.shift()!);
  }

  /** Returns the result, after the last day. */
  finish(): Reconciled {
    this.#band.end(this.setup.to);
    for (const day of this.#open.splice(0)) this.#close(day);
    this.#runs.end();
    const result = this.#result;
    const { variances, matched } = findAliases([...this.#variances.values()], this.#oneSided);
    result.matched.total += matched;
    result.variances = variances.filter(({ amount, quantity }) => amount !== 0n || quantity !== 0n);
    const explained = result.variances.reduce((sum, { amount }) => sum + amount, 0n);
    result.variances.push({
      cause: "rounding",
      from: this.setup.from,
      to: this.setup.to,
      dimensions: {},
      part: "",
      level: "total",
      quantity: 0n,
      amount: result.billed - result.bookedNanoUsd * ATTO_PER_NANO - explained,
      cells: 1,
      evidence: "of lines and of calls",
    });
    return result;
  }

  /** Counts a line, and returns whether it is compared with calls: in another currency by its quantity. */
  #isUsage(line: NumberedLine): boolean {
    const result = this.#result;
    result.lines++;
    const isOther = line.isEquivalent || (line.amount !== undefined && line.currency !== "USD");
    if (isOther) {
      const name = line.isEquivalent ? "equivalent" : line.currency ?? "";
      const other = result.others.get(name) ?? { lines: 0, amount: 0n };
      result.others.set(name, {
        lines: other.lines + 1,
        amount: other.amount + (line.amount === undefined ? 0n : toAtto(line.amount)),
      });
      return !line.isEquivalent && line.category === "usage";
    }
    const amount = line.series === "cost" && line.amount !== undefined ? toAtto(line.amount) : 0n;
    result.billed += amount;
    if (line.category === "usage") {
      result.billedUsage += amount;
      return true;
    }
    const dimensions = dimensionsOfLine(line, ["model", "credential", "project"], this.setup.aliases);
    const evidence = line.sku ?? line.category;
    const name = evidence.toLowerCase().replaceAll(/[_-]/g, " ");
    this.#add(causeOfCategory(line.category, name), { ...line, dimensions }, evidence, 0n, amount, evidence);
    return false;
  }

  /** Places calls in the buckets in which the provider counts them. If no document says which, those in which more agrees. */
  #place(
    usage: Cells,
    calls: readonly LedgerCell[],
    hasRequests: boolean,
    { startsAt, endsAt }: DaySides,
  ): void {
    const { setup } = this;
    const foldOf = (part: string): string => {
      const parent = PARENTS[part] ??
        (setup.hidesCache && part.startsWith("cache_") ? "input_tokens" : undefined);
      return parent === undefined || setup.parts.has(part) ? part : foldOf(parent);
    };
    const isFirst = startsAt === setup.from;
    const before = this.#countedBy;
    // A call that began on another day is counted here if it was not counted there.
    const timeOf = (one: LedgerCell, by: "start" | "end"): number | undefined => {
      if (one.startsAt < startsAt) return (isFirst ? by : before) === "end" ? one.endedAt : undefined;
      return by === "start" ? one.startsAt : one.endedAt < endsAt ? one.endedAt : undefined;
    };
    const put = (one: LedgerCell, by: "start" | "end", sign?: 1n | -1n) => {
      const time = timeOf(one, by);
      if (time !== undefined) usage.addCalls(one, time, foldOf, sign);
    };
    const compare = () => {
      for (const cell of usage.all.values()) compareQuantities(cell, hasRequests);
    };
    for (const one of calls) put(one, this.#countsBy);
    compare();
    const crossing = calls.filter(({ startsAt: began, endedAt, responseId }) =>
      responseId === undefined && (began >= startsAt || isFirst) &&
      usage.bucketOf(began) !== usage.bucketOf(endedAt)
    );
    // A day without its whole bill says nothing: fewer calls would always fit better.
    const isTold = !isLate({ startsAt, endsAt }, setup);
    if (setup.terms.countsBy === undefined && isTold && crossing.length > 0) {
      const rest = restOf(usage);
      const other = this.#countsBy === "start" ? "end" : "start";
      const swap = (from: "start" | "end", to: "start" | "end") => {
        for (const one of crossing) {
          put(one, from, -1n);
          put(one, to);
        }
        compare();
      };
      swap(this.#countsBy, other);
      if (restOf(usage) < rest) this.#countsBy = other;
      else swap(other, this.#countsBy);
    }
    this.#countedBy = this.#countsBy;
    for (const one of crossing) this.#cross(usage, one, foldOf);
    for (const [key, cell] of usage.all) {
      if (cell.calls === 0 && cell.bill.size === 0) usage.all.delete(key);
      this.#result.calls += cell.calls;
      this.#result.bookedNanoUsd += cell.bookedNanoUsd;
    }
  }

  /** Adds what may be in another bucket than its own. */
  #cross(usage: Cells, one: LedgerCell, foldOf: (part: string) => string): void {
    const chain = textOf(pick(one.dimensions, usage.grain));
    const last = usage.bucketOf(one.endedAt);
    const first = usage.bucketOf(one.startsAt) + usage.widthMs;
    for (
      let border = first;
      border <= last && border - first < MAX_BORDERS * usage.widthMs;
      border += usage.widthMs
    ) {
      for (const { part, quantity } of one.parts) this.#band.cross(chain, border, foldOf(part), quantity);
      this.#band.cross(chain, border, REQUESTS, BigInt(one.calls) * MICRO);
    }
  }

  /** Explains what is left of a day, and compares its amounts. */
  #close({ usage, money }: OpenDay): void {
    const sources = new Map<Cell, Cell[]>();
    for (const cell of money.all.values()) sources.set(cell, []);
    for (const cell of usage.all.values()) {
      cell.isFinal = true;
      explainRest(cell, this.setup);
      this.#propose(cell);
      if (!isLate(cell, this.setup)) this.#oneSided.add(cell);
      const target = money.at(cell.startsAt, pick(cell.dimensions, money.grain), cell.responseId);
      const known = sources.get(target);
      if (known) known.push(cell);
      else sources.set(target, [cell]);
    }
    usage.all.clear();
    const cells = [...sources].sort(([one], [other]) => one.startsAt - other.startsAt);
    for (const [cell, of] of cells) this.#compareMoney(cell, of);
  }

  #compareMoney(cell: Cell, sources: readonly Cell[]): void {
    const result = this.#result;
    const most = sources.length === 1 ? sources[0]! : cell;
    compareMoney({ cell, sources, setup: this.setup }, {
      add: (cause, part, quantity, amount, evidence, source) =>
        this.#add(cause, source ?? cell, part, quantity, amount, evidence, levelOf(source ?? most)),
      match: (level, amount) => result.matched[level] += amount,
      bound: (amount) => result.roundingBound += amount,
      price: (sku, interval, settle) => this.#runs.add(sku, interval, settle),
      bill: (amount) => {
        result.billed += amount;
        result.billedUsage += amount;
      },
    });
  }

  /** Proposes the counts of an estimate that is the only request of its cell, or that a line names. */
  #propose(cell: Cell): void {
    const isSingle = ["call", "cell"].includes(levelOf(cell)) && cell.calls === 1;
    if (!isSingle || cell.doubtful !== 1 || !cell.callId) return;
    if (!cell.moved.some(({ cause }) => cause === "lost")) return;
    const counts: Record<string, number> = {};
    for (const [part, { quantity }] of cell.bill) {
      if (part !== REQUESTS && quantity !== undefined) counts[part] = Number(quantity / MICRO);
    }
    this.#result.proposals.push({ callId: cell.callId, counts });
  }

  #add(
    cause: Cause,
    { startsAt, endsAt, dimensions }: Pick<Cell, "startsAt" | "endsAt" | "dimensions">,
    part: string,
    quantity: MicroUnits,
    amount: AttoUsd,
    evidence: string,
    level: MatchLevel = "total",
  ): void {
    const key = [cause, startOf("day", startsAt), part, level, textOf(dimensions)].join("\0");
    const to = Math.max(endsAt, startsAt + 1);
    const one = { cause, from: startsAt, to, dimensions, part, level, quantity, amount, cells: 1, evidence };
    const known = this.#variances.get(key);
    if (known) addVariance(known, one);
    else this.#variances.set(key, one);
  }
}

/** The most borders that a call is taken to cross. */
const MAX_BORDERS = 1_440;

/** Returns the width of the buckets of some lines: the widest, as the narrower ones add up to it. */
function widthOf(lines: readonly NumberedLine[], { startsAt, endsAt }: DaySides): number {
  const widest = lines.reduce((most, line) => Math.max(most, line.endsAt - line.startsAt), 0);
  return widest === 0 ? endsAt - startsAt : Math.min(widest, endsAt - startsAt);
}
