import { messageOf } from "../../kernel/errors.ts";
import type { FilesSync } from "../../kernel/files/files.ts";
import type { LogKind, LogSink, OtherFiles, ReaderState } from "../logs/importer.ts";
import type { FoundLog } from "./find_logs.ts";
import { LineSplitter } from "./line_splitter.ts";
import { readPieces } from "./other_files.ts";
import { openDatabase } from "./sqlite_log.ts";

/** The state of a file after its last import. */
export interface FileState {
  path: string;
  /** The size and the last change, in milliseconds since the epoch, when it was read. */
  size: number;
  modifiedAt: number;
  /** The offset after the last line that was read. */
  readTo: number;
  /** The number of the file's first bytes and a hash of them, by which a file that was replaced is recognized. */
  head: string;
  /** False if its reader may hold calls of which more was expected. */
  isEnded: boolean;
  state: ReaderState;
}

/** The longest line that is read; a longer one that has a marker counts as malformed. */
export const MAX_LINE_BYTES = 8 * 1024 * 1024;
/** The largest document that is read whole. */
const MAX_DOCUMENT_BYTES = 64 * 1024 * 1024;
const HEAD_BYTES = 1024;
/** The bytes after which the state of a file may be stored before its end. */
const PART_BYTES = 1024 * 1024;

/** The arguments of `readLog` beside the file. */
export interface ReadOptions {
  files: FilesSync;
  others: OtherFiles;
  sink: LogSink;
  /** The state after the last import of the file. */
  before: FileState | undefined;
  /** True if the reader is told that the file has ended for now. */
  isEnded: boolean;
  sleep(ms: number): Promise<void>;
}

/**
 * Reads what a log has had since its last import, or all of it if it was replaced. Yields after each part the state that is to
 * be stored once the part's sightings are; undefined in the middle of a database, which has none. Nothing after the last line
 * feed is read. Throws if the file can't be read.
 */
export async function* readLog(log: FoundLog, options: ReadOptions): AsyncGenerator<FileState | undefined> {
  const { kind: { read }, path } = log;
  const { files, before, isEnded } = options;
  const state = {
    path,
    size: log.size,
    modifiedAt: log.modifiedAt,
    readTo: 0,
    head: "",
    isEnded,
    state: null,
  };
  if (read.form === "whole") {
    yield { ...state, isEnded: true, state: readDocument(log, { ...options, read }) };
  } else if (read.form === "sqlite") {
    yield* askDatabase(log, { ...options, read }, state);
  } else if (read.form === "pages") {
    for await (const page of read.pages(before?.state, options.sink)) {
      yield { ...state, isEnded: page.isEnded, state: page.state };
    }
  } else if (read.compressed) {
    yield* readLines(log, read, options, { ...state, pieces: decompress(path) });
  } else {
    const isSame = before !== undefined && before.readTo <= log.size &&
      before.head === headOf(files, path, before.readTo);
    const from = isSame ? before.readTo : 0;
    yield* readLines(log, read, options, {
      ...state,
      readTo: from,
      state: isSame ? before.state : undefined,
      pieces: readPieces(files, path, from),
    });
  }
}

type Pieces = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

async function* readLines(
  { path, name }: FoundLog,
  form: Form<"lines">,
  { files, others, sink, isEnded }: ReadOptions,
  { pieces, ...state }: FileState & { pieces: Pieces },
): AsyncGenerator<FileState> {
  const reader = form.open({ path, name }, state.state ?? undefined, others);
  const splitter = new LineSplitter({
    markers: form.markers,
    maxLineBytes: MAX_LINE_BYTES,
    onLine: (line) => attempt(sink, () => reader.line(line, sink)),
    onLongLine: () => sink.malformed(`a line has more than ${MAX_LINE_BYTES / 1024 / 1024} MiB`),
  });
  let readTo = state.readTo;
  let yieldedTo = readTo;
  const stateNow = (isEnded: boolean): FileState => {
    // What is compressed can't be read from its middle.
    if (form.compressed) return { ...state, isEnded };
    const to = readTo - splitter.openBytes;
    return { ...state, readTo: to, head: headOf(files, path, to), isEnded, state: reader.state() };
  };
  for await (const bytes of pieces) {
    splitter.push(bytes);
    readTo += bytes.length;
    if (readTo - yieldedTo < PART_BYTES || form.compressed) continue;
    yieldedTo = readTo;
    yield stateNow(false);
  }
  if (isEnded) reader.end?.(sink);
  if (isEnded && splitter.openBytes > 0) reader.cut?.(sink);
  yield stateNow(isEnded);
}

