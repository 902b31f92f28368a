import { createHash } from "node:crypto";
import { z } from "zod";
import { type ExportCell, type ExportColumn, type ExportedCalls } from "../../../contract/exports.ts";
import { EXPORT_FORMATS, type ExportFormat } from "../../../contract/values.ts";
import { formatUsd, parseTotalUsd } from "../../../kernel/money.ts";
import { messageOf, PurserError } from "../../../kernel/errors.ts";
import type { ExportTarget } from "./export_target.ts";
import { createTableFile, type TableFile } from "./table_file.ts";

/** The rows of one file: some tens of megabytes while it is made. */
export const ROWS_PER_FILE = 100_000;

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
export type Manifest = z.infer<typeof Manifest>;

export const MANIFEST = "manifest.json";

const NO_SUMS: Sums = {
  entries: 0,
  calls: 0,
  input_tokens: 0,
  output_tokens: 0,
  total_tokens: 0,
  cost_usd: "0",
  plan_usd: "0",
};

/** Reads the manifest of a target; undefined if it has none. Throws `conflict` on a file that isn't one. */
async function readManifest(target: ExportTarget): Promise<Manifest | undefined> {
  const text = await target.readText(MANIFEST);
  if (text === undefined) return undefined;
  try {
    return Manifest.parse(JSON.parse(text));
  } catch (error) {
    throw refuse(
      target,
      `${MANIFEST} there is not that of an export of calls (${messageOf(error).split("\n")[0]})`,
    );
  }
}

const refuse = ({ where }: ExportTarget, state: string) =>
  new PurserError("conflict", `Cannot export to ${where}: ${state}; name another folder`);

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
  const earlier = await readManifest(target);
  const start = earlier ? earlier.to_position + 1 : fromPosition ?? 1;
  let page = await readPage(start - 1);
  if (page.ledger === null) throw new PurserError("invalid", "Cannot export calls: the ledger has none yet");
  if (earlier) checkManifest(target, earlier, page, input);
  const head = page.head_position;
  let manifest: Manifest = earlier ?? {
    schema_version: 1,
    ledger: page.ledger,
    format,
    from_position: start,
    to_position: start - 1,
    last_call_id: page.after_call_id,
    ...NO_SUMS,
    files: [],
  };
  let file: { from: number; table: TableFile; sums: Adder } | undefined;
  const close = async (to: number, lastCallId: string) => {
    if (!file) return;
    const bytes = file.table.finish();
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    // Named by its start alone: the next export replaces one that no manifest names.
    const name = `calls-${String(file.from).padStart(12, "0")}.${format}`;
    await target.put(name, bytes, sha256);
    const sums = file.sums.read();
    manifest = {
      ...manifest,
      to_position: to,
      last_call_id: lastCallId,
      ...addSums(manifest, sums),
      files: [...manifest.files, {
        name,
        from_position: file.from,
        to_position: to,
        bytes: bytes.length,
        sha256,
        ...sums,
      }],
    };
    await putManifest(target, manifest);
    file = undefined;
  };
  let last: readonly ExportCell[] | undefined;
  for (;;) {
    const indexOf = (name: string) => page.columns.findIndex((column) => column.name === name);
    const [position, callId] = [indexOf("position"), indexOf("call_id")];
    for (const row of page.rows) {
      if (Number(row[position]) > head) break;
      file ??= {
        from: manifest.to_position + 1,
        table: await createTableFile(format, page.columns),
        sums: new Adder(page.columns),
      };
      file.table.add(row);
      file.sums.add(row);
      last = row;
      if (file.table.rows >= rowsPerFile) await close(Number(row[position]), String(row[callId]));
    }
    const reached = Math.min(page.next_position, head);
    onProgress?.(reached, head);
    if (page.next_position >= head) {
      if (last) await close(head, String(last[callId]));
      return manifest;
    }
    page = await readPage(page.next_position);
  }
}

export const putManifest = async (target: ExportTarget, manifest: object, name = MANIFEST): Promise<void> => {
  const bytes = new TextEncoder().encode(JSON.stringify(manifest, null, 2) + "\n");
  await target.put(name, bytes, createHash("sha256").update(bytes).digest("hex"));
};

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

const addSums = (a: Sums, b: Sums): Sums => ({
  entries: a.entries + b.entries,
  calls: a.calls + b.calls,
  input_tokens: a.input_tokens + b.input_tokens,
  output_tokens: a.output_tokens + b.output_tokens,
  total_tokens: a.total_tokens + b.total_tokens,
  cost_usd: formatUsd(parseTotalUsd(a.cost_usd) + parseTotalUsd(b.cost_usd)),
  plan_usd: formatUsd(parseTotalUsd(a.plan_usd) + parseTotalUsd(b.plan_usd)),
});

/** Adds up entries: as the totals of reports do, with calls that were taken back as -1. */
class Adder {
  #entries = 0;
  #calls = 0;
  readonly #tokens = [0, 0, 0];
  readonly #nanoUsd = [0n, 0n];
  readonly #at: Readonly<Record<string, number>>;

  constructor(columns: readonly ExportColumn[]) {
    this.#at = Object.fromEntries(columns.map(({ name }, index) => [name, index]));
  }

  add(row: readonly ExportCell[]): void {
    const at = this.#at;
    const adjusts = row[at.adjusts!];
    this.#entries++;
    if (adjusts === null) this.#calls++;
    else if (row[at.stands!] !== null && row[at.stands!] !== adjusts) this.#calls--;
    for (const [index, name] of ["input_tokens", "output_tokens", "total_tokens"].entries()) {
      this.#tokens[index]! += Number(row[at[name]!]);
    }
    for (const [index, name] of ["cost_usd", "plan_usd"].entries()) {
      const usd = row[at[name]!];
      if (usd !== null) this.#nanoUsd[index]! += parseTotalUsd(usd!);
    }
  }

  read(): Sums {
    const [input_tokens, output_tokens, total_tokens] = this.#tokens as [number, number, number];
    const [cost_usd, plan_usd] = this.#nanoUsd.map(formatUsd) as [string, string];
    return {
      entries: this.#entries,
      calls: this.#calls,
      input_tokens,
      output_tokens,
      total_tokens,
      cost_usd,
      plan_usd,
    };
  }
}
