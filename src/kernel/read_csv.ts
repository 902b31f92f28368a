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
  let [cell, row, isQuoted, isAfterQuote, line, width]: [
    string,
    string[],
    boolean,
    boolean,
    number,
    number?,
  ] = [
    ...["", [], false, false, 1] as [string, string[], boolean, boolean, number],
  ];
  let isFirst = true;
  const endRow = (): string[] | undefined => {
    const ended = [...row, cell];
    [row, cell, isAfterQuote] = [[], "", false];
    if (ended.length === 1 && ended[0] === "") return undefined;
    width ??= ended.length;
    if (ended.length === width) return ended;
    throw new CsvFault(`line ${line} has ${ended.length} cells, and the first has ${width}`);
  };
  for await (const chunk of chunks) {
    const text = isFirst ? chunk.replace(/^\uFEFF/, "") : chunk;
    isFirst &&= chunk === "";
    for (let at = 0; at < text.length; at++) {
      const unit = text[at]!;
      if (unit === "\n") line++;
      if (isQuoted) {
        if (unit === '"') [isQuoted, isAfterQuote] = [false, true];
        else cell += unit;
      } else if (unit === '"' && isAfterQuote) [cell, isQuoted, isAfterQuote] = [cell + '"', true, false];
      else if (unit === '"' && cell === "") isQuoted = true;
      else if (unit === ",") [row, cell, isAfterQuote] = [[...row, cell], "", false];
      else if (unit === "\n") {
        const ended = endRow();
        if (ended) yield ended;
      } else if (unit !== "\r") cell += unit;
    }
  }
  if (isQuoted) throw new CsvFault("it ends in a quoted cell");
  const last = endRow();
  if (last) yield last;
}
