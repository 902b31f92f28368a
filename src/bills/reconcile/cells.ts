import type { Cause, MatchLevel } from "../../contract/bills/causes.ts";
import { DAY_MS } from "../../kernel/clock.ts";
import type { BillLine } from "../lines/bill_line.ts";
import { type Dimensions, dimensionsOfLine, type Grain, pick, textOf } from "./dimensions.ts";
import { type AttoUsd, MICRO, type MicroUnits, toAtto, toMicro } from "./exact.ts";

/** Calls of the ledger that began in one bucket of the finest width, and ended in one. */
export interface LedgerCell {
  /** The start of the bucket in which they began, and of that in which they ended. */
  startsAt: number;
  endedAt: number;
  /** All that the ledger knows of them. */
  dimensions: Dimensions;
  /** Set of the call that a line names by its response. */
  responseId?: string;
  calls: number;
  /** Those that failed, were cut off or are estimates: their counts may be wrong. */
  doubtful: number;
  /** The sum of their costs as they are booked, in nano-USD. */
  bookedNanoUsd: bigint;
  parts: readonly ({ part: string } & OurPart)[];
  /** The call, if it is one. */
  callId?: string;
}

/** A line with its position in the database, which names it. */
export type NumberedLine = BillLine & { position: number };

/** The number of requests as a part: it has a quantity, and no price of its own. */
export const REQUESTS = "requests";

/** The sums of a bill's lines of one part in a cell. */
export interface BillPart {
  lines: number;
  /** Undefined if no line states one. */
  quantity?: MicroUnits;
  amount?: AttoUsd;
  list?: AttoUsd;
  sku?: string | undefined;
  /** Set where a line states its amount in another one than USD. */
  currency?: string | undefined;
}

/** The sums of the ledger's calls of one part in a cell. */
export interface OurPart {
  quantity: MicroUnits;
  amount: AttoUsd;
  /** The share of the quantity that the ledger has no price for. */
  unpriced?: MicroUnits;
}

/** A quantity of a part that a cause explains: positive where the bill has more. */
export interface Moved {
  part: string;
  cause: Cause;
  quantity: MicroUnits;
  evidence: string;
}

/** Both sides of one bucket and one value of each dimension. */
export interface Cell {
  startsAt: number;
  endsAt: number;
  dimensions: Dimensions;
  /** The same for the cells of all buckets with these dimensions. */
  chain: string;
  responseId?: string;
  bill: Map<string, BillPart>;
  ours: Map<string, OurPart>;
  calls: number;
  doubtful: number;
  bookedNanoUsd: bigint;
  callId?: string | undefined;
  /** The parts of each call, where they are known one by one. */
  singles?: Map<string, Map<string, OurPart>>;
  /** The differences without a cause yet: the quantity of the bill less that of the ledger. */
  rest: Map<string, MicroUnits>;
  moved: Moved[];
  /** True once its differences are explained. */
  isFinal?: true;
}

/** The cells of a day, or of a month whose lines are longer than a day. */
export class Cells {
  readonly all = new Map<string, Cell>();

  /** Keeps each call that is added, too, if they are few. */
  constructor(
    readonly widthMs: number,
    readonly origin: number,
    readonly grain: Grain,
    readonly keeps = false,
  ) {}

  /** Returns the start of the bucket of a time. */
  bucketOf(at: number): number {
    return at - (((at - this.origin) % this.widthMs) + this.widthMs) % this.widthMs;
  }

  at(time: number, dimensions: Dimensions, responseId?: string): Cell {
    const startsAt = responseId === undefined ? this.bucketOf(time) : time;
    const chain = responseId ?? textOf(dimensions);
    const key = responseId === undefined ? `${startsAt}\0${chain}` : `\0${responseId}`;
    let cell = this.all.get(key);
    if (!cell) {
      cell = {
        startsAt,
        endsAt: responseId === undefined ? startsAt + this.widthMs : time,
        dimensions,
        chain,
        ...(responseId !== undefined && { responseId }),
        bill: new Map(),
        ours: new Map(),
        calls: 0,
        doubtful: 0,
        bookedNanoUsd: 0n,
        rest: new Map(),
        moved: [],
      };
      this.all.set(key, cell);
    }
    return cell;
  }

