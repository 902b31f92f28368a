import { FORBIDDEN_KEY } from "./canonical_json.ts";
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  isOpening,
  isWordUnit,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  ValueReader,
} from "./value_reader.ts";

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
  /** A value or key of more characters (UTF-16 units) is refused before it is whole, with this message. */
  longest?: { length: number; message: string };
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
const COMMA = 0x2c;

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

  constructor({ arrays, maxDepth, longest }: SplitOptions) {
    this.#tracked = toTrackedTree(arrays);
    this.#reader = new ValueReader({
      maxDepth,
      maxLength: longest?.length ?? Infinity,
      refuseDepth: (at) => this.#refuse(`it is nested deeper than ${maxDepth} levels`, at),
      refuseLength: (at) => this.#refuse(longest!.message, at),
    });
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

function isSpace(unit: number): boolean {
  return unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09;
}
