/**
 * Cuts a text to at most `max` UTF-16 units, the unit that most services count, and ends it with `…` where
 * something is missing. Never splits a surrogate pair.
 */
export function cutText(text: string, max: number): string {
  if (text.length <= max) return text.toWellFormed();
  return text.slice(0, Math.max(0, max - 1)).replace(/[\uD800-\uDBFF]$/, "").toWellFormed() + "…";
}

/**
 * Returns a text as one line: each run of line ends, control characters and bidirectional overrides becomes a space.
 * Cut to `max` UTF-16 units.
 */
export function oneLine(text: string, max = Infinity): string {
  // Only the head is searched, of 4 times the length, since runs of spaces shrink.
  const head = text.length > 4 * max ? text.slice(0, 4 * max) : text;
  const line = head.replace(/[\p{Cc}\p{Zl}\p{Zp}\u202A-\u202E\u2066-\u2069]+/gu, " ").trim();
  return cutText(line, max);
}
