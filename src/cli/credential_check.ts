import { decodeDocument, type Found, redactValue } from "../snapshots/mod.ts";
import { splitJson } from "../kernel/json/split_json.ts";

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
/** Names, numbers and times; all else may hold what people, models and tools have written. */
const STRUCTURAL = new Set([
  ...["schema_version", "agent_id", "session_id", "source_environment", "exported_at", "event_log_count"],
  ...["integrity", "state.status", "state.token_usage"],
]);

export function createCredentialCheck(): CredentialCheck {
  const found: Found = new Map();
  let messages = 0;
  const redact = (value: unknown, path: readonly string[]) => {
    const place = path.join(".");
    if (place === "state.messages") messages++;
    return STRUCTURAL.has(place) ? value : redactValue(value, found);
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
      for await (const part of splitJson(text, { arrays: ARRAYS, maxDepth: 1_000 })) {
        if (part.kind !== "open") {
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
