import type { FileHandle } from "node:fs/promises";
import { PurserError } from "../errors.ts";
import { systemReason } from "../system_errors.ts";

const CHUNK_BYTES = 64 * 1024;

/**
 * Reads the bytes of a file unchanged; `what` names it in errors, such as "the snapshot".
 *
 * @throws {PurserError} `invalid` when the file can't be read or is a directory
 */
export async function* readChunks(path: string, what: string): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  await using file = await openFile(path, what);
  for (;;) {
    const chunk = new Uint8Array(CHUNK_BYTES);
    const { bytesRead } = await file.read(chunk, 0, CHUNK_BYTES, null).catch((error) => {
      throw unreadable(path, what, error);
    });
    if (bytesRead === 0) return;
    yield chunk.subarray(0, bytesRead);
  }
}

/** Returns the size of a file in bytes, if it is known in advance. Throws as `readChunks` does. */
export async function sizeOfFile(path: string, what: string): Promise<number | undefined> {
  await using file = await openFile(path, what);
  const stat = await file.stat();
  return stat.isFile() ? stat.size : undefined;
}

async function openFile(path: string, what: string): Promise<FileHandle> {
  const { open } = await import("node:fs/promises"); // lazy: an edge runtime has no files
  try {
    const file = await open(path);
    if (!(await file.stat()).isDirectory()) return file;
    await file.close();
  } catch (error) {
    throw unreadable(path, what, error);
  }
  throw new PurserError("invalid", `Cannot read ${what} ${path}: is a directory`);
}

function unreadable(path: string, what: string, error: unknown): PurserError {
  if (error instanceof PurserError) return error;
  return new PurserError("invalid", `Cannot read ${what} ${path}: ${systemReason(error)}`, { cause: error });
}
