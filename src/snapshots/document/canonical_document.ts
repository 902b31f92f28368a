import { toCanonicalText } from "../../kernel/json/canonical_json.ts";

/** Pages of elements in order, each as canonical JSON. */
export type ElementPages = AsyncIterable<readonly string[]>;

/** The paths of a document's two lists, which are streamed. */
export const DOCUMENT_LISTS: readonly (readonly string[])[] = [["state", "messages"], ["events"]];

/** The parts of a snapshot's document. */
export interface DocumentParts {
  /** The document without its integrity and the elements of its two lists. */
  head: Readonly<Record<string, unknown>>;
  messages: ElementPages;
  /** Undefined omits the list. */
  events?: ElementPages;
}

/** Writes a snapshot's document as canonical JSON (RFC 8785) without its `integrity`, in chunks. */
export async function* writeCanonical({ head, messages, events }: DocumentParts): AsyncGenerator<string> {
  const keys = new Set(Object.keys(head)).add("state");
  if (events) keys.add("events");
  else keys.delete("events");
  keys.delete("integrity");
  let separator = "{";
  for (const key of [...keys].sort()) {
    yield `${separator}${JSON.stringify(key)}:`;
    separator = ",";
    if (key === "events") yield* writeList(events!);
    else if (key === "state") yield* writeState(head.state as Record<string, unknown>, messages);
    else yield toCanonicalText(head[key]);
  }
  yield "}";
}

async function* writeState(state: Record<string, unknown>, messages: ElementPages): AsyncGenerator<string> {
  let separator = "{";
  for (const key of [...new Set(Object.keys(state)).add("messages")].sort()) {
    yield `${separator}${JSON.stringify(key)}:`;
    separator = ",";
    if (key === "messages") yield* writeList(messages);
    else yield toCanonicalText(state[key]);
  }
  yield "}";
}

async function* writeList(pages: ElementPages): AsyncGenerator<string> {
  let separator = "[";
  for await (const page of pages) {
    if (page.length === 0) continue;
    yield separator;
    yield page.length === 1 ? page[0]! : page.join(","); // a page of one element is a large one, which is not copied
    separator = ",";
  }
  yield separator === "[" ? "[]" : "]";
}
