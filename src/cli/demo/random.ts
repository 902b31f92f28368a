/** A source of numbers that is the same for the same seed. */
export interface Random {
  /** Returns a number of [0, 1). */
  next(): number;
  /** Returns a whole number between two, both included. */
  whole(from: number, to: number): number;
  pick<One>(list: readonly One[]): One;
  /** Returns a whole number that is `mean` on average: it, rounded up or down. */
  count(mean: number): number;
  bytes(length: number): Uint8Array;
}

/** Creates a source of numbers (mulberry32). */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  return {
    next,
    whole: (from, to) => from + Math.floor(next() * (to - from + 1)),
    pick: (list) => list[Math.floor(next() * list.length)]!,
    count: (mean) => Math.floor(mean + next()),
    bytes: (length) => Uint8Array.from({ length }, () => Math.floor(next() * 256)),
  };
}
