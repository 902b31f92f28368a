import { z } from "zod";
import type { ExportCell, ExportedCalls } from "../../../contract/exports.ts";
import { EXPORT_FORMATS, type ExportFormat } from "../../../contract/values.ts";
import { formatUsd, parseTotalUsd } from "../../../kernel/money.ts";
import { PurserError } from "../../../kernel/errors.ts";
import type { ExportTarget } from "./export_target.ts";
import { putFile, putManifest, readManifest, refuse, ROWS_PER_FILE } from "./manifest.ts";
import { createTableFile, type TableFile } from "./table_file.ts";

const Sums = z.object({
  /** The entries of the ledger, and the calls among them: an adjustment is an entry. */
  entries: z.number(),
  calls: z.number(),
  input_tokens: z.number(),
  output_tokens: z.number(),
  total_tokens: z.number(),
  cost_usd: z.string(),
  plan_usd: z.string(),
});
type Sums = z.infer<typeof Sums>;

const ManifestFile = z.object({
  name: z.string(),
  from_position: z.number(),
  to_position: z.number(),
  bytes: z.number(),
  sha256: z.string(),
  ...Sums.shape,
});

/** The contents of an archive: its files, and what they add up to. */
const Manifest = z.object({
  schema_version: z.literal(1),
  ledger: z.string(),
  format: z.enum(EXPORT_FORMATS),
  from_position: z.number(),
  to_position: z.number(),
  last_call_id: z.string().nullable(),
  ...Sums.shape,
  files: z.array(ManifestFile),
});
type Manifest = z.infer<typeof Manifest>;

const MANIFEST = "manifest.json";

/** The input of an export of calls. */
export interface CallsExport {
  target: ExportTarget;
  format: ExportFormat;
  /** The first position; default: the one after those of the manifest, or the first of the ledger. */
  fromPosition?: number | undefined;
  readPage(after: number): Promise<ExportedCalls>;
  /** Called after each page. */
  onProgress?(position: number, head: number): void;
  rowsPerFile?: number;
}

/**
 * Writes the entries of the ledger that a target doesn't have yet, up to the newest one at the beginning, in files of bounded size.
 * The manifest is written again after each file, so that an export that was interrupted continues after the last whole file.
 *
 * @throws {PurserError} `conflict` where the files there are of another ledger, another format, or other positions
 */
export async function exportCalls(input: CallsExport): Promise<Manifest> {
  const { target, format, fromPosition, readPage, onProgress, rowsPerFile = ROWS_PER_FILE } = input;
  const earlier = await readManifest(target, MANIFEST, Manifest, "calls");
  const start = earlier ? earlier.to_position + 1 : fromPosition ?? 1;
  let page = await readPage(start - 1);
  if (page.ledger === null) throw new PurserError("invalid", "Cannot export calls: the ledger has none yet");
  if (earlier) checkManifest(target, earlier, page, input);
  const head = page.head_position;
  const columnAt = Object.fromEntries(page.columns.map(({ name }, index) => [name, index]));
  let manifest: Manifest = earlier ?? {
    schema_version: 1,
    ledger: page.ledger,
    format,
    from_position: start,
    to_position: start - 1,
    last_call_id: page.after_call_id,
    ...toSums(NOTHING),
    files: [],
  };
  const total = toTally(manifest);
  let file: { table: TableFile; tally: Tally } | undefined;
  const close = async (to: number, lastCallId: string) => {
    if (!file) return;
    const from = manifest.to_position + 1;
    // Named by its start alone: the next export replaces one that no manifest names.
    const name = `calls-${String(from).padStart(12, "0")}.${format}`;
    const written = await putFile(target, name, file.table.finish());
    for (const key of SUMS) total[key] += file.tally[key];
    manifest = {
      ...manifest,
      to_position: to,
      last_call_id: lastCallId,
      ...toSums(total),
      files: [...manifest.files, { ...written, from_position: from, to_position: to, ...toSums(file.tally) }],
    };
    await putManifest(target, MANIFEST, manifest);
    file = undefined;
  };
  let lastCallId: string | undefined;
  for (;;) {
    for (const row of page.rows) {
      const position = Number(row[columnAt.position!]);
      if (position > head) break;
      file ??= { table: await createTableFile(format, page.columns), tally: { ...NOTHING } };
      file.table.add(row);
      addEntry(file.tally, (name) => row[columnAt[name]!] ?? null);
      lastCallId = String(row[columnAt.call_id!]);
      if (file.table.rows >= rowsPerFile) await close(position, lastCallId);
    }
    onProgress?.(Math.min(page.next_position, head), head);
    if (page.next_position >= head) {
      if (lastCallId !== undefined) await close(head, lastCallId);
      return manifest;
    }
    page = await readPage(page.next_position);
  }
}

function checkManifest(
  target: ExportTarget,
  manifest: Manifest,
  page: ExportedCalls,
  { format, fromPosition }: CallsExport,
): void {
  const { to_position: to } = manifest;
  if (manifest.ledger !== page.ledger) throw refuse(target, "its manifest is of another ledger");
  if (to > page.head_position || manifest.last_call_id !== page.after_call_id) {
    throw refuse(
      target,
      `its manifest has entries up to ${to} that this ledger does not have, as after a restore of an older backup`,
    );
  }
  if (manifest.format !== format) throw refuse(target, `its files are ${manifest.format}, not ${format}`);
  if (fromPosition !== undefined && fromPosition !== to + 1) {
    throw refuse(target, `its manifest ends at position ${to}, and ${fromPosition} does not follow`);
  }
}

const TOKENS = ["input_tokens", "output_tokens", "total_tokens"] as const;
const AMOUNTS = ["cost_usd", "plan_usd"] as const;
const SUMS = ["entries", "calls", ...TOKENS, ...AMOUNTS] as const;

/** The sums while they are added up: counts, tokens and nano-USD. */
type Tally = Record<typeof SUMS[number], bigint>;

const NOTHING = Object.fromEntries(SUMS.map((name) => [name, 0n])) as Tally;

/** Adds an entry as the totals of reports do: a call that was taken back counts -1. */
function addEntry(tally: Tally, cell: (name: string) => ExportCell): void {
  const [adjusts, stands] = [cell("adjusts"), cell("stands")];
  tally.entries++;
  if (adjusts === null) tally.calls++;
  else if (stands !== null && stands !== adjusts) tally.calls--;
  for (const name of TOKENS) tally[name] += BigInt(cell(name)!);
  for (const name of AMOUNTS) tally[name] += parseTotalUsd(cell(name) ?? "0");
}

const isAmount = (name: keyof Sums) => AMOUNTS.some((amount) => amount === name);

const toSums = (tally: Tally): Sums =>
  Object.fromEntries(
    SUMS.map((name) => [name, isAmount(name) ? formatUsd(tally[name]) : Number(tally[name])]),
  ) as Sums;

const toTally = (sums: Sums): Tally =>
  Object.fromEntries(
    SUMS.map((name) => [name, isAmount(name) ? parseTotalUsd(sums[name]) : BigInt(sums[name])]),
  ) as Tally;
