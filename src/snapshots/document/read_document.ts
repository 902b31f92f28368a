import {
  canonicalize,
  MAX_JSON_DEPTH,
  type OnJsonFault,
  toCanonicalText,
} from "../../kernel/json/canonical_json.ts";
import { messageOf } from "../../kernel/errors.ts";
import { parseSlowly, readJson } from "../../kernel/json/read_json.ts";
import { inTurns, SLICE_UNITS, type Turns } from "../../kernel/turns.ts";
import { checkEvent, checkHead, MessageCheck } from "./check_document.ts";
import { openSource, type SnapshotSource } from "../files/snapshot_source.ts";
import { decodeDocument } from "./decode_document.ts";
import { DOCUMENT_LISTS, type ElementPages } from "./canonical_document.ts";
import { computeIntegrity } from "./write_document.ts";
import { isExtra, MAX_EXTRA_CHARACTERS } from "./extras.ts";
import { Issues } from "./issues.ts";
import type { Snapshot, SnapshotHead } from "../../contract/snapshot/snapshot.ts";
import { FORMAT, type Format, upgrade } from "./format.ts";
import { JsonFault, type JsonPart, splitJson } from "../../kernel/json/split_json.ts";
import { createSpool, type Spool, type SpoolOptions } from "../files/spool.ts";

/** A valid snapshot. Its messages and events are in spools. */
export interface ReadSnapshot extends AsyncDisposable {
  /** The document, upgraded, with its two lists empty; `events` is there if the file has them. */
  head: SnapshotHead;
  messageCount: number;
  eventCount: number;
  /** Each as canonical JSON, upgraded. */
  messages(): ElementPages;
  events(): ElementPages;
}

/** The options of `readDocument`. */
export interface ReadOptions {
  /** The largest document, uncompressed. */
  maxBytes: number;
  /** The longest message and event, in characters of JSON, without the JSON that surrounds their texts. */
  maxContextBytes?: number;
  spool?: SpoolOptions;
  format?: Format;
  /** Divides the event loop among long work. */
  turns?: Turns;
}

type Json = Record<string, unknown>;

/** Messages and events may be as deep as in a session; the document adds its own levels. */
const MAX_DEPTH = MAX_JSON_DEPTH + 10;

/** The spool's line for an element that is not valid JSON, which has been reported. */
const UNREADABLE = "";

/** The room for the parts of an event beside the texts of its run: the definition of the agent, the tags. */
const MAX_SURROUNDING_CHARACTERS = 256 * 1024;

/** The limit of the fields beside the lists, and of the members of a container that the schema of a message looks at. */
const MAX_MEMBERS = 10_000;

/** Longer elements are read in slices. */
const LARGE_CHARACTERS = 64 * 1024;

/** The depths in which the schemas of messages and events look at members. */
const STRUCTURE = {
  messages: { depth: 3, maxMembers: MAX_MEMBERS },
  events: { depth: 2, maxMembers: MAX_MEMBERS },
};

/** The units of work of reading an element, besides its text. */
const ELEMENT_UNITS = 512;

/** A value of the document; of a large element, what its schema looks at. */
interface ReadValue {
  value: unknown;
  canonical: string;
}

const MAX_HEAD_CHARACTERS = 6 * 1024 * 1024;

/**
 * Reads a snapshot from a stream and validates all of it: unambiguous JSON, its version, every field, that each tool
 * result has its call, and its integrity. Memory use is constant.
 *
 * @throws {PurserError} `invalid` with every problem and its path in `details.issues`; `too_large`
 */
export async function readDocument(
  bytes: AsyncIterable<Uint8Array>,
  { maxBytes, maxContextBytes, spool, format = FORMAT, turns }: ReadOptions,
): Promise<ReadSnapshot> {
  const reader = new DocumentReader(format, { maxContextBytes, spool, turns });
  try {
    await reader.read(decodeDocument(bytes, maxBytes));
    return await reader.finish();
  } catch (error) {
    await reader.dispose();
    throw error;
  }
}

class DocumentReader {
  #issues = new Issues();
  #head: Json = {};
  #messages: Spool;
  #events: Spool;
  /** Members whose value is not valid JSON; their schema issues are not reported. */
  #faulty = new Set<string>();
  #messageCheck = new MessageCheck(this.#issues);
  /** Elements before the version is known, or of an older version, are validated at the end. */
  #deferred = { messages: false, events: false };

  #members = 0;
  #characters = 0;
  #extraCharacters = 0;

  constructor(
    private readonly format: Format,
    private readonly options: Pick<ReadOptions, "maxContextBytes" | "spool" | "turns">,
  ) {
    this.#messages = createSpool(options.spool);
    this.#events = createSpool(options.spool);
  }

