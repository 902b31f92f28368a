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
 * Reads a snapshot as one value, from a file (gzip too) or a stream.
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
 * Writes a snapshot to a file, as canonical JSON with its integrity computed anew; gzip where the name ends with
 * `.gz`. The file is there whole, or as it was before.
 *
 * @throws {PurserError} `invalid` when it is no snapshot; `unavailable` when the file can't be written
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

/** A snapshot as it is, in the pieces that a reader takes: what is wrong with it is for the reader to say. */
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

/** A snapshot's document. */
function snapshotBytes({ events, ...head }: Snapshot): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  return writeDocument({
    head,
    messages: pagesOf(head.state.messages),
    ...(events && { events: pagesOf(events) }),
  });
}

/** Each element by itself: what is written at once stays small. */
async function* pagesOf(elements: readonly unknown[]): AsyncGenerator<string[]> {
  for (const element of elements) yield [toCanonicalText(element)];
}
