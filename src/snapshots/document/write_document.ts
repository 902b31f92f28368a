import { createHash } from "node:crypto";
import { toCanonicalText } from "../../kernel/json/canonical_json.ts";
import { splitJson } from "../../kernel/json/split_json.ts";
import { decodeDocument } from "./decode_document.ts";
import { messageOf, PurserError } from "../../kernel/errors.ts";
import { encodeInTurns, type Turns } from "../../kernel/turns.ts";
import { MessageCheck } from "./check_document.ts";
import { Issues } from "./issues.ts";
import { Snapshot } from "../../contract/snapshot/snapshot.ts";
import { writeFile } from "../files/write_file.ts";
import { DOCUMENT_LISTS, type DocumentParts, writeCanonical } from "./canonical_document.ts";

/** Computes the integrity of a document: `sha256:` and the SHA-256 of its canonical JSON without that field, in hex. */
export async function computeIntegrity(parts: DocumentParts, turns?: Turns): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of encodeInTurns(writeCanonical(parts), turns)) hash.update(chunk);
  return `sha256:${hash.digest("hex")}`;
}

/** Writes a document's bytes; it ends with its integrity, the SHA-256 of the rest. With turns, it shares the event loop. */
export async function* writeDocument(
  parts: DocumentParts,
  turns?: Turns,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const hash = createHash("sha256");
  let previous: Uint8Array<ArrayBuffer> | undefined;
  for await (const chunk of encodeInTurns(writeCanonical(parts), turns)) {
    if (previous) yield previous;
    previous = chunk;
    hash.update(chunk);
  }
  // The closing brace is left.
  yield new TextEncoder().encode(`,"integrity":"sha256:${hash.digest("hex")}"}`);
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

const CHUNK_BYTES = 256 * 1024;

/**
 * Writes a snapshot to a file, as canonical JSON with its integrity recomputed; in gzip if the name ends with `.gz`. The
 * file is replaced atomically.
 *
 * @throws {PurserError} `invalid` when it is not a snapshot; `unavailable` when the file can't be written
 */
export async function writeSnapshot(snapshot: Snapshot, path: string): Promise<void> {
  const issues = new Issues();
  const checked = Snapshot.safeParse(snapshot);
  if (!checked.success) issues.addSchemaIssues([], checked.error.issues);
  const messages = new MessageCheck(issues);
  if (checked.success) snapshot.state.messages.forEach((message, index) => messages.check(index, message));
  issues.throwIfAny();
  await writeFile(path, snapshotBytes(snapshot));
}

/** Encodes a snapshot as it is, in chunks; the reader validates it. */
export async function* bytesOf(snapshot: unknown): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(toText(snapshot));
  for (let start = 0; start < bytes.length; start += CHUNK_BYTES) {
    yield bytes.subarray(start, start + CHUNK_BYTES);
  }
}

function toText(snapshot: unknown): string {
  try {
    return JSON.stringify(snapshot);
  } catch (error) {
    throw new PurserError("invalid", `Cannot read the snapshot: it has no JSON form: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

function snapshotBytes({ events, ...head }: Snapshot): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  return writeDocument({
    head,
    messages: pagesOf(head.state.messages),
    ...(events && { events: pagesOf(events) }),
  });
}

/** Pages of one element each, so that every chunk stays small. */
async function* pagesOf(elements: readonly unknown[]): AsyncGenerator<string[]> {
  for (const element of elements) yield [toCanonicalText(element)];
}
