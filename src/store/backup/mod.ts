/** Backups: a whole database as one SQLite file, whatever kind of database it comes from, and databases made from one. */
import type { Clock } from "../../kernel/clock.ts";
import { type DatabaseAddress, isPostgresUrl } from "../../kernel/database_url.ts";
import { PurserError } from "../../kernel/errors.ts";
import { files } from "../../kernel/files/files.ts";
import { systemReason } from "../../kernel/system_errors.ts";
import { checkSchema } from "../schema/migrate.ts";
import type { Copyable, Reads } from "./copyable.ts";
import { draftOf, nameInFolder, publishNew, refuseTaken, syncFile } from "./draft_file.ts";
import { openFile } from "./sqlite_copy.ts";
import { checkFile, type LedgerSums, newestPosition, readSums, requireSame } from "./verify.ts";

/** The options of `backUp` and `restore`. */
export interface BackupOptions {
  database: Exclude<DatabaseAddress, { kind: "memory" }>;
  authToken?: string;
  /** The longest wait for one answer of a server. */
  remoteTimeoutMs: number;
  clock: Clock;
  /** Ends the work; what was written so far is removed. */
  signal: AbortSignal;
}

/** A verified backup, or the database that was made from one. */
export interface Verified {
  schemaVersion: number;
  sums: LedgerSums;
}

/**
 * Writes a consistent copy of a database to a new file, also while other processes write, and verifies it: the file is sound,
 * and has the same calls and costs as the database. The file appears whole or not at all. Changes nothing in the database.
 *
 * @param to a file that does not exist, or a folder, in which the file gets a name of its own
 * @throws {PurserError} `not_found` without a database; `conflict` if the file exists or the schema is unknown; `unavailable` when
 * it can't be read or written
 */
export async function backUp(
  { to, ...options }: BackupOptions & { to: string },
): Promise<Verified & { file: string; bytes: number }> {
  const { database, clock, signal } = options;
  const file = await nameInFolder(to, database, clock.now());
  await refuseTaken(file);
  const source = await open(options);
  const draft = await draftOf(file, "back up to");
  try {
    const schemaVersion = await versionOf(source, `Cannot back up ${source.name}`);
    const newestBefore = await newestPosition(source);
    await source.copyTo(draft.path);
    const copy = await openFile({ path: draft.path, name: `the copy of ${source.name}`, clock, signal });
    const remedy = "the database may be, too: keep it as it is, and restore an earlier backup to another one";
    const sums = await checkFile(copy, remedy).finally(() => copy.close());
    // The ledger is only appended to: up to the copy's end it is the same now as when it was copied.
    requireSame(await readSums(source, sums.position), sums, `Cannot back up ${source.name}`);
    if (sums.position < newestBefore) {
      throw new PurserError(
        "internal",
        `Cannot back up ${source.name}: the copy lacks calls that were there when it began; try again`,
      );
    }
    signal.throwIfAborted();
    await syncFile(draft.path);
    const { size } = await files.kindOf(draft.path);
    await publishNew(draft.path, file);
    return { file, bytes: size, schemaVersion, sums };
  } finally {
    await source.close();
    await draft.remove();
  }
}

/**
 * Makes a database from a backup, and verifies it before it can be opened: it has the calls and costs of the backup. If it is
 * interrupted, a file and a database in PostgreSQL are as before, and one on a libSQL server is refused by every process until
 * a restore has ended.
 *
 * @throws {PurserError} `invalid` if the file is no sound backup; `conflict` if the database has content and `mayReplace` is false,
 * or if it is in use
 */
export async function restore(
  { from, mayReplace, ...options }: BackupOptions & { from: string; mayReplace: boolean },
): Promise<Verified & { keptAs: string | null }> {
  const { clock, signal } = options;
  await requireFile(from, "invalid", `Cannot restore from ${from}`);
  const backup = await openFile({ path: from, name: `backup ${from}`, clock, signal });
  try {
    const schemaVersion = await versionOf(backup, `Cannot restore from ${from}`);
    const sums = await checkFile(backup, "use another one");
    const target = await open(options, { isTarget: true });
    try {
      const verify = async (copy: Reads) =>
        requireSame(await readSums(copy), sums, `Cannot restore ${target.name}`);
      const keptAs = await target.fillFrom(backup, { mayReplace, verify, now: clock.now() });
      return { schemaVersion, sums, keptAs: keptAs ?? null };
    } finally {
      await target.close();
    }
  } finally {
    await backup.close();
  }
}

/** The place where a new kind of database is added: it is a `Copyable`. */
async function open(options: BackupOptions, { isTarget = false } = {}): Promise<Copyable> {
  const { database, clock, signal } = options;
  if (database.kind === "remote") {
    const place = { ...options, url: database.url, timeoutMs: options.remoteTimeoutMs };
    if (isPostgresUrl(database.url)) return new (await import("./postgres_copy.ts")).PostgresCopy(place);
    return new (await import("./libsql_copy.ts")).LibsqlCopy(place);
  }
  if (!isTarget) await requireFile(database.path, "not_found", `Cannot back up database ${database.path}`);
  return await openFile({ path: database.path, name: `database ${database.path}`, clock, signal });
}

/** Returns the version of a schema that this program can open. */
async function versionOf(database: Reads, action: string): Promise<number> {
  let version: number | undefined;
  try {
    version = await checkSchema(database);
  } catch (error) {
    if (!(error instanceof PurserError) || error.code !== "conflict") throw error;
    throw new PurserError("conflict", error.message.replace(/^Cannot open the database/, action));
  }
  if (version !== undefined) return version;
  throw new PurserError("not_found", `${action}: it is empty; it has never been used by Purser`);
}

async function requireFile(path: string, code: "not_found" | "invalid", action: string): Promise<void> {
  const kind = await files.kindOf(path).catch((error) => {
    throw new PurserError(code, `${action}: ${systemReason(error)}`, { cause: error });
  });
  if (kind.isFile) return;
  throw new PurserError(
    code,
    `${action}: ${
      kind.isFolder ? "is a directory; name a file in it" : "is a pipe or a device; name a file"
    }`,
  );
}
