/** The rows of a list that are drawn: those in sight, and some around them. */
export interface Window {
  from: number;
  /** Exclusive. */
  until: number;
}

const AROUND = 8;

/** Returns the rows to draw of a list that is scrolled. */
export function windowOf(count: number, { scrollTop, height, row }: {
  scrollTop: number;
  height: number;
  row: number;
}): Window {
  const from = Math.max(0, Math.min(count - 1, Math.floor(scrollTop / row)) - AROUND);
  return { from, until: Math.min(count, Math.ceil((scrollTop + height) / row) + AROUND) };
}

/** Returns the scroll position that has a row in sight, as near as possible to the present one. */
export function scrollTo(index: number, { scrollTop, height, row }: {
  scrollTop: number;
  height: number;
  row: number;
}): number {
  const top = index * row;
  if (top < scrollTop) return top;
  return top + row > scrollTop + height ? top + row - height : scrollTop;
}
