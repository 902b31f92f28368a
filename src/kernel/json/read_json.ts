import { type CanonicalJson, FORBIDDEN_KEY, type OnJsonFault, throwJsonFault } from "./canonical_json.ts";

/** A value that was read, and its canonical JSON. */
export interface ReadJson extends Pick<CanonicalJson, "text" | "keyCount"> {
  value: unknown;
}

/** Options of `readJson()`. */
export interface ReadJsonOptions {
  /** Receives each fault of a value that is not portable; see `canonicalize()`. */
  onFault?: OnJsonFault;
  /** Members for the root, if it is an object that lacks them; with their canonical JSON. */
  defaults?: Readonly<Record<string, string>>;
  /**
   * For values that a schema checks, which it does at once: containers at less than this depth have at most `maxMembers`
   * members, or are reported; of deeper ones, `value` has only the first `maxMembers`. The text has all of them.
   */
  structure?: { depth: number; maxMembers: number };
}

/** The units of work between two yields. */
const STEP_UNITS = 16 * 1024;

/** Containers with more members are sorted and joined in parts. */
const PART_MEMBERS = 4_096;

/** The units of work of one value, besides its characters. */
const VALUE_UNITS = 32;

/** A container that is not closed yet. */
interface Frame {
  isArray: boolean;
  value: unknown[] | Record<string, unknown>;
  /** The canonical members; of an object, each with its key. */
  texts: string[];
  members: Member[];
  key: string;
  size: number;
}

/**
 * Reads a JSON text (RFC 8259) of any size in slices: yields units of work, which grow as n log n with the text. Each key
 * is parsed by itself.
 *
 * V8 15.0 compares a key with that of an earlier object of the same shape, and parses `{"x":1,"\n":2}` as
 * `{"x":1,"\\":2}` once it has parsed the latter. `JSON.parse()` is ten times faster, and right for texts without a key
 * that ends with a backslash.
 *
 * @throws {SyntaxError} the text is not JSON
 */
export function* readJson(
  text: string,
  { onFault = throwJsonFault, defaults = {}, structure }: ReadJsonOptions = {},
): Generator<number, ReadJson> {
  const frames: Frame[] = [];
  let at = 0;
  let work = 0;
  let keyCount = 0;
  let isAfterComma = false;

  const path = () => frames.map(({ isArray, key, size }) => isArray ? size : key);
  const refuse = (): never => {
    throw new SyntaxError(
      at < text.length
        ? `Unexpected token ${JSON.stringify(text[at])} at position ${at}`
        : "Unexpected end of JSON input",
    );
  };
  const skipSpace = () => {
    const start = at;
    while (isSpace(text.charCodeAt(at))) at++;
    work += at - start;
  };
  const readString = (): string => {
    const start = at;
    at++;
    for (;;) {
      const quote = text.indexOf('"', at);
      if (quote < 0) {
        at = text.length;
        refuse();
      }
      // The backslashes before the quote, back to the previous quote: each character is looked at once.
      let backslashes = 0;
      while (quote - 1 - backslashes >= at && text.charCodeAt(quote - 1 - backslashes) === 0x5c) {
        backslashes++;
      }
      at = quote + 1;
      if (backslashes % 2 === 0) break;
    }
    work += at - start;
    return JSON.parse(text.slice(start, at));
  };
  const readWord = (): unknown => {
    const start = at;
    while (at < text.length && !isSpace(text.charCodeAt(at)) && !",]}".includes(text[at]!)) at++;
    work += at - start;
    if (start === at || '"[{'.includes(text[start]!)) return refuse();
    return JSON.parse(text.slice(start, at));
  };
  const readKey = (frame: Frame) => {
    if (text[at] !== '"') refuse();
    frame.key = readString();
    if (frame.key === FORBIDDEN_KEY) onFault(path(), "is a key that is not allowed");
    if (!frame.key.isWellFormed()) onFault(path(), "has a lone surrogate in its name");
    skipSpace();
    if (text[at] !== ":") refuse();
    at++;
    skipSpace();
  };
  const writeScalar = (value: unknown): string => {
    if (typeof value === "string" && !value.isWellFormed()) {
      onFault(path(), "has a lone surrogate, which is not valid Unicode");
    } else if (typeof value === "number" && !Number.isFinite(value)) {
      onFault(path(), "is a number that is too large");
    }
    return JSON.stringify(value);
  };
  /** Adds a complete value to its container. */
  const add = (frame: Frame, value: unknown, canonical: string) => {
    const isOver = structure !== undefined && frame.size >= structure.maxMembers;
    if (isOver && frame.size === structure.maxMembers && frames.length <= structure.depth) {
      onFault(path().slice(0, -1), `has more than ${structure.maxMembers} members`);
    }
    frame.size++;
    if (frame.isArray) {
      if (!isOver) (frame.value as unknown[]).push(value);
      frame.texts.push(canonical);
    } else {
      if (!isOver) setMember(frame.value as Record<string, unknown>, frame.key, value);
      frame.members.push({ key: frame.key, text: canonical });
    }
  };
  /** Closes a container. */
  const close = function* (frame: Frame): Generator<number, string> {
    at++;
    frames.pop();
    const written = yield* writeContainer(frame, frames.length === 0 ? defaults : {});
    keyCount += written.keyCount;
    return written.text;
  };

  skipSpace();
  for (;;) {
    // A value, or the end of a container without members.
    let value: unknown;
    let canonical: string;
    const parent = frames.at(-1);
    const opening = text[at];
    if (parent && parent.size === 0 && !isAfterComma && opening === (parent.isArray ? "]" : "}")) {
      value = parent.value;
      canonical = yield* close(parent);
    } else {
      if (parent && !parent.isArray) readKey(parent);
      const first = text[at];
      if (first === "{" || first === "[") {
        at++;
        frames.push(newFrame(first === "["));
        isAfterComma = false;
        skipSpace();
        continue;
      }
      value = first === '"' ? readString() : readWord();
      // A long string is read and written in a slice each, since neither can be divided.
      if (work >= STEP_UNITS) {
        yield work;
        work = 0;
      }
      canonical = writeScalar(value);
      if (canonical.length >= STEP_UNITS) work += canonical.length;
    }
    // What follows a value: a comma, or the ends of containers.
    for (;;) {
      work += VALUE_UNITS;
      if (work >= STEP_UNITS) {
        yield work;
        work = 0;
      }
      skipSpace();
      const frame = frames.at(-1);
      if (!frame) {
        if (at < text.length) refuse();
        if (work > 0) yield work;
        return { value, text: canonical, keyCount };
      }
      add(frame, value, canonical);
      if (text[at] === ",") {
        at++;
        isAfterComma = true;
        skipSpace();
        break;
      }
      if (text[at] !== (frame.isArray ? "]" : "}")) refuse();
      value = frame.value;
      canonical = yield* close(frame);
    }
  }
}

