import { PurserError } from "../../kernel/errors.ts";

/**
 * Decodes a document's bytes as text, in chunks.
 *
 * @throws {PurserError} `too_large` past `maxBytes`; `invalid` for bytes that aren't UTF-8
 */
export async function* decodeDocument(
  bytes: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<string> {
  // splitJson() skips a byte order mark; if this removed one, a second would pass too.
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let size = 0;
  for await (const chunk of bytes) {
    size += chunk.length;
    if (size > maxBytes) throw snapshotTooLarge(maxBytes);
    yield decode(() => decoder.decode(chunk, { stream: true }));
  }
  yield decode(() => decoder.decode());
}

/** Returns the error for a document over the limit. */
export function snapshotTooLarge(maxBytes: number): PurserError {
  return new PurserError(
    "too_large",
    `Cannot read the snapshot: it is over ${maxBytes} bytes; max_snapshot_bytes in the config allows more`,
  );
}

function decode(read: () => string): string {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new PurserError("invalid", "Cannot read the snapshot: it is not UTF-8", {
      details: { issues: [{ path: "", message: "is not UTF-8" }] },
    });
  }
}
