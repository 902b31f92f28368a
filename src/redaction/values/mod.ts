import { type Log, wrapLog } from "../../kernel/log.ts";
import { base64CoresOf, formsOf, MIN_SECRET_CHARS, partsOf } from "./forms.ts";

export { base64CoresOf, formsOf, partsOf } from "./forms.ts";

/**
 * Replaces the configured secrets of this process by their value, wherever a text repeats them. Unlike the formats of
 * `redactCredentials()`, a value needs no form to be recognized.
 */

/** Stands in a text for a configured secret. */
export const SCRUBBED = "[redacted:configured_secret]";

/** The configured secrets of a process. Values may be added at any time; none is ever removed. */
export interface Secrets {
  /**
   * Adds values and the parts of them that are secret by themselves. Those below 8 characters are ignored, and those that
   * are contained in one of the `names`, which are shown anyway.
   */
  add(values: Iterable<string | undefined>, names?: readonly string[]): void;
  /** Returns a text without any of the values; the same string where it has none. */
  scrub(text: string): string;
  /** Returns a plain value without any of the values in its texts and keys; the same object where it has none. */
  scrubValue<T>(value: T): T;
  /** Removes the values from the message, the stack and the fields of an error and its causes, in place. */
  scrubError<T>(error: T): T;
  /**
   * Returns a value for the database without any of the values. JSON stays JSON: only its string literals change. A
   * value of letters only, such as a word, is left in a name, which other rows refer to.
   */
  scrubStored<T>(value: T): T;
  /** Scrubs a text that arrives in parts, where a value may be split over several. */
  startText(): TextScrub;
}

/** Scrubs one text that arrives in parts. */
export interface TextScrub {
  /** Returns what may be shown by now. It keeps back an end that may be the beginning of a value. */
  push(part: string): string;
  /** Returns the rest. */
  end(): string;
}

/** Creates the secrets of a process. */
export function createSecrets(values: Iterable<string | undefined> = []): Secrets {
  const matcher = new Matcher();
  const known = new Set<string>();
  const names: string[] = [];
  const add = (values: Iterable<string | undefined>, more: readonly string[] = []) => {
    names.push(...more);
    for (const value of values) {
      if (value === undefined || known.has(value)) continue;
      known.add(value);
      // A part that is a word, such as the path `/webhooks/…` of a URL has, is no secret.
      for (const text of [value, value.trim(), ...partsOf(value).filter((part) => !WORD.test(part))]) {
        if (text.length < MIN_SECRET_CHARS || names.some((name) => name.includes(text))) continue;
        const isWord = WORD.test(text);
        for (const form of formsOf(text)) {
          matcher.add({ text: form, isWord: isWord && form === text, isBase64: false });
        }
        for (const core of base64CoresOf(text)) matcher.add({ text: core, isWord: false, isBase64: true });
      }
    }
  };
  add(values);
  const scrub = (text: string) => matcher.replace(text, false);
  const scrubValue = <T>(value: T): T =>
    !matcher.isEmpty &&
      hasText(value, (text) => matcher.find(text, 0) !== undefined)
      ? mapTexts(value, scrub) as T
      : value;
  return {
    add,
    scrub,
    scrubValue,
    scrubError: <T>(error: T): T =>
      matcher.isEmpty || error === undefined ? error : scrubErrorIn(error, scrub) as T,
    scrubStored: <T>(value: T): T =>
      typeof value === "string" && value.length >= MIN_SECRET_CHARS
        ? matcher.replaceStored(value) as T
        : value,
    startText: () => matcher.isEmpty ? PASS : new HeldText(matcher),
  };
}

const PASS: TextScrub = { push: (part) => part, end: () => "" };

/** A value that may be a word of ordinary text. */
const WORD = /^(?=.{1,19}$)[a-z]+(?:[-_. ][a-z]+)*$/i;

/** A text that names something: an id, an agent, a model. */
const NAME = /^[\w.:@/-]{1,256}$/;

/** A text to search for. */
interface Pattern {
  text: string;
  isWord: boolean;
  /** True for base64 without the letters that encode neighboring bytes, too: the whole word around it is replaced. */
  isBase64: boolean;
}

/**
 * Finds all patterns in one pass, by the algorithm of Wu and Manber over pairs of characters: most of a text is skipped,
 * whatever the number of patterns.
 */
