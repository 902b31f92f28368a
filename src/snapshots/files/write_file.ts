import { randomUUID } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { PurserError, systemCodeOf, systemReason } from "../../kernel/errors.ts";
import { streamOf } from "./snapshot_source.ts";

type Chunks = AsyncIterable<Uint8Array<ArrayBuffer>>;

/**
 * Writes a file beside its target and renames it when it is whole and on the disk: the target is never torn. Only
 * its owner may read it, for it holds what was said. Gzip where the name ends with `.gz`. A device or a pipe is
 * written to as it is.
 *
 * @throws {PurserError} `unavailable` when it can't be written; what `chunks` throws
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
  // Through a link, as every program writes.
  const place = await realpath(path).catch(() => path);
  const temporary = join(dirname(place), `.${basename(place)}.${randomUUID().slice(0, 8)}.part`);
  const file = await attempt(path, () => open(temporary, "wx", 0o600));
  try {
    try {
      await writeAll(path, file, content);
      await attempt(path, () => file.datasync());
    } finally {
      await file.close();
    }
    await attempt(path, () => rename(temporary, place));
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
  return streamOf(chunks).pipeThrough(new CompressionStream("gzip"));
}

async function attempt<T>(path: string, task: () => Promise<T>): Promise<T> {
  try {
    return await task();
  } catch (error) {
    const code = systemCodeOf(error);
    const reason = code === "ENOENT"
      ? "there is no such directory"
      : code === "EACCES" || code === "EPERM"
      ? "it may not be written"
      : systemReason(error);
    throw new PurserError("unavailable", `Cannot write ${path}: ${reason}`, { cause: error });
  }
}
