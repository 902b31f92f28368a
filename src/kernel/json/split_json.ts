import { FORBIDDEN_KEY } from "./canonical_json.ts";

/** A syntax fault of a JSON text, and its position. */
export class JsonFault extends Error {
  override name = "JsonFault";
  /** Such as "state.messages[12]"; "" for the document itself. */
  readonly path: string;
  /** Characters (UTF-16 units) from the start of the text. */
  readonly offset: number;

  constructor(message: string, path: string, offset: number) {
    super(message);
    this.path = path;
    this.offset = offset;
  }
}

/** A part of a document. `text` is complete and unparsed; `keyCount` is the number of its keys, duplicates included. */
export type JsonPart =
  /** A tracked object or array begins; its members or elements follow. */
  | { kind: "open"; path: readonly string[]; type: "object" | "array" }
  /** A member of the root or of a tracked object, with its whole value. */
  | { kind: "member"; path: readonly string[]; text: string; keyCount: number }
  /** An element of a tracked array. */
  | { kind: "element"; path: readonly string[]; index: number; text: string; keyCount: number };

/** The tracked parts of a document, and the maximum depth of the others. */
export interface SplitOptions {
  /**
   * Paths of arrays whose elements are returned one by one, such as ["state", "messages"]; the objects on these paths
   * are tracked too.
   */
  arrays: readonly (readonly string[])[];
  /** A value that is nested deeper is refused before it is parsed. A scalar has depth 0. */
  maxDepth: number;
}

/**
 * Splits the text of one JSON object (RFC 8259) into parts, with at most one chunk and the current value in memory. The
 * root has no "open" part. The tracked structure is validated; in other values only strings and brackets are matched, so
 * the caller has to parse them. Throws a {@linkcode JsonFault} after all parts before the fault.
 */
export async function* splitJson(
  chunks: AsyncIterable<string>,
  options: SplitOptions,
): AsyncGenerator<JsonPart> {
  const splitter = new Splitter(options);
  for await (const chunk of chunks) {
    splitter.push(chunk);
    for (let part = splitter.next(); part !== undefined; part = splitter.next()) yield part;
  }
  splitter.end();
}

const BYTE_ORDER_MARK = "\ufeff";
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Longer keys are truncated in messages. */
const MAX_NAME_LENGTH = 80;

/** The tracked paths as a tree from the root. */
interface Tracked {
  isArray: boolean;
  members: Map<string, Tracked>;
}

/** A tracked object or array that is not closed yet, and the position in it. */
interface Container {
  type: "object" | "array";
  path: readonly string[];
  members: ReadonlyMap<string, Tracked>;
  keys: Set<string>;
  key?: string;
  index: number;
}

type Expected =
  | "root"
  | "first key"
  | "key"
  | "rest of key"
  | "colon"
  | "value"
  | "first element"
  | "rest of value"
  | "separator"
  | "end";

/** Parses the structure chunk by chunk. Synchronous, so that the parts of a chunk need no await. */
class Splitter {
  #chunk = "";
  #at = 0;
  #chunkOffset = 0;
  #expected: Expected = "root";
  #containers: Container[] = [];
  #tracked: Tracked;
  #reader: ValueReader;