/** Parses valid JSON text in which an object may have a key that ends with a backslash. */
export function parseSlowly(text: string): unknown {
  const reading = readJson(text, { onFault: () => {} });
  for (;;) {
    const { done, value } = reading.next();
    if (done) return value.value;
  }
}

function newFrame(isArray: boolean): Frame {
  return { isArray, value: isArray ? [] : {}, texts: [], members: [], key: "", size: 0 };
}

function setMember(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== FORBIDDEN_KEY) object[key] = value;
  else Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
}

/** Joins the members of a container; those of an object are sorted by UTF-16 units, and counted once for each key. */
function* writeContainer(
  frame: Frame,
  defaults: Readonly<Record<string, string>>,
): Generator<number, { text: string; keyCount: number }> {
  if (frame.isArray) return { text: `[${yield* join(frame.texts, (text) => text)}]`, keyCount: 0 };
  const members = yield* sortMembers(frame.members);
  let keyCount = 0;
  for (let index = 0; index < members.length; index++) {
    if (index === 0 || members[index]!.key !== members[index - 1]!.key) keyCount++;
    if ((index + 1) % PART_MEMBERS === 0) yield PART_MEMBERS;
  }
  const missing = Object.entries(defaults).filter(([key]) => !members.some((member) => member.key === key));
  for (const [key, text] of missing) members.push({ key, text });
  if (missing.length > 0) members.sort(byKey);
  return {
    text: `{${yield* join(members, ({ key, text }) => `${JSON.stringify(key)}:${text}`)}}`,
    keyCount,
  };
}

function* join<Item>(items: readonly Item[], write: (item: Item) => string): Generator<number, string> {
  let text = "";
  for (let start = 0; start < items.length; start += PART_MEMBERS) {
    const part = items.slice(start, start + PART_MEMBERS);
    text += (start === 0 ? "" : ",") + part.map(write).join(",");
    if (part.length === PART_MEMBERS) yield PART_MEMBERS * VALUE_UNITS;
  }
  return text;
}

interface Member {
  key: string;
  text: string;
}

/** Sorts parts of the members, and merges these. */
function* sortMembers(members: Member[]): Generator<number, Member[]> {
  if (members.length <= PART_MEMBERS) return members.sort(byKey);
  let runs: Member[][] = [];
  for (let start = 0; start < members.length; start += PART_MEMBERS) {
    runs.push(members.slice(start, start + PART_MEMBERS).sort(byKey));
    yield PART_MEMBERS * VALUE_UNITS;
  }
  while (runs.length > 1) {
    const merged: Member[][] = [];
    for (let index = 0; index < runs.length; index += 2) {
      const [left, right] = [runs[index]!, runs[index + 1]];
      merged.push(right ? yield* merge(left, right) : left);
    }
    runs = merged;
  }
  return runs[0]!;
}

function* merge(left: Member[], right: Member[]): Generator<number, Member[]> {
  const merged: Member[] = [];
  let [l, r] = [0, 0];
  while (l < left.length || r < right.length) {
    const isLeft = r === right.length || (l < left.length && left[l]!.key < right[r]!.key);
    merged.push(isLeft ? left[l++]! : right[r++]!);
    if (merged.length % PART_MEMBERS === 0) yield PART_MEMBERS * 8;
  }
  return merged;
}

function byKey(a: Member, b: Member): number {
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
}

function isSpace(unit: number): boolean {
  return unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09;
}
