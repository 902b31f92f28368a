/** A fault of a CSV document. */
export class CsvFault extends Error {
  override name = "CsvFault";
}

/**
 * Reads the rows of a CSV document (RFC 4180) from its chunks: cells that are quoted may have commas, quotes and line ends. A byte order
 * mark and empty lines are skipped. Throws a {@linkcode CsvFault} for a row with another number of cells than the first, and for a document
 * that ends in a quoted cell.
 */
export async function* readCsv(chunks: AsyncIterable<string>): AsyncGenerator<string[]> {
  const { push, end } = createCsvReader();
  for await (const chunk of chunks) yield* push(chunk);
  yield* end();
}

/** Reads the rows of a CSV document as `readCsv` does. */
export function* parseCsv(text: string): Generator<string[]> {
  const { push, end } = createCsvReader();
  yield* push(text);
  yield* end();
}

function createCsvReader() {
  let row: string[] = [];
  let cell = "";
  let isQuoted = false;
  let isAfterQuote = false;
  let isFirst = true;
  let line = 1;
  let width: number | undefined;
  const endCell = () => {
    row.push(cell);
    cell = "";
    isAfterQuote = false;
  };
  const endRow = (): string[] | undefined => {
    endCell();
    const ended = row;
    row = [];
    if (ended.length === 1 && ended[0] === "") return undefined;
    width ??= ended.length;
    if (ended.length === width) return ended;
    throw new CsvFault(`line ${line} has ${ended.length} cells, and the first has ${width}`);
  };
  function* push(chunk: string): Generator<string[]> {
    for (const unit of isFirst ? chunk.replace(/^\uFEFF/, "") : chunk) {
      if (isQuoted) {
        isQuoted = unit !== '"';
        isAfterQuote = !isQuoted;
        if (isQuoted) cell += unit;
      } else if (unit === '"' && isAfterQuote) {
        cell += unit;
        isQuoted = true;
      } else if (unit === '"' && cell === "") isQuoted = true;
      else if (unit === ",") endCell();
      else if (unit === "\n") {
        const ended = endRow();
        if (ended) yield ended;
      } else if (unit !== "\r") cell += unit;
      if (unit === "\n") line++;
    }
    isFirst &&= chunk === "";
  }
  function* end(): Generator<string[]> {
    if (isQuoted) throw new CsvFault("it ends in a quoted cell");
    const last = endRow();
    if (last) yield last;
  }
  return { push, end };
}
