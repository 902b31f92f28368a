const FACTOR = Number(Deno.env.get("PURSER_THOROUGH") ?? 1);

/** True in a thorough run. */
export const isThorough: boolean = FACTOR > 1;

/** Returns the number of random cases to try: this many in the gate, `PURSER_THOROUGH` times as many in a thorough run. */
export function cases(inGate: number): number {
  return Math.ceil(inGate * FACTOR);
}
