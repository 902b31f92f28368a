import { z } from "zod";
import type { ExportedCharges } from "../../../contract/exports.ts";
import type { ExportFormat, FocusVersion } from "../../../contract/values.ts";
import type { ExportTarget } from "./export_target.ts";
import { putFile, putManifest, readManifest, refuse, ROWS_PER_FILE } from "./manifest.ts";
import { toDecimalText, toUnits } from "../decimal_text.ts";
import { createTableFile, type TableFile } from "./table_file.ts";

/** The contents of an export of charges: its files, and what they add up to. */
const ChargesManifest = z.object({
  schema_version: z.literal(1),
  focus_version: z.string(),
  ledger: z.string().nullable(),
  from: z.string(),
  to: z.string(),
  rows: z.number(),
  unpriced_rows: z.number(),
  billed_cost: z.string(),
  effective_cost: z.string(),
  files: z.array(z.object({ name: z.string(), rows: z.number(), bytes: z.number(), sha256: z.string() })),
});
type ChargesManifest = z.infer<typeof ChargesManifest>;

/** The input of an export of charges. */
export interface ChargesExport {
  target: ExportTarget;
  version: FocusVersion;
  format: ExportFormat;
  /** ISO times. */
  from: string;
  to: string;
  readPage(cursor: string | undefined): Promise<ExportedCharges>;
  onProgress?(rows: number): void;
  rowsPerFile?: number;
}

/**
 * Writes the charges of a span in files of bounded size, and a manifest after them. A repeated export of the same span replaces its files.
 *
 * @throws {PurserError} `conflict` where files of another ledger are there
 */
export async function exportCharges(input: ChargesExport): Promise<ChargesManifest> {
  const { target, version, format, from, to, readPage, onProgress, rowsPerFile = ROWS_PER_FILE } = input;
  const name = `focus-${version}-${inName(from)}-${inName(to)}`;
  const manifestName = `${name}.manifest.json`;
  const earlier = await readManifest(target, manifestName, ChargesManifest, "charges");
  let page = await readPage(undefined);
  // A manifest from before the first call names no ledger.
  if (earlier && earlier.ledger !== null && page.ledger !== earlier.ledger) {
    throw refuse(target, `${manifestName} is of another ledger`);
  }
  const { columns } = page;
  const [billed, effective, xUnpriced] = ["BilledCost", "EffectiveCost", "x_Unpriced"].map((wanted) =>
    columns.findIndex((column) => column.name === wanted)
  ) as [number, number, number];
  const files: ChargesManifest["files"] = [];
  const sums = { billed: 0n, effective: 0n };
  let rows = 0;
  let unpriced = 0;
  let table: TableFile | undefined;
  const close = async () => {
    // Without any rows, there is one file, which has the columns.
    if (!table && files.length > 0) return;
    table ??= await createTableFile(format, columns);
    const number = String(files.length + 1).padStart(4, "0");
    const written = await putFile(target, `${name}-${number}.${format}`, table.finish());
    files.push({ ...written, rows: table.rows });
    table = undefined;
  };
  for (;;) {
    for (const row of page.rows) {
      table ??= await createTableFile(format, columns);
      table.add(row);
      rows++;
      if (row[xUnpriced] === "true") unpriced++;
      sums.billed += toUnits(String(row[billed]), 12);
      sums.effective += toUnits(String(row[effective]), 12);
      if (table.rows >= rowsPerFile) await close();
    }
    onProgress?.(rows);
    if (page.next_cursor === null) break;
    page = await readPage(page.next_cursor);
  }
  await close();
  const manifest: ChargesManifest = {
    schema_version: 1,
    focus_version: version,
    ledger: page.ledger,
    from,
    to,
    rows,
    unpriced_rows: unpriced,
    billed_cost: toDecimalText(sums.billed, 12),
    effective_cost: toDecimalText(sums.effective, 12),
    files,
  };
  await putManifest(target, manifestName, manifest);
  const stale = (earlier?.files ?? []).filter((old) => !files.some((file) => file.name === old.name));
  for (const old of stale) await target.remove(old.name);
  return manifest;
}

/** Returns a time in the name of a file: a date, or `2026-11-01T093000.000Z`. */
const inName = (iso: string): string => iso.replace("T00:00:00.000Z", "").replaceAll(":", "");
