import { messageOf, PurserError } from "../../kernel/errors.ts";
import { toIso } from "../../kernel/clock.ts";
import { formatDecimal, parseDecimal } from "../lines/decimal.ts";

/**
 * Yields the rows of a Parquet file as the cells of a CSV document, the names of the columns first. One row group is in memory at a time.
 *
 * @throws {PurserError} `invalid` for a file that is cut off or broken, or is compressed in another way
 */
export async function* readParquet(path: string): AsyncGenerator<string[]> {
  const [{ asyncBufferFromFile, parquetMetadataAsync, parquetScan, parquetSchema }, zlib] = await Promise.all(
    [
      import("hyparquet"),
      import("node:zlib"), // an edge runtime has none
    ],
  );
  try {
    const file = await asyncBufferFromFile(path);
    const metadata = await parquetMetadataAsync(file, { geoparquet: false });
    const columns = parquetSchema(metadata).children.map(({ element }) => {
      const { name, converted_type, logical_type, scale } = element;
      if (converted_type !== "DECIMAL" && logical_type?.type !== "DECIMAL") return { name };
      // The reader would make a floating-point number of it.
      delete element.converted_type;
      delete element.logical_type;
      return { name, scale: scale ?? 0 };
    });
    const scan = await parquetScan({
      file,
      metadata,
      utf8: false,
      useOffsetIndex: false,
      parsers: {
        timestampFromMilliseconds: (at) => toIso(Number(at)),
        timestampFromMicroseconds: (at) => toIso(Number(at / 1_000n)),
        timestampFromNanoseconds: (at) => toIso(Number(at / 1_000_000n)),
        dateFromDays: (days) => toIso(days * 86_400_000).slice(0, 10),
      },
      compressors: {
        GZIP: (bytes) => zlib.gunzipSync(bytes),
        BROTLI: (bytes) => zlib.brotliDecompressSync(bytes),
        ZSTD: (bytes) => zlib.zstdDecompressSync(bytes),
      },
    });
    yield columns.map(({ name }) => name);
    for (const { rowStart, rowEnd } of scan.ranges) {
      const cells = await Promise.all(
        columns.map(({ name: column }) => scan.readColumn({ column, rowStart, rowEnd })),
      );
      if (cells.some(({ length }) => length !== rowEnd - rowStart)) throw new Error("a column ends early");
      for (let row = 0; row < rowEnd - rowStart; row++) {
        yield columns.map(({ scale }, index) => toCell(cells[index]![row], scale));
      }
    }
  } catch (error) {
    throw new PurserError(
      "invalid",
      `Cannot import ${path}: its Parquet can't be read (${messageOf(error)}); is it whole?`,
      { cause: error },
    );
  }
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function toCell(value: unknown, scale: number | undefined): string {
  if (value === null || value === undefined) return "";
  if (scale !== undefined) {
    return formatDecimal({ units: unitsOf(value as number | bigint | Uint8Array), scale });
  }
  if (value instanceof Uint8Array) return decoder.decode(value);
  // Without an exponent, as in CSV.
  if (typeof value === "number" && Number.isFinite(value)) return formatDecimal(parseDecimal(String(value)));
  if (typeof value !== "object") return String(value);
  // Tags of AWS are a map.
  return JSON.stringify(value, (_, each) => typeof each === "bigint" ? String(each) : each);
}

/** Returns the integer of a decimal: of bytes, two's complement, the highest one first. */
function unitsOf(value: number | bigint | Uint8Array): bigint {
  if (!(value instanceof Uint8Array)) return BigInt(value);
  const units = value.reduce((sum, byte) => sum << 8n | BigInt(byte), 0n);
  return BigInt.asIntN(8 * value.length, units);
}
