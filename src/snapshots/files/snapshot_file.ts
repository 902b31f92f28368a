import { toCanonicalText } from "../../kernel/json/canonical_json.ts";
import { messageOf, PurserError } from "../../kernel/errors.ts";
import { MessageCheck } from "../document/check_document.ts";
import { writeDocument } from "../document/write_document.ts";
import { Issues } from "../document/issues.ts";
import { readDocument } from "../document/read_document.ts";
import { Snapshot } from "../../contract/snapshot/snapshot.ts";
import { openSource, type SnapshotSource } from "./snapshot_source.ts";
import { writeFile } from "./write_file.ts";

const CHUNK_BYTES = 256 * 1024;

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