class Matcher {
  /** Allocated for the first pattern. */
  #shifts: Uint8Array | undefined;
  /** The patterns by their first characters, the longest first. */
  #byHead = new Map<string, Pattern[]>();
  /** The beginnings of patterns that are shorter than their keys above. */
  #beginnings = new Set<string>();
  longest = 0;

  get isEmpty(): boolean {
    return this.longest === 0;
  }

  add(pattern: Pattern): void {
    const { text } = pattern;
    if (text.length < MIN_SECRET_CHARS) return;
    const shifts = this.#shifts ??= new Uint8Array(65_536).fill(MIN_SECRET_CHARS - 1);
    const head = text.slice(0, MIN_SECRET_CHARS);
    const others = this.#byHead.get(head) ?? [];
    if (others.some((other) => other.text === text)) return;
    const shorter = others.findIndex((other) => other.text.length < text.length);
    others.splice(shorter < 0 ? others.length : shorter, 0, pattern);
    this.#byHead.set(head, others);
    for (let end = 1; end < MIN_SECRET_CHARS; end++) this.#beginnings.add(text.slice(0, end));
    this.longest = Math.max(this.longest, text.length);
    for (let end = 1; end < MIN_SECRET_CHARS; end++) {
      const pair = pairOf(text.charCodeAt(end - 1), text.charCodeAt(end));
      shifts[pair] = Math.min(shifts[pair]!, MIN_SECRET_CHARS - 1 - end);
    }
  }