  addLine(line: NumberedLine, aliases: ReadonlyMap<string, string>): void {
    const cell = this.at(line.startsAt, dimensionsOfLine(line, this.grain, aliases), line.responseId);
    const part = line.part ?? "";
    let sum = cell.bill.get(part);
    if (!sum) cell.bill.set(part, sum = { lines: 0, sku: line.sku });
    sum.lines++;
    if (line.quantity !== undefined) sum.quantity = (sum.quantity ?? 0n) + toMicro(line.quantity);
    const { currency = "USD" } = line;
    if (currency !== "USD") {
      sum.currency = currency;
      return;
    }
    if (line.amount !== undefined) sum.amount = (sum.amount ?? 0n) + toAtto(line.amount);
    const list = line.listAmount ?? line.amount;
    if (list !== undefined) sum.list = (sum.list ?? 0n) + toAtto(list);
  }

  /** Adds calls to the bucket of a time, or takes them out of it. */
  addCalls(calls: LedgerCell, time: number, foldOf: (part: string) => string, sign: 1n | -1n = 1n): void {
    const cell = this.at(time, pick(calls.dimensions, this.grain), calls.responseId);
    const number = Number(sign);
    cell.calls += number * calls.calls;
    cell.doubtful += number * calls.doubtful;
    cell.bookedNanoUsd += sign * calls.bookedNanoUsd;
    cell.callId = cell.calls === 1 ? calls.callId : undefined;
    const single: Cell["ours"] | undefined = this.keeps ? new Map() : undefined;
    for (const { part, quantity, amount, unpriced = 0n } of calls.parts) {
      addPart(cell.ours, foldOf(part), sign * quantity, sign * amount, sign * unpriced);
      if (single) addPart(single, foldOf(part), quantity, amount);
    }
    if (sign < 0n) cell.singles?.delete(calls.callId!);
    else if (single) (cell.singles ??= new Map()).set(calls.callId!, single);
  }
}

/** Adds to a part of the ledger's calls. */
export function addPart(
  parts: Map<string, OurPart>,
  part: string,
  quantity: MicroUnits,
  amount: AttoUsd,
  unpriced: MicroUnits = 0n,
): void {
  const sum = parts.get(part);
  if (!sum) parts.set(part, { quantity, amount, unpriced });
  else {
    sum.quantity += quantity;
    sum.amount += amount;
    sum.unpriced = (sum.unpriced ?? 0n) + unpriced;
  }
}

/** Sets what is left to explain of a cell. Requests are only compared where the bill states them. */
export function compareQuantities(cell: Cell, hasRequests: boolean): void {
  cell.rest.clear();
  for (const part of new Set([...cell.bill.keys(), ...cell.ours.keys()])) {
    if (part === "" || part === REQUESTS) continue;
    const billed = cell.bill.get(part);
    // A line without a quantity, or for all parts, is compared by its amount.
    if (billed ? billed.quantity === undefined : cell.bill.has("")) continue;
    const rest = (billed?.quantity ?? 0n) - (cell.ours.get(part)?.quantity ?? 0n);
    if (rest !== 0n) cell.rest.set(part, rest);
  }
  if (!hasRequests) return;
  const requests = (cell.bill.get(REQUESTS)?.quantity ?? 0n) - BigInt(cell.calls) * MICRO;
  if (requests !== 0n) cell.rest.set(REQUESTS, requests);
}

/** Explains a quantity of a part by a cause. */
export function explain(
  cell: Cell,
  part: string,
  quantity: MicroUnits,
  cause: Cause,
  evidence: string,
): void {
  if (quantity === 0n) return;
  const left = (cell.rest.get(part) ?? 0n) - quantity;
  if (left === 0n) cell.rest.delete(part);
  else cell.rest.set(part, left);
  if (part !== REQUESTS) cell.moved.push({ part, cause, quantity, evidence });
}

const MINUTE_MS = 60_000;

/** Returns how surely the calls of a cell are matched with its lines. */
export function levelOf(cell: Cell): MatchLevel {
  if (cell.responseId !== undefined) return "call";
  const width = cell.endsAt - cell.startsAt;
  if (width <= MINUTE_MS && cell.calls === 1 && cell.bill.get(REQUESTS)?.quantity === MICRO) return "cell";
  return width < DAY_MS ? "bucket" : width === DAY_MS ? "day" : "total";
}
