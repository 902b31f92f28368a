const FACTOR = Number(Deno.env.get("PURSER_THOROUGH") ?? 1);

/** True in a thorough run. */
export const isThorough: boolean = FACTOR > 1;

/**
 * Returns whether a test of a table is tried: one of so many in the gate, by its place in the table, every one in a thorough run.
 */
export function isInTurn(place: number, of = 2): boolean {
  return isThorough || place % of === 0;
}

/** Returns the number of random cases to try: this many in the gate, `PURSER_THOROUGH` times as many in a thorough run. */
export function cases(inGate: number): number {
  return Math.ceil(inGate * FACTOR);
}
