/** A line of a file, by its number from 1: its text, or what is wrong with it. */
export type Line = { number: number; text: string } | { number: number; fault: string };

/**
 * Splits bytes into lines, without their ends. No more than one line is held in memory; one of more than `maxBytes` is a
 * fault, and so is one that is not UTF-8.
 */
export async function* readLines(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<Line> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let number = 0;
  let parts: Uint8Array[] = [];
  let size = 0;

  function add(part: Uint8Array): void {
    size += part.length;
    if (size > maxBytes) parts = [];
    else if (part.length > 0) parts.push(part);
  }

  function end(): Line {
    const bytes = new Uint8Array(size > maxBytes ? 0 : size);
    let at = 0;
    for (const part of parts) {
      bytes.set(part, at);
      at += part.length;
    }
    const isTooLong = size > maxBytes;
    [number, parts, size] = [number + 1, [], 0];
    if (isTooLong) return { number, fault: `it has more than ${maxBytes} bytes` };
    try {
      return { number, text: decoder.decode(bytes).replace(/\r$/, "") };
    } catch {
      return { number, fault: "it is not UTF-8" };
    }
  }

  for await (const chunk of chunks) {
    let from = 0;
    for (let to = chunk.indexOf(10); to >= 0; to = chunk.indexOf(10, from)) {
      add(chunk.subarray(from, to));
      yield end();
      from = to + 1;
    }
    add(chunk.slice(from));
  }
  if (size > 0) yield end();
}