  async read(text: AsyncIterable<string>): Promise<void> {
    const { maxContextBytes, turns } = this.options;
    const length = maxContextBytes! + MAX_SURROUNDING_CHARACTERS;
    const longest = maxContextBytes === undefined ? undefined : {
      length,
      message: `is longer than ${length} characters; max_context_bytes in the config allows more`,
    };
    try {
      for await (const part of splitJson(text, { arrays: DOCUMENT_LISTS, maxDepth: MAX_DEPTH, longest })) {
        const turn = turns?.spend(part.kind === "open" ? ELEMENT_UNITS : unitsOf(part.text));
        if (turn) await turn;
        const kept = this.#take(part);
        if (kept) await kept;
      }
    } catch (error) {
      if (!(error instanceof JsonFault)) throw error;
      this.#checkVersion();
      this.#issues.add(error.path, error.message);
      this.#issues.throwIfAny();
    }
  }

  async finish(): Promise<ReadSnapshot> {
    const issues = this.#issues;
    const version = this.#checkVersion();
    const from = version ?? this.format.version;
    const head = upgrade(this.format, from, "head", this.#head) as Json;
    checkHead(head, { schema: this.format.head, faulty: this.#faulty, issues });
    const messages = () => this.#upgradePages("message", this.#messages, from);
    const events = () => this.#upgradePages("event", this.#events, from);
    if (this.#deferred.messages) await this.#checkMessages(messages());
    if (this.#deferred.events) await this.#checkEvents(events());
    if (issues.count === 0) await this.#checkIntegrity();
    issues.throwIfAny();
    return {
      head: head as SnapshotHead,
      messageCount: this.#messages.count,
      eventCount: this.#events.count,
      messages,
      events,
      [Symbol.asyncDispose]: () => this.dispose(),
    };
  }

  async dispose(): Promise<void> {
    await this.#messages[Symbol.asyncDispose]();
    await this.#events[Symbol.asyncDispose]();
  }

  #take(part: JsonPart): Promise<void> | void {
    const name = part.path.at(-1)!;
    if (part.kind !== "element" && !name.isWellFormed()) {
      this.#issues.add(part.path, "has a lone surrogate in its name");
    }
    if (part.kind === "open") return this.#put(part.path, part.type === "array" ? [] : {});
    if (part.kind === "member") {
      this.#limit(part);
      const read = this.#parse(part.text, part.keyCount, part.path);
      if (read) this.#put(part.path, read.value);
      else this.#faulty.add(part.path.join("."));
      return;
    }
    if (part.text.length > LARGE_CHARACTERS) {
      return this.#readLarge(part).then(async (read) => {
        await this.options.turns?.spend(Math.min(part.text.length, SLICE_UNITS));
        return await this.#keep(part, read);
      });
    }
    return this.#keep(part, this.#parse(part.text, part.keyCount, [...part.path, part.index]));
  }

  /** Validates an element, and adds it to its spool. */
  #keep(part: JsonPart & { kind: "element" }, read: ReadValue | undefined): Promise<void> | void {
    const isMessage = part.path.length === 2;
    const isKnown = this.#head.schema_version === this.format.version;
    if (!isKnown) this.#deferred[isMessage ? "messages" : "events"] = true;
    else if (isMessage) this.#checkMessage(part.index, read?.canonical, read?.value);
    else if (read) checkEvent(this.#issues, part.index, read.value);
    return (isMessage ? this.#messages : this.#events).add(read?.canonical ?? UNREADABLE);
  }

  #checkMessage(index: number, text: string | undefined, value: unknown): void {
    if (text === undefined || text === UNREADABLE) this.#messageCheck.skip();
    else this.#messageCheck.check(index, value);
  }

  /** Limits the fields besides the lists: they are in memory, and kept with the session. */
  #limit({ path, text, keyCount }: { path: readonly string[]; text: string; keyCount: number }): void {
    this.#members += 1 + keyCount;
    this.#characters += text.length;
    if (isExtra(path)) this.#extraCharacters += text.length;
    if (this.#extraCharacters > MAX_EXTRA_CHARACTERS) {
      const message =
        `the fields that are not of this format are longer than ${MAX_EXTRA_CHARACTERS} characters`;
      throw new JsonFault(message, path.join("."), 0);
    }
    if (this.#members <= MAX_MEMBERS && this.#characters <= MAX_HEAD_CHARACTERS) return;
    throw new JsonFault(
      `the fields beside messages and events are more than ${MAX_MEMBERS}, or longer than ${MAX_HEAD_CHARACTERS} characters`,
      path.join("."),
      0,
    );
  }

  /** Parses a value of the document, if it is JSON that every parser reads alike. */
  #parse(
    text: string,
    keyCount: number,
    base: readonly (string | number)[],
  ): ReadValue | undefined {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (error) {
      this.#issues.add(base, `is not JSON: ${messageOf(error)}`);
      return undefined;
    }
    const before = this.#issues.count;
    const onFault: OnJsonFault = (path, message) => this.#issues.add([...base, ...path], message);
    let canonical = canonicalize(value, onFault);
    if (canonical.hasBackslashKey && this.#issues.count === before) {
      value = parseSlowly(text);
      canonical = canonicalize(value, onFault);
    }
    if (canonical.keyCount !== keyCount) this.#issues.add(base, "has an object with a duplicate key");
    return this.#issues.count === before ? { value, canonical: canonical.text } : undefined;
  }

  /** As `#parse` for a long element, in turn with other long work. */
  async #readLarge(part: JsonPart & { kind: "element" }): Promise<ReadValue | undefined> {
    const base = [...part.path, part.index];
    const before = this.#issues.count;
    const onFault: OnJsonFault = (path, message) => this.#issues.add([...base, ...path], message);
    const structure = STRUCTURE[part.path.length === 2 ? "messages" : "events"];
    try {
      const read = await inTurns(this.options.turns, readJson(part.text, { onFault, structure }));
      if (read.keyCount !== part.keyCount) this.#issues.add(base, "has an object with a duplicate key");
      return this.#issues.count === before ? { value: read.value, canonical: read.text } : undefined;
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      this.#issues.add(base, `is not JSON: ${messageOf(error)}`);
      return undefined;
    }
  }

