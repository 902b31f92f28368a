import type { Cause } from "../../contract/bills/causes.ts";
import { addPart, type Cell, type Cells, explain, REQUESTS } from "./cells.ts";
import { type DimensionName, DIMENSIONS, type Dimensions } from "./dimensions.ts";
import { lesser, type MicroUnits, sizeOf } from "./exact.ts";

/* Quantities that agree once they are moved: to another value of a dimension, to another kind of input, to an adjacent bucket. */

const CAUSE_OF: Readonly<Record<Exclude<DimensionName, "credential" | "project">, Cause>> = {
  serviceTier: "tier",
  region: "geo",
  speed: "speed",
  context: "context",
};

/** Explains the quantities that agree once they are moved between two cells that differ in one dimension. */
export function moveDimensions(cells: Cells): void {
  const groups = new Map<string, Cell[]>();
  for (const cell of cells.all.values()) {
    if (cell.rest.size === 0 || cell.responseId !== undefined) continue;
    const key = `${cell.startsAt}\0${cell.dimensions.model ?? ""}`;
    const group = groups.get(key);
    if (group) group.push(cell);
    else groups.set(key, [cell]);
  }
  for (const group of groups.values()) {
    for (const less of group) {
      for (const more of group) {
        const name = less === more ? undefined : onlyDifference(less.dimensions, more.dimensions);
        if (name === undefined || less.rest.size === 0) continue;
        if (name === "credential" || name === "project") fillUnknown(less, more, name);
        else moveAll(less, more, name);
      }
    }
  }
}

function onlyDifference(one: Dimensions, other: Dimensions): DimensionName | undefined {
  const different = DIMENSIONS.filter((name) => one[name] !== other[name]);
  return different.length === 1 ? different[0] : undefined;
}

/** Moves all of a cell to another one, if that leaves nothing of both. */
function moveAll(less: Cell, more: Cell, name: keyof typeof CAUSE_OF): void {
  if (less.rest.size !== more.rest.size) return;
  for (const [part, rest] of less.rest) if (rest >= 0n || more.rest.get(part) !== -rest) return;
  const [from, to] = [less.dimensions[name], more.dimensions[name]];
  const cause = name === "serviceTier" && (from === "batch" || to === "batch") ? "batch" : CAUSE_OF[name];
  for (const [part, rest] of [...less.rest]) {
    explain(less, part, rest, cause, `booked as ${from}, billed as ${to}`);
    explain(more, part, -rest, cause, `booked as ${from}, billed as ${to}`);
  }
}

/** Gives a bill's key or project the calls that the ledger knows no key or project of: the same calls, so that nothing differs. */
function fillUnknown(less: Cell, more: Cell, name: "credential" | "project"): void {
  if (less.dimensions[name] !== undefined || less.bill.size > 0) return;
  const parts = [...less.rest].filter(([, rest]) => rest < 0n);
  const isWhole = parts.every(([part, rest]) => (more.rest.get(part) ?? 0n) >= -rest);
  if (!isWhole || parts.length === 0) return;
  for (const [part, { quantity, amount, unpriced }] of less.ours) {
    addPart(more.ours, part, quantity, amount, unpriced);
  }
  if (less.singles) more.singles = new Map([...more.singles ?? [], ...less.singles]);
  for (const [part, rest] of parts) {
    const left = more.rest.get(part)! + rest;
    if (left === 0n) more.rest.delete(part);
    else more.rest.set(part, left);
  }
  more.calls += less.calls;
  more.doubtful += less.doubtful;
  more.bookedNanoUsd += less.bookedNanoUsd;
  more.callId = more.calls === 1 ? less.callId : undefined;
  less.ours.clear();
  less.rest.clear();
  Object.assign(less, { calls: 0, doubtful: 0, bookedNanoUsd: 0n });
}

const INPUT_KINDS = [
  "input_tokens",
  "cache_read_tokens",
  "cache_write_tokens",
  "cache_write_1h_tokens",
  "cache_write_12h_tokens",
];

/** Explains input tokens that are the same in total, and split otherwise. */
export function moveCacheKinds(cell: Cell): void {
  const kinds = INPUT_KINDS.filter((part) => cell.rest.has(part));
  if (kinds.length < 2 || kinds.reduce((sum, part) => sum + cell.rest.get(part)!, 0n) !== 0n) return;
  for (const part of kinds) {
    explain(
      cell,
      part,
      cell.rest.get(part)!,
      "cache_kind",
      "the input is the same in total, and split otherwise",
    );
  }
}

/** A quantity that may be in a later bucket. */
interface Pending {
  cell: Cell;
  /** Positive where the bill has more. */
  left: MicroUnits;
}

/** The buckets of one value of each dimension, in the order of their times. */
interface Chain {
  /** The end of the last bucket. */
  last: number;
  /** By part, the oldest first; all of one sign. */
  pending: Map<string, Pending[]>;
  /** The quantities of the calls that cross a border, by border and part. */
  crossing: Map<number, Map<string, MicroUnits>>;
}