  constructor({ arrays, maxDepth }: SplitOptions) {
    this.#tracked = toTrackedTree(arrays);
    this.#reader = new ValueReader(
      maxDepth,
      (at) => this.#refuse(`it is nested deeper than ${maxDepth} levels`, at),
    );
  }

  push(chunk: string): void {
    this.#chunkOffset += this.#chunk.length;
    this.#chunk = chunk;
    this.#at = this.#chunkOffset === 0 && chunk.startsWith(BYTE_ORDER_MARK) ? 1 : 0;
  }

  /** Returns the next part, or undefined at the end of the chunk. */
  next(): JsonPart | undefined {
    for (;;) {
      if (this.#expected !== "rest of value" && this.#expected !== "rest of key") this.#skipSpace();
      if (this.#at >= this.#chunk.length) return undefined;
      const part = this.#step(this.#chunk.charCodeAt(this.#at));
      if (part !== undefined) return part;
    }
  }

  end(): void {
    if (this.#expected === "root") this.#refuse("the document is empty");
    if (this.#expected !== "end") this.#refuse("it is truncated");
  }

  #skipSpace(): void {
    let at = this.#at;
    while (isSpace(this.#chunk.charCodeAt(at))) at++;
    this.#at = at;
  }

  #step(unit: number): JsonPart | undefined {
    switch (this.#expected) {
      case "root":
        if (unit !== OPEN_BRACE) this.#refuse("it is not a JSON object");
        return this.#open("object", [], this.#tracked);
      case "first key":
        return unit === CLOSE_BRACE ? this.#close() : this.#beginKey(unit, "a key or } must follow");
      case "key":
        return this.#beginKey(unit, "a key must follow");
      case "rest of key":
        return this.#readKey();
      case "colon":
        if (unit !== COLON) this.#refuse("a colon must follow");
        return this.#expect("value");
      case "first element":
        return unit === CLOSE_BRACKET ? this.#close() : this.#beginValue(unit, "a value or ] must follow");
      case "value":
        return this.#beginValue(unit, "a value must follow");
      case "rest of value":
        return this.#readValue();
      case "separator":
        return this.#separate(unit);
      case "end":
        return this.#refuse("text follows its end");
    }
  }

  /** Consumes the current character. */
  #expect(expected: Expected): undefined {
    this.#at++;
    this.#expected = expected;
  }

  #open(type: Container["type"], path: readonly string[], { members }: Tracked): undefined {
    this.#containers.push({ type, path, members, keys: new Set(), index: 0 });
    this.#expect(type === "object" ? "first key" : "first element");
  }

  #close(): undefined {
    this.#containers.pop();
    this.#expect(this.#containers.length === 0 ? "end" : "separator");
  }

  #separate(unit: number): undefined {
    const container = this.#containers.at(-1)!;
    const isArray = container.type === "array";
    if (unit === (isArray ? CLOSE_BRACKET : CLOSE_BRACE)) return this.#close();
    if (unit !== COMMA) this.#refuse(`a comma or ${isArray ? "]" : "}"} must follow`);
    container.index++;
    container.key = undefined;
    this.#expect(isArray ? "value" : "key");
  }

  #beginKey(unit: number, otherwise: string): undefined {
    if (unit !== QUOTE) this.#refuse(otherwise);
    this.#reader.begin(this.#chunkOffset + this.#at, unit);
    this.#expected = "rest of key";
  }

  #readKey(): undefined {
    this.#at = this.#reader.read(this.#chunk, this.#at);
    if (!this.#reader.isDone) return;
    const container = this.#containers.at(-1)!;
    const start = this.#reader.startOffset - this.#chunkOffset;
    const key = parseKey(this.#reader.take()) ?? this.#refuse("a key is not a valid JSON string", start);
    if (key === FORBIDDEN_KEY) this.#refuse(`the key ${key} is not allowed`, start);
    if (container.keys.has(key)) this.#refuse(`the key ${toName(key)} is duplicated`, start);
    container.keys.add(key);
    container.key = key;
    this.#expected = "colon";
  }

  #beginValue(unit: number, otherwise: string): JsonPart | undefined {
    const container = this.#containers.at(-1)!;
    const tracked = container.key === undefined ? undefined : container.members.get(container.key);
    const type = tracked && typeToOpen(tracked, unit);
    if (tracked && type) {
      const path = pathOfValue(container);
      this.#open(type, path, tracked);
      return { kind: "open", path, type };
    }
    if (unit !== QUOTE && !isOpening(unit) && !isWordUnit(unit)) this.#refuse(otherwise);
    this.#reader.begin(this.#chunkOffset + this.#at, unit);
    this.#expected = "rest of value";
    return this.#readValue();
  }

  #readValue(): JsonPart | undefined {
    this.#at = this.#reader.read(this.#chunk, this.#at);
    if (!this.#reader.isDone) return undefined;
    this.#expected = "separator";
    const { keyCount } = this.#reader;
    const text = this.#reader.take();
    const container = this.#containers.at(-1)!;
    const path = pathOfValue(container);
    if (container.type === "object") return { kind: "member", path, text, keyCount };
    return { kind: "element", path, index: container.index, text, keyCount };
  }

  #refuse(message: string, at = this.#at): never {
    const container = this.#containers.at(-1);
    let path = container ? pathOfValue(container).map(toName).join(".") : "";
    if (container?.type === "array") path += `[${container.index}]`;
    throw new JsonFault(message, path, this.#chunkOffset + at);
  }
}

/** Collects the text of one value or key across chunks; each character is read once. */
class ValueReader {
  startOffset = 0;
  keyCount = 0;
  isDone = false;
  #pieces: string[] = [];
  #depth = 0;
  #isWord = false;
  #isInString = false;
  /** True if the previous chunk ended in a string, within an escape. */
  #isEscaped = false;

  constructor(private readonly maxDepth: number, private readonly refuseDepth: (at: number) => never) {}

