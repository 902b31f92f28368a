import { createHash } from "node:crypto";
import { PurserError } from "../../kernel/errors.ts";
import { readChunks } from "../../kernel/files/read_chunks.ts";
import type { BillFile } from "../sources/bill_source.ts";
import { readParquet } from "./read_parquet.ts";

/** Opens a file with lines of a bill: text, which may be compressed by gzip, or Parquet. Throws `invalid` where it can't be read, or is cut off. */
export async function openBillFile(
  path: string,
  columns: Readonly<Record<string, string>>,
): Promise<BillFile & { sha256: string }> {
  const hash = createHash("sha256");
  let isGzip: boolean | undefined;
  let isParquet: boolean | undefined;
  for await (const chunk of readChunks(path, "the bill")) {
    isGzip ??= chunk[0] === 0x1f && chunk[1] === 0x8b;
    isParquet ??= String.fromCharCode(...chunk.subarray(0, 4)) === "PAR1";
    hash.update(chunk);
  }
  const refuse = (fault: string, cause: unknown) =>
    new PurserError("invalid", `Cannot import ${path}: ${fault}; is it whole?`, { cause });
  return {
    name: path,
    columns,
    sha256: hash.digest("hex"),
    ...(isParquet && { rows: () => readParquet(path) }),
    async *text() {
      const bytes = ReadableStream.from(readChunks(path, "the bill"));
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
