/** How many events are asked for at once. */
export const PAGE_SIZE = 500;

/** Reads a list page by page, each when it is needed: one page is held at a time. */
export async function* readPages<T>(
  readPage: (after: number) => Promise<T[]>,
  positionOf: (item: T) => number | null,
): AsyncGenerator<T> {
  for (let after = 0;;) {
    const page = await readPage(after);
    yield* page;
    const last = page.at(-1);
    const next = last === undefined ? null : positionOf(last);
    // The last page is the empty one: large events make others short. One that leads nowhere would be read for ever.
    if (next === null || next <= after) return;
    after = next;
  }
}