/**
 * Explains what the provider has counted in another bucket than the ledger: at most what the calls that cross the border between both
 * can have moved, and only where one bucket lacks what the other one has too much.
 */
export class BorderBand {
  readonly #chains = new Map<string, Chain>();

  constructor(readonly firstBorder: number) {}

  #chain(name: string): Chain {
    let chain = this.#chains.get(name);
    if (!chain) {
      this.#chains.set(name, chain = { last: this.firstBorder, pending: new Map(), crossing: new Map() });
    }
    return chain;
  }

  /** Adds calls that cross the border between two buckets. */
  cross(name: string, border: number, part: string, quantity: MicroUnits): void {
    const { crossing } = this.#chain(name);
    let parts = crossing.get(border);
    if (!parts) crossing.set(border, parts = new Map());
    parts.set(part, (parts.get(part) ?? 0n) + quantity);
  }

  /** Moves quantities between the next cell of a chain and those before it. */
  pass(name: string, cell: Cell): void {
    const chain = this.#chain(name);
    const isFirst = chain.last === this.firstBorder;
    if (isFirst && cell.startsAt === this.firstBorder) {
      explainOutside(cell, chain.crossing.get(this.firstBorder), "calls at the start of the month");
    }
    this.#crossTo(chain, cell);
    for (const [part, rest] of [...cell.rest]) {
      const pending = chain.pending.get(part);
      if (pending?.length && pending[0]!.left > 0n !== rest > 0n) take(cell, part, pending);
      const left = cell.rest.get(part) ?? 0n;
      if (left === 0n) continue;
      if (pending) pending.push({ cell, left });
      else chain.pending.set(part, [{ cell, left }]);
    }
  }

  /** Explains what may have left the last bucket of all for the next month, or come from it. */
  end(border: number): void {
    for (const { pending, crossing } of this.#chains.values()) {
      const last = [...pending.values()].flat().map(({ cell }) => cell);
      for (const cell of new Set(last)) {
        if (cell.endsAt === border && !cell.isFinal) {
          explainOutside(cell, crossing.get(border), "calls at the end of the month");
        }
      }
    }
  }

  /** Crosses the borders up to a bucket: what can't have crossed stays where it was. */
  #crossTo(chain: Chain, { startsAt, endsAt }: Cell): void {
    const { last: from, pending, crossing } = chain;
    const width = endsAt - startsAt;
    for (const [part, waiting] of pending) {
      let room = crossing.get(from)?.get(part) ?? 0n;
      for (let border = from + width; border <= startsAt && room > 0n; border += width) {
        room = lesser(room, crossing.get(border)?.get(part) ?? 0n);
      }
      const kept: Pending[] = [];
      for (let index = waiting.length - 1; index >= 0 && room > 0n; index--) {
        const { cell, left } = waiting[index]!;
        const size = cell.isFinal ? 0n : lesser(room, sizeOf(left));
        if (size > 0n) kept.unshift({ cell, left: left < 0n ? -size : size });
        room -= size;
      }
      if (kept.length > 0) pending.set(part, kept);
      else pending.delete(part);
    }
    for (const border of crossing.keys()) if (border <= startsAt) crossing.delete(border);
    chain.last = endsAt;
  }
}

/** Explains quantities that may be in the adjacent bucket of another month. */
function explainOutside(
  cell: Cell,
  crossing: ReadonlyMap<string, MicroUnits> | undefined,
  evidence: string,
): void {
  for (const [part, room] of crossing ?? []) {
    const rest = cell.rest.get(part) ?? 0n;
    const size = lesser(room, sizeOf(rest));
    explain(cell, part, rest < 0n ? -size : size, "boundary", evidence);
  }
}

/** Nets what is left of a cell with what the buckets before it have of the opposite sign, the latest first. */
function take(cell: Cell, part: string, pending: Pending[]): void {
  const evidence = "calls that began in one bucket and ended in another";
  for (let rest = cell.rest.get(part)!; rest !== 0n && pending.length > 0; rest = cell.rest.get(part) ?? 0n) {
    const one = pending.at(-1)!;
    const size = lesser(sizeOf(rest), sizeOf(one.left));
    const taken = rest < 0n ? -size : size;
    explain(cell, part, taken, "boundary", evidence);
    explain(one.cell, part, -taken, "boundary", evidence);
    one.left += taken;
    if (one.left === 0n) pending.pop();
  }
}

/** Returns the sum of what is left to explain, by which two ways to count are compared. */
export function restOf(cells: Cells): bigint {
  let sum = 0n;
  for (const { rest, responseId } of cells.all.values()) {
    if (responseId !== undefined) continue;
    for (const [part, quantity] of rest) if (part !== REQUESTS) sum += sizeOf(quantity);
  }
  return sum;
}
