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

/** The units of small work of which each alone needs no turn: the events of a stream, as models write them. */
const SMALL_WORK = SLICE_UNITS / 4;

/** Returns a `spend` for work that comes in small parts: it takes turns for many of them together. */
export function spendInParts(turns: Turns): Turns["spend"] {
  let unspent = 0;
  return (units) => {
    unspent += units;
    if (unspent < SMALL_WORK) return undefined;
    const turn = turns.spend(unspent);
    unspent = 0;
    return turn;
  };
}

/** Waits for as many turns as some work takes that is done in one piece afterwards: so others are served in proportion. */
export async function awaitTurns(turns: Turns, units: number): Promise<void> {
  for (let left = units; left > 0; left -= SLICE_UNITS) await turns.spend(Math.min(left, SLICE_UNITS));
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

/** The largest chunk that is encoded at once. */
const CHUNK_CHARACTERS = 64 * 1024;

/** The units of work of encoding a chunk, besides its characters. */
const CHUNK_UNITS = 64;

/** Encodes pieces of text in chunks of bounded size, in turn with other long work. */
export async function* encodeInTurns(
  pieces: AsyncIterable<string>,
  turns: Turns | undefined,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder();
  for await (const piece of pieces) {
    for (let start = 0; start < piece.length;) {
      let end = Math.min(start + CHUNK_CHARACTERS, piece.length);
      // A surrogate pair must not be split.
      if (end < piece.length && (piece.charCodeAt(end - 1) & 0xfc00) === 0xd800) end++;
      const turn = turns?.spend(CHUNK_UNITS + end - start);
      if (turn) await turn;
      yield encoder.encode(piece.slice(start, end));
      start = end;
    }
  }
}

/**
 * The memory that the answer to one client takes. What may be large is made through it, part by part, so that clients that don't
 * read can't fill the memory. Answers within the process have none: their reader is the program itself.
 */
export interface MemoryShare {
  /**
   * Resolves when the next part may be made in place of the one before, which has been read: there is room, and it is this client's
   * turn. What waits for that still holds the one before. Rejects once the client has left.
   */
  room(): Promise<void>;
  /** Sets the bytes that are held from now on, in place of those before. */
  hold(bytes: number): void;
  /** The same for a part that is still arriving; returns a promise to await before more of it is read, where there is no room. */
  grow(bytes: number): Promise<void> | undefined;
}

/** Parts below this size need no room: the buffers of the system take them. */
export const SMALL_PART_BYTES = 64 * 1024;

/** The memory of a text for each of its characters: what is sent of it is made beside it. */
export const BYTES_PER_CHARACTER = 2;

/** Yields pages of texts as they are; each is made when there is room for it, and held until the next one. */
export async function* paced(
  pages: AsyncIterable<readonly string[]>,
  share: MemoryShare | undefined,
): AsyncGenerator<readonly string[]> {
  const iterator = pages[Symbol.asyncIterator]();
  try {
    for (;;) {
      await share?.room();
      const { done, value } = await iterator.next();
      if (done) return;
      share?.hold(BYTES_PER_CHARACTER * value.reduce((sum, text) => sum + text.length, 0));
      yield value;
    }
  } finally {
    share?.hold(0);
    await iterator.return?.();
  }
}
