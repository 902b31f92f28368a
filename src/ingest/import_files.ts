import type { ImportFile, ImportFilesBody } from "../contract/imports/import_files.ts";
import type { Store } from "../store/mod.ts";

/* How far the logs of agents have been imported: of each API key its own, so that none learns of the files of another one. */

/** The imports of one importer on one machine with one API key. */
interface Import extends Pick<ImportFilesBody, "machine" | "importer"> {
  /** Null for an import into the database itself. */
  keyId: string | null;
}

const LIST = `SELECT path, size, modified_at, read_to, head, is_ended, state FROM import_files
WHERE key_id = ? AND machine = ? AND agent = ? AND path > ? ORDER BY path LIMIT ?`;

/** Lists the files of an import by path, after one of them. */
export async function listImportFiles(
  { store }: { store: Pick<Store, "read"> },
  { keyId, machine, importer }: Import,
  { after = "", limit }: { after?: string | undefined; limit: number },
): Promise<ImportFile[]> {
  const { rows } = await store.read({ sql: LIST, args: [keyId ?? "", machine, importer, after, limit] });
  return rows.map(([path, size, modifiedAt, readTo, head, isEnded, state]) => ({
    path: path as string,
    size: Number(size),
    modified_at: Number(modifiedAt),
    read_to: Number(readTo),
    head: head as string,
    is_ended: Number(isEnded) !== 0,
    state: state as string | null,
  }));
}

const COLUMNS = ["path", "size", "modified_at", "read_to", "head", "is_ended", "state"] as const;

const SAVE = `INSERT INTO import_files (key_id, machine, agent, ${COLUMNS.join(", ")})
SELECT v.key_id, v.machine, v.agent, ${
  COLUMNS.map((column) => `v.${column}`).join(", ")
} FROM each_row v WHERE true
ON CONFLICT (key_id, machine, agent, path) DO UPDATE SET
  ${COLUMNS.slice(1).map((column) => `${column} = excluded.${column}`).join(", ")}`;

/** Stores how far files have been read. */
export async function saveImportFiles(
  { store }: { store: Pick<Store, "write"> },
  { keyId, machine, importer }: Import,
  files: readonly ImportFile[],
): Promise<void> {
  const rows = files.map((file) => [
    ...[keyId ?? "", machine, importer],
    ...COLUMNS.map((column) => column === "is_ended" ? Number(file.is_ended) : file[column]),
  ]);
  const columns = ["key_id", "machine", "agent", ...COLUMNS];
  const integers = ["size", "modified_at", "read_to", "is_ended"];
  await store.write([{ sql: SAVE, each: { columns, integers, rows } }]);
}
