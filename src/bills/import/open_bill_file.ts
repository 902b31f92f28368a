import { createHash } from "node:crypto";
import { PurserError } from "../../kernel/errors.ts";
import { files } from "../../kernel/files/files.ts";
import { systemReason } from "../../kernel/system_errors.ts";
import type { BillFile } from "../sources/bill_source.ts";

const CHUNK_BYTES = 256 * 1024;

async function* chunksOf(path: string): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const file = await files.openToRead(path);
  try {
    for (;;) {
      const chunk = new Uint8Array(CHUNK_BYTES);
      const count = await file.read(chunk);
      if (count === 0) return;
      yield chunk.subarray(0, count);
    }
  } finally {
    await file.close();
  }
}

/** Opens a file with lines of a bill, which may be compressed by gzip. Throws `not_found`, or `invalid` where it is cut off. */
export async function openBillFile(
  path: string,
  columns: Readonly<Record<string, string>>,
): Promise<BillFile & { sha256: string }> {
  const hash = createHash("sha256");
  let isGzip: boolean | undefined;
  try {
    for await (const chunk of chunksOf(path)) {
      isGzip ??= chunk[0] === 0x1f && chunk[1] === 0x8b;
      hash.update(chunk);
    }
  } catch (cause) {
    throw new PurserError("not_found", `Cannot read ${path}: ${systemReason(cause)}`, { cause });
  }
  const refuse = (fault: string, cause: unknown) =>
    new PurserError("invalid", `Cannot import ${path}: ${fault}; is it whole?`, { cause });
  return {
    name: path,
    columns,
    sha256: hash.digest("hex"),
    async *text() {
      const bytes = ReadableStream.from(chunksOf(path));
      const plain = isGzip ? bytes.pipeThrough(new DecompressionStream("gzip")) : bytes;
      const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
      try {
        for await (const chunk of plain) yield decoder.decode(chunk, { stream: true });
        yield decoder.decode();
      } catch (error) {
        throw error instanceof PurserError
          ? error
          : refuse(isGzip ? "its gzip is cut off or broken" : "it is not UTF-8", error);
      }
    },
  };
}
