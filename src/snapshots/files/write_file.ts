import { randomUUID } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { PurserError } from "../../kernel/errors.ts";
import { systemReason } from "../../kernel/system_errors.ts";

type Chunks = AsyncIterable<Uint8Array<ArrayBuffer>>;

/**
 * Writes a file atomically: a temporary file beside it is flushed to the disk and renamed. Only its owner may read it,
 * since it contains conversations. Compresses with gzip if the name ends with `.gz`. A device or a pipe is written to
 * directly.
 *
 * @throws {PurserError} `unavailable` when it can't be written; errors of `chunks`
 */
export async function writeFile(path: string, chunks: Chunks): Promise<void> {
  const content = path.endsWith(".gz") ? gzip(chunks) : chunks;
  const { constants, open, realpath, rename, rm, stat } = await import("node:fs/promises"); // an edge runtime has none
  const target = await stat(path).catch(() => undefined);
  if (target?.isDirectory()) throw new PurserError("unavailable", `Cannot write ${path}: is a directory`);
  if (target && !target.isFile()) {
    await using file = await attempt(path, () => open(path, constants.O_WRONLY));
    return await writeAll(path, file, content);
  }
  // A symbolic link stays one.
  const realPath = await realpath(path).catch(() => path);
  const temporary = join(dirname(realPath), `.${basename(realPath)}.${randomUUID().slice(0, 8)}.part`);
  const file = await attempt(path, () => open(temporary, "wx", 0o600));
  try {
    try {
      await writeAll(path, file, content);
      await attempt(path, () => file.datasync());
    } finally {
      await file.close();
    }
    await attempt(path, () => rename(temporary, realPath));
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    throw error;
  }
}

async function writeAll(path: string, file: FileHandle, chunks: Chunks): Promise<void> {
  for await (const chunk of chunks) {
    for (let written = 0; written < chunk.length;) {
      written += (await attempt(path, () => file.write(chunk.subarray(written)))).bytesWritten;
    }
  }
}

function gzip(chunks: Chunks): Chunks {
  return ReadableStream.from(chunks).pipeThrough(new CompressionStream("gzip"));
}

async function attempt<T>(path: string, task: () => Promise<T>): Promise<T> {
  try {
    return await task();
  } catch (error) {
    throw new PurserError("unavailable", `Cannot write ${path}: ${systemReason(error)}`, { cause: error });
  }
}