/** Counts what throws as malformed. */
function attempt(sink: LogSink, read: () => void): void {
  try {
    read();
  } catch (error) {
    sink.malformed(error instanceof SyntaxError ? "a record is not JSON" : messageOf(error));
  }
}

/** Returns the number and a hash of the first bytes of a file, of those that were read. It protects nothing. */
function headOf(files: FilesSync, path: string, readTo: number): string {
  const length = Math.min(readTo, HEAD_BYTES);
  const bytes = new Uint8Array(length);
  const file = files.open(path);
  try {
    for (let at = 0; at < length;) {
      const count = file.read(bytes.subarray(at));
      if (count === 0) break;
      at += count;
    }
  } finally {
    file.close();
  }
  let [low, high] = [0x811c9dc5, 0x9747b28c];
  for (const byte of bytes) {
    low = Math.imul(low ^ byte, 0x01000193);
    high = Math.imul(high ^ byte, 0x5bd1e995);
  }
  return `${length}:${(low >>> 0).toString(36)}${(high >>> 0).toString(36)}`;
}

type Form<Name> = Extract<LogKind["read"], { form: Name }>;

/** The state of a document after its last import: that of its reader, and how often each fault was told. */
interface DocumentState {
  reader?: ReaderState;
  told: Record<string, number>;
}

/** Reads a document. It still has the faults that the last import has told: they are not told again. */
function readDocument(
  log: FoundLog,
  { files, others, sink, before, read }: ReadOptions & { read: Form<"whole"> },
): DocumentState {
  const last = (before?.state ?? { told: {} }) as DocumentState;
  const state: DocumentState = { ...last, told: {} };
  const once = (tell: (reason: string) => void) => (reason: string) => {
    const count = state.told[reason] = (state.told[reason] ?? 0) + 1;
    if (count > (last.told[reason] ?? 0)) tell(reason);
  };
  const fresh = { ...sink, unmetered: once(sink.unmetered), malformed: once(sink.malformed) };
  attempt(fresh, () => {
    const text = textOf(files, log);
    state.reader = read.read(text, { path: log.path, name: log.name }, fresh, others, last.reader) ??
      undefined;
  });
  return state;
}

/** Returns the text of a document. Throws if it is too large. */
function textOf(files: FilesSync, { path, size }: FoundLog): string {
  const decoder = new TextDecoder();
  const parts: string[] = [];
  let left = MAX_DOCUMENT_BYTES;
  if (size <= left) {
    for (const bytes of readPieces(files, path)) {
      if ((left -= bytes.length) < 0) break;
      parts.push(decoder.decode(bytes, { stream: true }));
    }
    if (left >= 0) return parts.join("") + decoder.decode();
  }
  throw new Error(`it has more than ${MAX_DOCUMENT_BYTES / 1024 / 1024} MiB`);
}

async function* decompress(path: string): AsyncGenerator<Uint8Array> {
  const [{ createReadStream }, zlib] = await Promise.all([import("node:fs"), import("node:zlib")]);
  if (typeof zlib.createZstdDecompress !== "function") {
    throw new Error("this runtime can't read Zstandard; run Purser's binary");
  }
  const source = createReadStream(path);
  const out = zlib.createZstdDecompress();
  source.on("error", (error) => out.destroy(error));
  for await (const bytes of source.pipe(out)) yield bytes;
}

/** The pauses before a database that is being written is read again. */
const BUSY_PAUSES_MS = [50, 200, 1_000];

async function* askDatabase(
  { path, name }: FoundLog,
  { files, sink, before, sleep, read }: ReadOptions & { read: Form<"sqlite"> },
  state: FileState,
): AsyncGenerator<FileState | undefined> {
  for (let attempt = 0, isTold = false;; attempt++) {
    try {
      await using db = await openDatabase(files, path);
      const reading = read.read(db, { path, name }, before?.state ?? undefined, sink);
      let next = reading.next();
      for (; !next.done; next = reading.next()) {
        isTold = true;
        yield undefined;
      }
      return yield { ...state, isEnded: true, state: next.value ?? null };
    } catch (error) {
      const pause = BUSY_PAUSES_MS[attempt];
      // What was told before an error is not told twice.
      if (isTold || pause === undefined || !/locked|busy|malformed/i.test(messageOf(error))) throw error;
      await sleep(pause);
    }
  }
}
