import type { Fact, Notification } from "./notification.ts";

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
  return cutText(removeControls(head), max);
}

function removeControls(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}\u202A-\u202E\u2066-\u2069]+/gu, " ").trim();
}

/**
 * Escapes a text for a service with markup as one line: each character becomes what `escape` returns for it, and a
 * zero-width space breaks `@here`, `@channel` and `@everyone`. Cut to `max` UTF-16 units after escaping, never within an
 * escaped character or a surrogate pair, with `…` at the end. An empty text becomes `–`.
 */
export function escapeText(text: string, max: number, escape: (character: string) => string): string {
  const plain = removeControls(text.slice(0, max + 1).toWellFormed())
    .replace(/@(?=here|channel|everyone)/gi, "@\u200B");
  let escaped = "";
  for (const char of plain) {
    const next = escape(char);
    if (escaped.length + next.length > max - 1) return escaped + "…";
    escaped += next;
  }
  return escaped || "–";
}

/** Returns at most `max` facts; the last one counts those that are left out. */
export function limitFacts(facts: readonly Fact[], max: number): readonly Fact[] {
  if (facts.length <= max) return facts;
  return [...facts.slice(0, max - 1), { label: "More", value: `${facts.length - max + 1} facts` }];
}

/** Returns the title after the severity: `Critical: Daily spend …`. */
export function headlineOf({ severity, title }: Notification): string {
  return `${capitalize(severity)}: ${title}`;
}

/** Returns the line below the facts: the severity, the environment, the time, and whether it is a test. */
export function contextOf({ severity, environment, at, isTest }: Notification): string {
  return [capitalize(severity), environment, at, ...(isTest ? ["this is a test"] : [])].join(" · ");
}

const capitalize = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);
