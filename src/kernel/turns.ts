/**
 * Divides the event loop among long work: after each slice of it, everything else that waits is served, and the work of
 * all callers continues in the order in which they ran out.
 */
export interface Turns {
  /**
   * Counts work, in units of about a character of JSON. Returns undefined while the current slice has room, and otherwise
   * a promise to await before the work continues.
   */
  spend(units: number): Promise<void> | undefined;
}

/** The units of one slice: 2 to 10 ms of encoding, hashing or parsing. */
export const SLICE_UNITS = 256 * 1024;

/** Creates the turns of a process. `nextTurn` resolves after the event loop has served what waits. */
export function createTurns(nextTurn: () => Promise<void>, sliceUnits = SLICE_UNITS): Turns {
  const waiting: { units: number; resolve: () => void }[] = [];
  let spent = 0;

  /**
   * In each turn of the event loop as many callers continue as share one slice, going by the work that each has done last: many
   * callers hold it no longer than one, and those with little to do don't wait for a turn each.
   */
  async function release(): Promise<void> {
    while (waiting.length > 0) {
      await nextTurn();
      spent = 0;
      let planned = 0;
      do {
        const { units, resolve } = waiting.shift()!;
        planned += units;
        resolve();
      } while (waiting.length > 0 && planned + waiting[0]!.units <= sliceUnits);
    }
  }

  return {
    spend(units) {
      spent += units;
      if (spent < sliceUnits && waiting.length === 0) return undefined;
      return new Promise((resolve) => {
        if (waiting.push({ units, resolve }) === 1) release();
      });
    },
  };
}

/** Runs work that counts its units by `yield`, in slices; without turns, at once. */
export async function inTurns<Result>(
  turns: Turns | undefined,
  work: Generator<number, Result>,
): Promise<Result> {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
    const turn = turns?.spend(value);
    if (turn) await turn;
  }
}
