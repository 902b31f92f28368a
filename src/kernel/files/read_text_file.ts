import { systemClock } from "../clock.ts";
import { PurserError } from "../errors.ts";
import { type FileReader, files } from "./files.ts";

/** The most bytes of a file that a setting names: many times those of the longest list of prices in a config file. */
const MAX_BYTES = 16 * 1024 * 1024;

const CHUNK_BYTES = 64 * 1024;

/** The longest wait for a pipe: that of a shell's `<(…)` has its writer already. */
const WAIT_MS = 5_000;

/**
 * Reads a file that a setting names as text in UTF-8. Whatever the path leads to, the memory and the time that this takes are
 * bounded: a device has no end, and a pipe may have no writer.
 *
 * @throws {Error} with the code of the system, or `too_large`; callers name the file
 */
export async function readTextFile(
  path: string,
  { maxBytes = MAX_BYTES, clock = systemClock } = {},
): Promise<string> {
  const { isFile, isFolder, size } = await files.kindOf(path);
  if (isFolder) throw Object.assign(new Error("is a directory"), { code: "EISDIR" });
  if (size > maxBytes) throw tooLarge(maxBytes);
  const reading = readUpTo(path, maxBytes);
  if (isFile) return await reading;
  const over = new AbortController();
  const waiting = clock.sleep(WAIT_MS, over.signal).then(() => undefined);
  try {
    const text = await Promise.race([reading, waiting]);
    if (text !== undefined) return text;
  } finally {
    over.abort();
  }
  reading.catch(() => {}); // which may never end
  throw new Error(`it is a pipe or a device without an end within ${WAIT_MS / 1_000} s; name another file`);
}

async function readUpTo(path: string, maxBytes: number): Promise<string> {
  const file = await files.openToRead(path);
  try {
    return await readText(file, maxBytes);
  } finally {
    await file.close();
  }
}

async function readText(file: FileReader, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const chunk = new Uint8Array(CHUNK_BYTES);
  let text = "";
  for (let bytes = 0;;) {
    const count = await file.read(chunk);
    if (count === 0) return text + decoder.decode();
    bytes += count;
    if (bytes > maxBytes) throw tooLarge(maxBytes);
    text += decoder.decode(chunk.subarray(0, count), { stream: true });
  }
}

function tooLarge(maxBytes: number): PurserError {
  return new PurserError("too_large", `it is larger than ${maxBytes / 1024 / 1024} MiB; name another file`);
}