  /** Finds the first pattern that starts at `from` or later; with base64, the whole word around it from there on. */
  find(text: string, from: number): { start: number; end: number; pattern: Pattern } | undefined {
    const shifts = this.#shifts;
    if (shifts === undefined) return undefined;
    let at = from + MIN_SECRET_CHARS - 1;
    while (at < text.length) {
      const shift = shifts[pairOf(text.charCodeAt(at - 1), text.charCodeAt(at))]!;
      if (shift > 0) {
        at += shift;
        continue;
      }
      let start = at - MIN_SECRET_CHARS + 1;
      const pattern = this.#byHead.get(text.slice(start, at + 1))?.find(({ text: each }) =>
        text.startsWith(each, start)
      );
      if (pattern) {
        let end = start + pattern.text.length;
        if (pattern.isBase64) {
          while (start > from && isBase64(text.charCodeAt(start - 1))) start--;
          end = wordEnd(text, end);
        }
        return { start, end, pattern };
      }
      at++;
    }
    return undefined;
  }

  replace(text: string, isName: boolean): string {
    let found = this.find(text, 0);
    if (!found) return text;
    let scrubbed = "";
    let from = 0;
    for (; found; found = this.find(text, from)) {
      const { start, end } = found;
      const isKept = isName && found.pattern.isWord;
      scrubbed += text.slice(from, start) + (isKept ? text.slice(start, end) : SCRUBBED);
      from = end;
    }
    return scrubbed + text.slice(from);
  }

  replaceStored(text: string): string {
    if (!this.find(text, 0)) return text;
    const isJson = /^\s*[[{"]/.test(text);
    // Outside of literals a JSON text has numbers, which must stay; other texts have no such parts.
    if (!isJson || !isJsonText(text)) return this.replace(text, NAME.test(text));
    return text.replace(LITERAL, (literal) => {
      const inner = literal.slice(1, -1);
      return `"${this.replace(inner, NAME.test(inner))}"`;
    });
  }

  /**
   * Returns the start, from `from` on, of an end of the text that may continue as a pattern, or as a longer one; the length
   * of the text if none does.
   */
  openEnd(text: string, from: number): number {
    for (let start = Math.max(from, text.length - this.longest + 1); start < text.length; start++) {
      const head = text.slice(start, start + MIN_SECRET_CHARS);
      if (head.length < MIN_SECRET_CHARS) {
        if (this.#beginnings.has(head)) return start;
      } else if (this.#byHead.get(head)?.some((pattern) => isBeginning(text, start, pattern.text))) {
        return start;
      }
    }
    return text.length;
  }
}

/** Returns whether the text from `start` on is less than a whole pattern, and all of it is its beginning. */
function isBeginning(text: string, start: number, pattern: string): boolean {
  return text.length - start < pattern.length && pattern.startsWith(text.slice(start));
}

const LITERAL = /"(?:[^"\\]|\\.)*"/g;

const pairOf = (first: number, second: number) => (first * 257 ^ second) & 0xffff;

function isBase64(code: number): boolean {
  return code >= 0x30 && code <= 0x39 || code >= 0x41 && code <= 0x5a || code >= 0x61 && code <= 0x7a ||
    code === 0x2b || code === 0x2d || code === 0x2f || code === 0x3d || code === 0x5f;
}

/** Returns the end of the base64 at an index. */
function wordEnd(text: string, at: number): number {
  while (isBase64(text.charCodeAt(at))) at++;
  return at;
}

function isJsonText(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

class HeldText implements TextScrub {
  #held = "";
  /** True after base64 that was replaced up to the end of a part: what continues it belongs to it. */
  #isInBase64 = false;

  constructor(private readonly matcher: Matcher) {}

  push(part: string): string {
    const text = this.#held + part;
    let from = this.#isInBase64 ? wordEnd(text, 0) : 0;
    let shown = "";
    for (;;) {
      const found = this.matcher.find(text, from);
      const open = this.matcher.openEnd(text, from);
      if (!found || open <= found.start) {
        // A part that ends in the middle of the word doesn't end it.
        this.#isInBase64 &&= text.length === from;
        this.#held = text.slice(open);
        return shown + text.slice(from, open);
      }
      shown += text.slice(from, found.start) + SCRUBBED;
      from = found.end;
      this.#isInBase64 = found.pattern.isBase64 && from === text.length;
    }
  }

  end(): string {
    const rest = this.#held;
    this.#held = "";
    return rest.length < MIN_SECRET_CHARS ? rest : SCRUBBED; // a value that was cut off
  }
}

/** Returns true if a text or a key of a plain value matches. */
function hasText(value: unknown, matches: (text: string) => boolean): boolean {
  if (typeof value === "string") return matches(value);
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.some((item) => hasText(item, matches));
  if (!isPlain(value)) return false;
  for (const key in value) {
    if (matches(key) || hasText((value as Record<string, unknown>)[key], matches)) return true;
  }
  return false;
}

/** Returns false for instances of classes, which may be anything; what is kept of them is scrubbed as it is stored. */
function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Maps the texts and keys of a plain value; returns the same object where none changes. */
function mapTexts(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === "string") return map(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => mapTexts(item, map));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  if (!isPlain(value)) return value;
  const entries = Object.entries(value).map(([key, item]) => [map(key), mapTexts(item, map), key] as const);
  const hasChanged = entries.some(([key, item, before]) =>
    key !== before || item !== (value as Record<string, unknown>)[before]
  );
  return hasChanged ? Object.fromEntries(entries.map(([key, item]) => [key, item])) : value;
}

/** The longest chain of causes, and the deepest nesting of errors of several attempts. */
const MAX_ERRORS = 20;

function scrubErrorIn(error: unknown, scrub: (text: string) => string): unknown {
  if (typeof error === "string") return scrub(error);
  const seen = new Set<object>();
  const visit = (value: unknown) => {
    if (typeof value !== "object" || value === null || seen.has(value) || seen.size >= MAX_ERRORS) return;
    seen.add(value);
    if (!(value instanceof Error)) return visitFields(value);
    visitFields(value, ["message", "stack", "errors"]);
  };
  const visitFields = (value: object, more: readonly string[] = []) => {
    for (const key of new Set([...Object.keys(value), ...more, "cause"])) {
      const field = (value as Record<string, unknown>)[key];
      const scrubbed = mapTexts(field, scrub);
      if (scrubbed !== field) setField(value, key, scrubbed);
      for (const item of Array.isArray(field) ? field : [field]) if (item instanceof Error) visit(item);
    }
  };
  visit(error);
  return error;
}

function setField(object: object, key: string, value: unknown): void {
  try {
    Object.defineProperty(object, key, { value, writable: true, configurable: true });
  } catch {
    // A frozen error: what is kept of it and shown is scrubbed there, too.
  }
}

/** Wraps a log so that no line has a configured secret. */
export function scrubbedLog(log: Log, secrets: Secrets): Log {
  return wrapLog(
    log,
    (line) => (message, fields) => line(secrets.scrub(message), fields && secrets.scrubValue(fields)),
  );
}