  /** Starts a value whose first character, `unit`, is not read yet. */
  begin(startOffset: number, unit: number): void {
    this.startOffset = startOffset;
    this.keyCount = 0;
    this.isDone = false;
    this.#isWord = unit !== QUOTE && !isOpening(unit);
  }

  /** Reads from `start`, and returns the end: after the value, or the end of the chunk. */
  read(chunk: string, start: number): number {
    let at = start;
    if (this.#isWord) at = this.#readWord(chunk, at);
    while (at < chunk.length && !this.isDone) {
      at = this.#isInString ? this.#readString(chunk, at) : this.#readBrackets(chunk, at);
    }
    this.#pieces.push(chunk.slice(start, at));
    return at;
  }

  take(): string {
    const text = this.#pieces.length === 1 ? this.#pieces[0]! : this.#pieces.join("");
    this.#pieces = [];
    return text;
  }

  /** Reads a number or a literal; it is complete when another character follows. */
  #readWord(chunk: string, start: number): number {
    let at = start;
    while (at < chunk.length && isWordUnit(chunk.charCodeAt(at))) at++;
    this.isDone = at < chunk.length;
    return at;
  }

  /** Reads up to the next string, or to the end of the value. */
  #readBrackets(chunk: string, start: number): number {
    let depth = this.#depth;
    let keyCount = this.keyCount;
    let at = start;
    while (at < chunk.length) {
      const unit = chunk.charCodeAt(at++);
      if (unit === QUOTE) {
        this.#isInString = true;
        break;
      } else if (unit === COLON) keyCount++;
      else if (isOpening(unit)) {
        if (++depth > this.maxDepth) this.refuseDepth(at - 1);
      } else if ((unit === CLOSE_BRACE || unit === CLOSE_BRACKET) && --depth === 0) {
        this.isDone = true;
        break;
      }
    }
    this.#depth = depth;
    this.keyCount = keyCount;
    return at;
  }

  /** Reads up to and including the closing quote: the first with an even number of backslashes before it. */
  #readString(chunk: string, start: number): number {
    let from = this.#isEscaped ? start + 1 : start;
    this.#isEscaped = false;
    for (;;) {
      const quote = chunk.indexOf('"', from);
      const end = quote < 0 ? chunk.length : quote;
      const isEscaped = endsEscaping(chunk, from, end);
      if (quote < 0) {
        this.#isEscaped = isEscaped;
        return end;
      }
      from = quote + 1;
      if (!isEscaped) {
        this.#isInString = false;
        this.isDone = this.#depth === 0;
        return from;
      }
    }
  }
}

/** Returns whether the character at `end` is escaped, if that at `from` is not: after an odd number of backslashes. */
function endsEscaping(chunk: string, from: number, end: number): boolean {
  let at = end;
  while (at > from && chunk.charCodeAt(at - 1) === BACKSLASH) at--;
  return (end - at) % 2 === 1;
}

function toTrackedTree(arrays: SplitOptions["arrays"]): Tracked {
  const root: Tracked = { isArray: false, members: new Map() };
  for (const path of arrays) {
    let node = root;
    for (const key of path) {
      const next = node.members.get(key) ?? { isArray: false, members: new Map() };
      node.members.set(key, next);
      node = next;
    }
    node.isArray = true;
  }
  return root;
}

/** Returns the path of the current member, or that of the array. */
function pathOfValue({ path, key }: Container): readonly string[] {
  return key === undefined ? path : [...path, key];
}

/** Returns the type to track, if the value that begins with this character has the type that is tracked there. */
function typeToOpen({ isArray, members }: Tracked, unit: number): Container["type"] | undefined {
  if (unit === OPEN_BRACE && members.size > 0) return "object";
  return unit === OPEN_BRACKET && isArray ? "array" : undefined;
}

function parseKey(text: string): string | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function toName(key: string): string {
  return key.length <= MAX_NAME_LENGTH ? key : key.slice(0, MAX_NAME_LENGTH).toWellFormed() + "…";
}

function isOpening(unit: number): boolean {
  return unit === OPEN_BRACE || unit === OPEN_BRACKET;
}

function isSpace(unit: number): boolean {
  return unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09;
}

/** Matches the characters of numbers and literals: letters, digits and + - . */
function isWordUnit(unit: number): boolean {
  const letter = unit | 0x20;
  return (unit >= 0x30 && unit <= 0x39) || (letter >= 0x61 && letter <= 0x7a) ||
    unit === 0x2b || unit === 0x2d || unit === 0x2e;
}
