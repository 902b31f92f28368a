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

/** The room of a message, in UTF-16 units after escaping. */
export interface Room {
  title: number;
  /** The number of facts. */
  facts: number;
  label: number;
  value: number;
  context: number;
}

/** The texts of a message. */
export interface Message {
  /** The title after the severity. */
  headline: string;
  /** The last one counts those that are left out. */
  facts: readonly Fact[];
  /** The severity, the environment, the time, and whether it is a test. */
  context: string;
}

/**
 * Returns the texts of a notification within a room, each as one line that isn't empty. Each character becomes what `escape`
 * returns for it, and a zero-width space breaks `@here`, `@channel` and `@everyone`. A text that is cut ends with `…`, never
 * within an escaped character or a surrogate pair.
 */
export function layOut(
  { severity, title, facts, environment, at, isTest }: Notification,
  room: Room,
  escape: (character: string) => string = (character) => character,
): Message {
  const word = severity.charAt(0).toUpperCase() + severity.slice(1);
  const hidden = facts.length - room.facts + 1;
  const shown = hidden <= 1
    ? facts
    : [...facts.slice(0, room.facts - 1), { label: "More", value: `${hidden} facts` }];
  return {
    headline: escapeText(`${word}: ${title}`, room.title, escape),
    facts: shown.map(({ label, value }) => ({
      label: escapeText(label, room.label, escape),
      value: escapeText(value, room.value, escape),
    })),
    context: escapeText(
      [word, environment, at, ...(isTest ? ["this is a test"] : [])].join(" · "),
      room.context,
      escape,
    ),
  };
}

function escapeText(text: string, max: number, escape: (character: string) => string): string {
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
