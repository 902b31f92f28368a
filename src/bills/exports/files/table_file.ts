import { Buffer } from "node:buffer";
import type { ExportCell, ExportColumn } from "../../../contract/exports.ts";
import type { ExportFormat } from "../../../contract/values.ts";
import { cellOf, toLines } from "../../../kernel/csv.ts";
import { toUnits } from "../decimal_text.ts";

/** A table that is written row by row, and becomes one file. */
export interface TableFile {
  readonly rows: number;
  add(row: readonly ExportCell[]): void;
  /** Returns the whole file. */
  finish(): Uint8Array<ArrayBuffer>;
}

/** The decimals of columns in Parquet, which are DECIMAL(38, n). */
const SCALES = { usd: 9, decimal: 12 } as const;

/** The bytes of a decimal. */
const DECIMAL_BYTES = 16;

/** The rows of one row group of Parquet. */
const ROWS_PER_GROUP = 10_000;

/** The characters of CSV that are encoded at once. */
const CHARACTERS_AT_ONCE = 100_000;

/** Creates a file of a format in memory. The writer of Parquet is loaded with the first one. */
export async function createTableFile(
  format: ExportFormat,
  columns: readonly ExportColumn[],
): Promise<TableFile> {
  const encode = format === "csv" ? createCsv(columns) : await createParquet(columns);
  let rows = 0;
  return {
    get rows() {
      return rows;
    },
    add(row) {
      rows++;
      encode.add(row);
    },
    finish: () => encode.finish(),
  };
}

/** Takes rows without keeping them: what lives long is copied again and again by the garbage collector. */
type Encoder = Pick<TableFile, "add" | "finish">;

/** Returns rows as lines of CSV. */
export const toCsv = (rows: readonly (readonly ExportCell[])[]): string =>
  toLines(rows.map((row) => row.map((cell) => cellOf("", cell))));

function createCsv(columns: readonly ExportColumn[]): Encoder {
  const parts: Buffer[] = [];
  let text = toCsv([columns.map(({ name }) => name)]);
  const encode = () => {
    parts.push(Buffer.from(text));
    text = "";
  };
  return {
    add(row) {
      text += toCsv([row]);
      if (text.length >= CHARACTERS_AT_ONCE) encode();
    },
    finish() {
      encode();
      return Buffer.concat(parts);
    },
  };
}

/** The type of a column of each kind in Parquet. */
const TYPES = {
  text: { type: "BYTE_ARRAY", converted_type: "UTF8" },
  integer: { type: "INT64" },
  time: { type: "INT64", converted_type: "TIMESTAMP_MILLIS" },
  usd: decimal(SCALES.usd),
  decimal: decimal(SCALES.decimal),
} as const;

function decimal(scale: number) {
  const precision = 38;
  const logical_type = { type: "DECIMAL", precision, scale } as const;
  return {
    type: "FIXED_LEN_BYTE_ARRAY",
    type_length: DECIMAL_BYTES,
    logical_type,
    precision,
    scale,
  } as const;
}

async function createParquet(columns: readonly ExportColumn[]): Promise<Encoder> {
  const { ByteWriter, ParquetWriter } = await import("hyparquet-writer");
  const writer = new ByteWriter();
  const schema = columns.map(({ name, kind }) => ({
    name,
    ...TYPES[kind],
    repetition_type: "OPTIONAL" as const,
  }));
  const file = new ParquetWriter({
    writer,
    schema: [{ name: "root", num_children: columns.length }, ...schema],
    createdBy: "purser",
  });
  const values = columns.map(({ kind }) => kind === "text" ? (cell: ExportCell) => cell : toValue(kind));
  const emptyGroup = () => columns.map((): unknown[] => []);
  let group = emptyGroup();
  const writeGroup = () => {
    const columnData = columns.map(({ name, kind }, index) => ({
      name,
      data: group[index]!,
      statistics: kind === "integer" || kind === "time",
    }));
    // It awaits nothing: the bytes stay in memory.
    file.write({ columnData, rowGroupSize: ROWS_PER_GROUP });
    group = emptyGroup();
  };
  return {
    add(row) {
      for (let index = 0; index < columns.length; index++) group[index]!.push(values[index]!(row[index]!));
      if (group[0]!.length >= ROWS_PER_GROUP) writeGroup();
    },
    finish() {
      if (group[0]!.length > 0) writeGroup();
      // Set only here: the writer would convert each value by itself, which takes ten times as long.
      for (const element of file.schema) {
        if (element.logical_type?.type === "DECIMAL") element.converted_type = "DECIMAL";
      }
      file.finish();
      return writer.getBytes();
    },
  };
}

/** Returns the conversion of cells to values of Parquet: amounts are exact integers of their last decimal. Equal cells are one value. */
function toValue(kind: Exclude<ExportColumn["kind"], "text">): (cell: ExportCell) => unknown {
  const convert = (cell: string | number) =>
    kind === "integer"
      ? BigInt(cell)
      : kind === "time"
      ? BigInt(Date.parse(String(cell)))
      : toBytes(toUnits(String(cell), SCALES[kind]));
  let known = new Map<string | number, unknown>();
  return (cell) => {
    if (cell === null) return null;
    let value = known.get(cell);
    if (value === undefined) {
      if (known.size >= ROWS_PER_GROUP) known = new Map();
      known.set(cell, value = convert(cell));
    }
    return value;
  };
}

/** Returns an integer of 128 bits as Parquet has it: two's complement, the highest byte first. */
function toBytes(units: bigint): Uint8Array {
  const bytes = new Uint8Array(DECIMAL_BYTES);
  const view = new DataView(bytes.buffer);
  view.setBigInt64(0, units >> 64n);
  view.setBigUint64(8, BigInt.asUintN(64, units));
  return bytes;
}
