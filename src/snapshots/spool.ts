import { isDiskFull, messageOf, PurserError } from "../errors.ts";

/**
 * Lines of text that are written once and then read, perhaps several times. They are JSON, in which no line
 * break stands bare. A few stay in memory; more go to a temporary file that nobody else can open.
 */
export interface Spool extends AsyncDisposable {
  readonly count: number;
  /** Takes a line; awaiting it is needed only where it returns a promise. */
  add(line: string): Promise<void> | void;
  /** All lines in order, in pages. No line may be added after the first read. */
  pages(): AsyncGenerator<string[]>;
}

/** So many characters stay in memory. */
const MEMORY_CHARACTERS = 1 * 1024 * 1024;
const WRITE_CHARACTERS = 64 * 1024;
const READ_BYTES = 64 * 1024;

/** An empty spool. At the edge, which has no files, all of it stays in memory. */
export function createSpool({ memoryCharacters = MEMORY_CHARACTERS } = {}): Spool {
  let lines: string[] = [];
  let characters = 0;
  let count = 0;
  let file: Deno.FsFile | undefined;
  let finished: Promise<void> | undefined;
  const flush = async () => {
    file ??= await openTemporaryFile();
    const bytes = new TextEncoder().encode(lines.join("\n") + "\n");
    lines = [];
    characters = 0;
    await attempt(() => writeAll(file!, bytes));
  };
  return {
    get count() {
      return count;
    },
    add(line) {
      lines.push(line);
      count++;
      characters += line.length;
      if (characters > (file ? WRITE_CHARACTERS : memoryCharacters) && hasFiles()) return flush();
    },
    async *pages() {
      if (!file) {
        if (lines.length > 0) yield lines;
        return;
      }
      await (finished ??= lines.length > 0 ? flush() : Promise.resolve());
      yield* readPages(file);
    },
    // deno-lint-ignore require-await -- the interface's
    async [Symbol.asyncDispose]() {
      file?.close();
      file = undefined;
      lines = [];
    },
  };
}

function hasFiles(): boolean {
  return typeof globalThis.Deno?.makeTempFile === "function";
}

/** A file that has no name any more: nothing is left of it, however the process ends. */
async function openTemporaryFile(): Promise<Deno.FsFile> {
  return await attempt(async () => {
    const path = await Deno.makeTempFile({ prefix: "purser-" });
    const file = await Deno.open(path, { read: true, write: true });
    // Windows does not remove an open file; there it stays in the directory for temporary files.
    await Deno.remove(path).catch(() => {});
    return file;
  });
}

async function writeAll(file: Deno.FsFile, bytes: Uint8Array): Promise<void> {
  for (let written = 0; written < bytes.length;) written += await file.write(bytes.subarray(written));
}

/** Reads from the start; every reader has a place of its own in the file. */
async function* readPages(file: Deno.FsFile): AsyncGenerator<string[]> {
  const decoder = new TextDecoder();
  const buffer = new Uint8Array(READ_BYTES);
  let position = 0;
  let unfinished: string[] = [];
  for (;;) {
    // In one go: between two calls another reader would move the file's only place.
    file.seekSync(position, Deno.SeekMode.Start);
    const read = file.readSync(buffer);
    if (read === null) return;
    position += read;
    const text = decoder.decode(buffer.subarray(0, read), { stream: true });
    const end = text.lastIndexOf("\n");
    if (end === -1) {
      unfinished.push(text);
      continue;
    }
    unfinished.push(text.slice(0, end));
    yield unfinished.join("").split("\n");
    unfinished = [text.slice(end + 1)];
  }
}

async function attempt<T>(task: () => Promise<T>): Promise<T> {
  try {
    return await task();
  } catch (error) {
    throw new PurserError(
      "unavailable",
      `Cannot read the snapshot: the directory for temporary files ${
        isDiskFull(error) ? "is on a disk that is full" : `can't be used: ${messageOf(error)}`
      }`,
      { cause: error },
    );
  }
}
