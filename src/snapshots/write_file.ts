import { randomUUID } from "node:crypto";
import { basename, dirname, join } from "node:path";
import { messageOf, PurserError } from "../errors.ts";

/**
 * Writes a file beside its target and renames it when it is whole and on the disk: the target is never torn. Only
 * its owner may read it, for it holds what was said. Gzip where the name ends with `.gz`.
 *
 * @throws {PurserError} `unavailable` when it can't be written; what `chunks` throws
 */
export async function writeFile(path: string, chunks: AsyncIterable<Uint8Array<ArrayBuffer>>): Promise<void> {
  const temporary = join(dirname(path), `.${basename(path)}.${randomUUID().slice(0, 8)}.part`);
  const attempt = async <T>(task: () => Promise<T>): Promise<T> => {
    try {
      return await task();
    } catch (error) {
      throw unwritable(path, error);
    }
  };
  const file = await attempt(async () => {
    const isDirectory = await Deno.stat(path).then((stat) => stat.isDirectory, () => false);
    if (isDirectory) throw new Error("it is a directory");
    return await Deno.open(temporary, { write: true, createNew: true, mode: 0o600 });
  });
  let isOpen = true;
  try {
    for await (const chunk of path.endsWith(".gz") ? gzip(chunks) : chunks) {
      for (let written = 0; written < chunk.length;) {
        written += await attempt(() => file.write(chunk.subarray(written)));
      }
    }
    await attempt(() => file.syncData());
    file.close();
    isOpen = false;
    await attempt(() => Deno.rename(temporary, path));
  } catch (error) {
    if (isOpen) file.close();
    await Deno.remove(temporary).catch(() => {});
    throw error;
  }
}

function gzip(chunks: AsyncIterable<Uint8Array<ArrayBuffer>>): AsyncIterable<Uint8Array<ArrayBuffer>> {
  return ReadableStream.from(chunks).pipeThrough(new CompressionStream("gzip"));
}

function unwritable(path: string, error: unknown): PurserError {
  const { name, code } = error as { name?: string; code?: string };
  const reason = code === "ENOSPC"
    ? "the disk is full"
    : name === "NotFound"
    ? "there is no such directory"
    : name === "PermissionDenied"
    ? "it may not be written"
    : messageOf(error);
  return new PurserError("unavailable", `Cannot write ${path}: ${reason}`, { cause: error });
}
