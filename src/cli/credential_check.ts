import { decodeDocument, type Found, redactValue, splitDocument } from "../snapshots/mod.ts";

/** Looks for credentials in a snapshot on its way. */
export interface CredentialCheck {
  readonly found: ReadonlyMap<string, number>;
  /** How many messages have come by. */
  readonly messages: number;
  /** A part of the document without what looks like a credential. */
  redact(value: unknown, path: readonly string[]): unknown;
  /** Lets the document pass as it is. Throws where it is not whole. */
  watch(bytes: AsyncIterable<Uint8Array<ArrayBuffer>>): AsyncGenerator<Uint8Array<ArrayBuffer>>;
}

const ARRAYS = [["state", "messages"], ["events"]];
/** Where people and models may have written something; the rest are names and numbers. */
const FREE_TEXT = new Set(["state.messages", "events", "agent"]);

export function createCredentialCheck(): CredentialCheck {
  const found: Found = new Map();
  let messages = 0;
  const redact = (value: unknown, path: readonly string[]) => {
    const place = path.join(".");
    if (place === "state.messages") messages++;
    return FREE_TEXT.has(place) ? redactValue(value, found) : value;
  };
  return {
    found,
    get messages() {
      return messages;
    },
    redact,
    async *watch(bytes) {
      // What the splitter has taken goes on when it asks for more, which is when it has seen all of it.
      let waiting: Uint8Array<ArrayBuffer>[] = [];
      const taken = async function* () {
        for await (const chunk of bytes) {
          waiting.push(chunk);
          yield chunk;
        }
      };
      const text = decodeDocument(taken(), Number.MAX_SAFE_INTEGER);
      for await (const part of splitDocument(text, { arrays: ARRAYS, maxDepth: 1_000 })) {
        if (part.kind !== "open" && FREE_TEXT.has(part.path.join("."))) {
          redact(JSON.parse(part.text), part.path);
        }
        if (waiting.length > 0) {
          yield* waiting;
          waiting = [];
        }
      }
      yield* waiting;
    },
  };
}

/** How many there are of all kinds. */
export function countCredentials(found: ReadonlyMap<string, number>): number {
  return [...found.values()].reduce((sum, count) => sum + count, 0);
}
