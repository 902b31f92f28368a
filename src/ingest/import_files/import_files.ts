import type { ImportFile, ImportFilesBody } from "../../contract/imports/import_files.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Store } from "../../store/mod.ts";

/* How far the logs of agents have been imported: of each API key its own, so that none learns of the files of another one. */

/** The imports of one importer on one machine with one API key. */
interface Import extends Pick<ImportFilesBody, "machine" | "importer"> {
  /** Without one, an import into the database itself. */
  keyId?: string | null;
}

const COLUMNS = [
  "path",
  "size",
  "modified_at",
  "read_to",
  "head",
  "is_ended",
  "state",
  "unmetered",
  "malformed",
  "fault",
] as const;
const INTEGERS = ["size", "modified_at", "read_to", "is_ended", "unmetered", "malformed"];

const LIST = `SELECT ${COLUMNS.join(", ")} FROM import_files
WHERE key_id = ? AND machine = ? AND agent = ? AND path > ? ORDER BY path LIMIT ?`;

/** Lists the files of an import by path, after one of them. */
export async function listImportFiles(
  { store }: { store: Pick<Store, "read"> },
  { keyId, machine, importer }: Import,
  { after = "", limit }: { after?: string | undefined; limit: number },
): Promise<ImportFile[]> {
  const { rows } = await store.read({ sql: LIST, args: [keyId ?? "", machine, importer, after, limit] });
  return rows.map(([path, size, modifiedAt, readTo, head, isEnded, state, unmetered, malformed, fault]) => ({
    path: path as string,
    size: Number(size),
    modified_at: Number(modifiedAt),
    read_to: Number(readTo),
    head: head as string,
    is_ended: Number(isEnded) !== 0,
    state: state as string | null,
    unmetered: Number(unmetered),
    malformed: Number(malformed),
    fault: fault as string | null,
  }));
}

const OWN = ["key_id", "machine", "agent", "imported_at"];

const SAVE = `INSERT INTO import_files (${[...OWN, ...COLUMNS].join(", ")})
SELECT ${[...OWN, ...COLUMNS].map((column) => `v.${column}`).join(", ")} FROM each_row v WHERE true
ON CONFLICT (key_id, machine, agent, path) DO UPDATE SET
  ${["imported_at", ...COLUMNS.slice(1)].map((column) => `${column} = excluded.${column}`).join(", ")}`;

/** Stores how far files have been read. */
export async function saveImportFiles(
  { store, clock }: { store: Pick<Store, "write">; clock: Pick<Clock, "now"> },
  { keyId, machine, importer }: Import,
  files: readonly ImportFile[],
): Promise<void> {
  const now = clock.now();
  const rows = files.map((file) => [
    ...[keyId ?? "", machine, importer, now],
    ...COLUMNS.map((column) => column === "is_ended" ? Number(file.is_ended) : file[column]),
  ]);
  const each = { columns: [...OWN, ...COLUMNS], integers: ["imported_at", ...INTEGERS], rows };
  await store.write([{ sql: SAVE, each }]);
}
