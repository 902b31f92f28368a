import { createHash } from "node:crypto";
import { z } from "zod";
import type { ExportedCharges } from "../../../contract/exports.ts";
import type { ExportFormat, FocusVersion } from "../../../contract/values.ts";
import { PurserError } from "../../../kernel/errors.ts";
import { putManifest, ROWS_PER_FILE } from "./export_calls.ts";
import type { ExportTarget } from "./export_target.ts";
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
export type ChargesManifest = z.infer<typeof ChargesManifest>;

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
  const earlier = await readEarlier(target, manifestName);
  const files: ChargesManifest["files"] = [];
  const sums = { BilledCost: 0n, EffectiveCost: 0n };
  let rows = 0;
  let unpriced = 0;
  let table: TableFile | undefined;
  const close = async () => {
    if (!table) return;
    const bytes = table.finish();
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    const file = {
      name: `${name}-${String(files.length + 1).padStart(4, "0")}.${format}`,
      rows: table.rows,
      bytes: bytes.length,
      sha256,
    };
    await target.put(file.name, bytes, sha256);
    files.push(file);
    table = undefined;
  };
  let page = await readPage(undefined);
  if (earlier && earlier.ledger !== null && page.ledger !== earlier.ledger) {
    throw new PurserError(
      "conflict",
      `Cannot export to ${target.where}: ${manifestName} is of another ledger; name another folder`,
    );
  }
  for (;;) {
    const at = Object.fromEntries(page.columns.map(({ name }, index) => [name, index]));
    table ??= await createTableFile(format, page.columns);
    for (const row of page.rows) {
      table ??= await createTableFile(format, page.columns);
      table.add(row);
      rows++;
      if (row[at.x_Unpriced!] === "true") unpriced++;
      for (const cost of ["BilledCost", "EffectiveCost"] as const) {
        sums[cost] += toUnits(String(row[at[cost]!]), 12);
      }
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
    billed_cost: toDecimalText(sums.BilledCost, 12),
    effective_cost: toDecimalText(sums.EffectiveCost, 12),
    files,
  };
  await putManifest(target, manifest, manifestName);
  const stale = (earlier?.files ?? []).filter((old) => !files.some((file) => file.name === old.name));
  for (const old of stale) await target.remove(old.name);
  return manifest;
}

/** Returns a time in the name of a file: a date, or `2026-11-01T093000.000Z`. */
const inName = (iso: string): string => iso.replace("T00:00:00.000Z", "").replaceAll(":", "");

async function readEarlier(target: ExportTarget, name: string): Promise<ChargesManifest | undefined> {
  const text = await target.readText(name);
  if (text === undefined) return undefined;
  const parsed = ChargesManifest.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  throw new PurserError(
    "conflict",
    `Cannot export to ${target.where}: ${name} there is not that of an export; name another folder`,
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
