import { inTurns, type Turns } from "../kernel/turns.ts";
import { setJson } from "./middleware/response_headers.ts";

/** The entries that are read at once. */
const PAGE = 500;

/**
 * Reads a list that is returned whole where its client sets no limit, and encodes it for `c.json()`: page by page, since it may
 * have any length, and others are answered meanwhile. `read` returns the entries that follow one.
 */
export async function readWhole<Entry>(
  turns: Turns,
  read: (after: Entry | undefined, limit: number) => Promise<Entry[]>,
): Promise<Entry[]> {
  const entries: Entry[] = [];
  const texts: string[] = [];
  for (;;) {
    const page = await read(entries.at(-1), PAGE);
    await inTurns(turns, encode(page));
    if (page.length < PAGE) break;
  }
  setJson(entries, `[${texts.join(",")}]`);
  return entries;

  function* encode(page: readonly Entry[]): Generator<number, void> {
    for (const entry of page) {
      const text = JSON.stringify(entry);
      entries.push(entry);
      texts.push(text);
      yield text.length;
    }
  }
}
