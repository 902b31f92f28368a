import { createHash } from "node:crypto";
import { toCanonicalText } from "../../kernel/json/canonical_json.ts";
import { splitJson } from "../../kernel/json/split_json.ts";
import { decodeDocument } from "../files/snapshot_source.ts";

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
    yield separator + page.join(",");
    separator = ",";
  }
  yield separator === "[" ? "[]" : "]";
}

/** Writes a document's bytes; it ends with its integrity, the SHA-256 of the rest. */
export async function* writeDocument(parts: DocumentParts): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder();
  const hash = createHash("sha256");
  let previous: Uint8Array<ArrayBuffer> | undefined;
  for await (const piece of writeCanonical(parts)) {
    if (previous) yield previous;
    previous = encoder.encode(piece);
    hash.update(previous);
  }
  // The closing brace is left.
  yield encoder.encode(`,"integrity":"sha256:${hash.digest("hex")}"}`);
}

/** Computes the integrity of a document: `sha256:` and the SHA-256 of its canonical JSON without that field, in hex. */
export async function computeIntegrity(parts: DocumentParts): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of writeCanonical(parts)) hash.update(piece);
  return `sha256:${hash.digest("hex")}`;
}

/** Rewrites a member of the document or of its state, a message or an event. */
export type Rewrite = (value: unknown, path: readonly string[]) => unknown;

/** More than any valid document has: it was validated when it was exported. */
const MAX_DEPTH = 1_000;
const FLUSH_CHARACTERS = 256 * 1024;

/**
 * Rewrites each part of a document, in its order, and recomputes its integrity. Memory use is constant. The document
 * is one of an export: canonical JSON.
 */
export async function* rewriteDocument(
  bytes: AsyncIterable<Uint8Array>,
  rewrite: Rewrite,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder();
  const hash = createHash("sha256");
  const encode = (text: string) => {
    const piece = encoder.encode(text);
    hash.update(piece);
    return piece;
  };
  const open: { depth: number; close: string; isEmpty: boolean }[] = [{
    depth: 0,
    close: "}",
    isEmpty: true,
  }];
  let text = "{";
  const parts = splitJson(decodeDocument(bytes, Number.MAX_SAFE_INTEGER), {
    arrays: DOCUMENT_LISTS,
    maxDepth: MAX_DEPTH,
  });
  for await (const part of parts) {
    const isElement = part.kind === "element";
    if (part.path.length === 1 && part.path[0] === "integrity") continue;
    const depth = isElement ? part.path.length : part.path.length - 1;
    while (open.at(-1)!.depth > depth) text += open.pop()!.close;
    const holder = open.at(-1)!;
    text += holder.isEmpty ? "" : ",";
    holder.isEmpty = false;
    if (!isElement) text += JSON.stringify(part.path.at(-1)) + ":";
    if (part.kind === "open") {
      text += part.type === "array" ? "[" : "{";
      open.push({ depth: part.path.length, close: part.type === "array" ? "]" : "}", isEmpty: true });
    } else {
      text += toCanonicalText(rewrite(JSON.parse(part.text), part.path));
    }
    if (text.length > FLUSH_CHARACTERS) {
      yield encode(text);
      text = "";
    }
  }
  while (open.length > 1) text += open.pop()!.close;
  yield encode(text);
  hash.update("}");
  yield encoder.encode(`,"integrity":"sha256:${hash.digest("hex")}"}`);
}
