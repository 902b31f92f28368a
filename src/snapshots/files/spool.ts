import { messageOf, PurserError } from "../../kernel/errors.ts";
import { isDiskFull } from "../../kernel/system_errors.ts";

/**
 * Lines of text that are written once and then read, possibly several times. They are JSON, which contains no bare line
 * breaks. A few lines stay in memory; more are in a temporary file that no other process can open.
 */
export interface Spool extends AsyncDisposable {
  readonly count: number;
  /** Adds a line; awaiting it is needed only where it returns a promise. */
  add(line: string): Promise<void> | void;
  /** Reads all lines in order, in pages. No line may be added after the first read. */
  pages(): AsyncGenerator<string[]>;
}

/** The default of `memoryCharacters`. */
const MEMORY_CHARACTERS = 1 * 1024 * 1024;
const WRITE_CHARACTERS = 64 * 1024;
const READ_BYTES = 64 * 1024;

/** The options of a spool. */
export interface SpoolOptions {
  /** The number of characters that stay in memory. */
  memoryCharacters?: number;
  /** Opens the temporary file; undefined where there is no file system: all lines stay in memory. */
  openFile?: (() => Promise<TemporaryFile>) | undefined;
  /** Without a file: creates the error for lines beyond the memory limit. */
  refuse?: () => PurserError;
}

/** Creates an empty spool. */
export function createSpool(options: SpoolOptions = {}): Spool {
  const { memoryCharacters = MEMORY_CHARACTERS, refuse } = options;
  const openFile = "openFile" in options ? options.openFile : hasFiles() ? openTemporaryFile : undefined;
  let lines: string[] = [];
  let characters = 0;
  let count = 0;
  let file: TemporaryFile | undefined;
  let finished: Promise<void> | undefined;
  const flush = async (open: () => Promise<TemporaryFile>) => {
    file ??= await attempt(() => open());
    const bytes = new TextEncoder().encode(lines.join("\n") + "\n");
    lines = [];
    characters = 0;
    await attempt(() => file!.append(bytes));
  };
  return {
    get count() {
      return count;
    },
    add(line) {
      lines.push(line);
      count++;
      characters += line.length;
      if (characters <= (file ? WRITE_CHARACTERS : memoryCharacters)) return;
      if (refuse) throw refuse();
      if (openFile) return flush(openFile);
    },
    async *pages() {
      if (!file) {
        if (lines.length > 0) yield lines;
        return;
      }
      await (finished ??= lines.length > 0 ? flush(openFile!) : Promise.resolve());
      yield* readPages(file);
    },
    async [Symbol.asyncDispose]() {
      const open = file;
      file = undefined;
      lines = [];
      await open?.close();
    },
  };
}

/** Reads from the start; every reader has its own position in the file. */
async function* readPages(file: TemporaryFile): AsyncGenerator<string[]> {
  const decoder = new TextDecoder();
  const buffer = new Uint8Array(READ_BYTES);
  let position = 0;
  let unfinished: string[] = [];
  for (;;) {
    const read = file.readAt(position, buffer);
    if (read === 0) return;
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
        isDiskFull(error) ? "is on a full disk" : `can't be used: ${messageOf(error)}`
      }`,
      { cause: error },
    );
  }
}

/** An unlinked file disappears with the process, however that ends. */
export interface TemporaryFile {
  /** Appends all bytes. */
  append(bytes: Uint8Array): Promise<void>;
  /** Reads from a position and returns the number of bytes, 0 at the end. Readers don't disturb one another. */
  readAt(position: number, buffer: Uint8Array): number;
  close(): Promise<void>;
}

/** Returns whether this platform has temporary files; on Cloudflare Workers they are memory. */
export function hasFiles(): boolean {
  return globalThis.navigator?.userAgent !== "Cloudflare-Workers";
}

/** Creates a temporary file that no other process can open, by default in the system's temporary directory. */
export async function openTemporaryFile(directory?: string): Promise<TemporaryFile> {
  // Lazy: an edge runtime has none of them.
  const [{ randomUUID }, { readSync }, { open, rm }, { tmpdir }, { join }] = await Promise.all([
    import("node:crypto"),
    import("node:fs"),
    import("node:fs/promises"),
    import("node:os"),
    import("node:path"),
  ]);
  const path = join(directory ?? tmpdir(), `purser-${randomUUID()}`);
  const file = await open(path, "wx+", 0o600);
  // Windows does not remove an open file: it stays in the temporary directory.
  await rm(path).catch(() => {});
  return {
    async append(bytes) {
      for (let written = 0; written < bytes.length;) {
        written += (await file.write(bytes.subarray(written))).bytesWritten;
      }
    },
    // Synchronous: where a positional read moves the file's only offset, no other reader comes in between.
    readAt: (position, buffer) => readSync(file.fd, buffer, 0, buffer.length, position),
    close: () => file.close(),
  };
}
