/**
 * Cuts a text to at most `max` UTF-16 units, which is what most services count, and ends it with `…` where
 * something is missing. Never leaves half of a surrogate pair.
 */
export function cutText(text: string, max: number): string {
  if (text.length <= max) return text.toWellFormed();
  return text.slice(0, Math.max(0, max - 1)).replace(/[\uD800-\uDBFF]$/, "").toWellFormed() + "…";
}

/**
 * A text as one line: line ends, control characters and those that turn the direction of writing become a
 * space. Cut to `max` UTF-16 units.
 */
export function oneLine(text: string, max = Infinity): string {
  // What is cut off anyway needs no search; a run of spaces may still shrink, hence the margin.
  const head = text.length > 4 * max ? text.slice(0, 4 * max) : text;
  const line = head.replace(/[\p{Cc}\p{Zl}\p{Zp}\u202A-\u202E\u2066-\u2069]+/gu, " ").trim();
  return cutText(line, max);
}