  #put(path: readonly string[], value: unknown): void {
    if (path.length === 0) return;
    const holder = path.length === 1 ? this.#head : this.#head[path[0]!] as Json;
    holder[path.at(-1)!] = value;
  }

  /** Returns the document's version, if this program can read it. */
  #checkVersion(): number | undefined {
    const { version } = this.format;
    const given = this.#head.schema_version;
    if (typeof given !== "number" || !Number.isInteger(given) || given < 1) return undefined;
    if (given <= version) return given;
    // Of an unknown format, nothing else can be validated.
    const only = new Issues();
    only.add(
      "schema_version",
      `it is of version ${given} of the format, and this program knows up to ${version}; upgrade Purser`,
    );
    only.throwIfAny();
  }

  async #checkMessages(pages: ElementPages): Promise<void> {
    let index = 0;
    for await (const page of pages) {
      for (const text of page) {
        const value = text === UNREADABLE
          ? undefined
          : await parseElement(text, "messages", this.options.turns);
        this.#checkMessage(index++, text, value);
      }
    }
  }

  async #checkEvents(pages: ElementPages): Promise<void> {
    let index = 0;
    for await (const page of pages) {
      for (const text of page) {
        if (text !== UNREADABLE) {
          checkEvent(this.#issues, index, await parseElement(text, "events", this.options.turns));
        }
        index++;
      }
    }
  }

  async #checkIntegrity(): Promise<void> {
    const { integrity } = this.#head;
    if (integrity === undefined) return;
    const events = this.#head.events === undefined ? undefined : this.#events.pages();
    const parts = { head: this.#head, messages: this.#messages.pages(), events };
    if (await computeIntegrity(parts, this.options.turns) === integrity) return;
    this.#issues.add("integrity", "is not that of this document: it was changed or damaged after its export");
  }

  async *#upgradePages(
    part: "message" | "event",
    spool: Spool,
    from: number,
  ): AsyncGenerator<readonly string[]> {
    for await (const page of spool.pages()) {
      yield from === this.format.version
        ? page
        : page.map((text) =>
          text === UNREADABLE ? text : toCanonicalText(upgrade(this.format, from, part, JSON.parse(text)))
        );
    }
  }
}

/** The units of work of an element; those of a large one are counted as it is read. */
function unitsOf(text: string): number {
  return ELEMENT_UNITS + Math.min(text.length, LARGE_CHARACTERS);
}

/** Parses an element of a spool; of a large one, what its schema looks at. */
async function parseElement(
  text: string,
  list: keyof typeof STRUCTURE,
  turns: Turns | undefined,
): Promise<unknown> {
  const turn = turns?.spend(unitsOf(text));
  if (turn) await turn;
  if (text.length <= LARGE_CHARACTERS) return JSON.parse(text);
  return (await inTurns(turns, readJson(text, { structure: STRUCTURE[list] }))).value;
}

/**
 * Reads a snapshot as one value, from a file or a stream, also in gzip.
 *
 * @throws {PurserError} `invalid` with every problem in `details.issues`; `too_large`
 */
export async function readSnapshot(
  source: SnapshotSource,
  { maxBytes = Number.MAX_SAFE_INTEGER } = {},
): Promise<Snapshot> {
  await using read = await readDocument(await openSource(source), { maxBytes });
  const { head } = read;
  const messages: unknown[] = [];
  for await (const page of read.messages()) for (const text of page) messages.push(JSON.parse(text));
  const events: unknown[] = [];
  for await (const page of read.events()) for (const text of page) events.push(JSON.parse(text));
  return { ...head, state: { ...head.state, messages }, ...(head.events && { events }) } as Snapshot;
}
