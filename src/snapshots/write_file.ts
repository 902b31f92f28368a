import { randomUUID } from "node:crypto";
import { basename, dirname, join } from "node:path";
import { isDiskFull, messageOf, PurserError } from "../errors.ts";

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
  const target = await Deno.stat(path).catch(() => undefined);
  if (target?.isDirectory) throw new PurserError("unavailable", `Cannot write ${path}: it is a directory`);
  if (target && !target.isFile) {
    using file = await attempt(path, () => Deno.open(path, { write: true }));
    return await writeAll(path, file, content);
  }
  // Through a link, as every program writes.
  const place = await Deno.realPath(path).catch(() => path);
  const temporary = join(dirname(place), `.${basename(place)}.${randomUUID().slice(0, 8)}.part`);
  const file = await attempt(path, () => Deno.open(temporary, { write: true, createNew: true, mode: 0o600 }));
  try {
    try {
      await writeAll(path, file, content);
      await attempt(path, () => file.syncData());
    } finally {
      file.close();
    }
    await attempt(path, () => Deno.rename(temporary, place));
  } catch (error) {
    await Deno.remove(temporary).catch(() => {});
    throw error;
  }
}

async function writeAll(path: string, file: Deno.FsFile, chunks: Chunks): Promise<void> {
  for await (const chunk of chunks) {
    for (let written = 0; written < chunk.length;) {
      written += await attempt(path, () => file.write(chunk.subarray(written)));
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
    const { name } = error as { name?: string };
    const reason = isDiskFull(error)
      ? "the disk is full"
      : name === "NotFound"
      ? "there is no such directory"
      : name === "PermissionDenied"
      ? "it may not be written"
      : messageOf(error);
    throw new PurserError("unavailable", `Cannot write ${path}: ${reason}`, { cause: error });
  }
}
