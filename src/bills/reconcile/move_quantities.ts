import type { Cause } from "../../contract/bills/causes.ts";
import { type Cell, type Cells, explain, REQUESTS } from "./cells.ts";
import { type DimensionName, DIMENSIONS, type Dimensions } from "./dimensions.ts";
import { lesser, type MicroUnits, sizeOf } from "./exact.ts";

/* Quantities that agree once they are moved: to another value of a dimension, to another kind of input, to the bucket next door. */

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
  for (const [part, ours] of less.ours) {
    const known = more.ours.get(part) ?? { quantity: 0n, amount: 0n };
    more.ours.set(part, { quantity: known.quantity + ours.quantity, amount: known.amount + ours.amount });
  }
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

/** A quantity that may be next door. */
interface Pending {
  /** Undefined for the calls from before the first bucket. */
  cell: Cell | undefined;
  left: MicroUnits;
}

/** The buckets of one value of each dimension, in the order of their times. */
interface Chain {
  /** The end of the last bucket. */
  last: number;
  /** By part, the oldest first. */
  pending: Map<string, Pending[]>;
  /** What calls that cross a border could move over it, by border and part. */
  crossing: Map<number, Map<string, MicroUnits>>;
}

/**
 * Explains what the provider has counted in a later bucket than the ledger, or with the direction -1 in an earlier one: at most what
 * the calls that cross the border between both can have moved, and only where one bucket lacks what another one has too much.
 */
export class BorderBand {
  readonly #chains = new Map<string, Chain>();
  direction: 1n | -1n = 1n;

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

  /** Moves quantities into the next cell of a chain. */
  pass(name: string, cell: Cell): void {
    const chain = this.#chain(name);
    this.#crossTo(chain, cell);
    for (const [part, rest] of [...cell.rest]) {
      const signed = rest * this.direction;
      const pending = chain.pending.get(part);
      if (signed < 0n) {
        if (pending) pending.push({ cell, left: -signed });
        else chain.pending.set(part, [{ cell, left: -signed }]);
      } else if (pending) this.#take(cell, part, signed, pending);
    }
  }

  /** Explains what may have left the last bucket of all for the next month. */
  end(border: number): void {
    for (const { pending, crossing } of this.#chains.values()) {
      for (const [part, quantity] of crossing.get(border) ?? []) {
        let room = quantity;
        for (const { cell, left } of [...pending.get(part) ?? []].reverse()) {
          if (!cell || cell.endsAt !== border || cell.isFinal) continue;
          const taken = lesser(room, left);
          explain(cell, part, -taken * this.direction, "boundary", "calls at the end of the month");
          room -= taken;
        }
      }
    }
  }

  /** Crosses the borders up to a bucket: what can't have crossed stays where it was. */
  #crossTo(chain: Chain, { startsAt, endsAt }: Cell): void {
    const { last: from, pending, crossing } = chain;
    const width = endsAt - startsAt;
    const first = crossing.get(from);
    if (from === this.firstBorder) {
      for (const [part, quantity] of first ?? []) pending.set(part, [{ cell: undefined, left: quantity }]);
    }
    for (const [part, waiting] of pending) {
      let room = first?.get(part) ?? 0n;
      for (let border = from + width; border <= startsAt && room > 0n; border += width) {
        room = lesser(room, crossing.get(border)?.get(part) ?? 0n);
      }
      const kept: Pending[] = [];
      for (let index = waiting.length - 1; index >= 0 && room > 0n; index--) {
        const { cell, left: all } = waiting[index]!;
        const left = cell?.isFinal ? 0n : lesser(room, all);
        if (left > 0n) kept.unshift({ cell, left });
        room -= left;
      }
      if (kept.length > 0) pending.set(part, kept);
      else pending.delete(part);
    }
    for (const border of crossing.keys()) if (border <= startsAt) crossing.delete(border);
    chain.last = endsAt;
  }

  #take(cell: Cell, part: string, wanted: MicroUnits, pending: Pending[]): void {
    for (let left = wanted; left > 0n && pending.length > 0;) {
      const one = pending.at(-1)!;
      const taken = lesser(left, one.left);
      const evidence = one.cell
        ? "calls that began in one bucket and ended in another"
        : "calls that began before the month";
      explain(cell, part, taken * this.direction, "boundary", evidence);
      if (one.cell) explain(one.cell, part, -taken * this.direction, "boundary", evidence);
      left -= taken;
      one.left -= taken;
      if (one.left === 0n) pending.pop();
    }
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
