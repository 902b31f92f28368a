import { basename, dirname, join } from "node:path";
import { type DatabaseAddress, isPostgresUrl } from "../../kernel/database_url.ts";
import { PurserError } from "../../kernel/errors.ts";
import { files } from "../../kernel/files/files.ts";
import { systemCodeOf, systemReason } from "../../kernel/system_errors.ts";

/** A file that is written beside its final path, where it appears whole or not at all. */
export interface Draft {
  path: string;
  /** Removes it, if it is still there. */
  remove(): Promise<void>;
}

const REMOVALS = 5;

/**
 * Creates an empty draft of a file, readable by its user only, in a folder of its own: once that is removed, a thread that is
 * given up can't create it again. A process that is killed leaves it behind.
 *
 * @throws {PurserError} `unavailable` when nothing can be written there
 */
export async function draftOf(file: string, action: string): Promise<Draft> {
  const folder = join(dirname(file), `.${basename(file)}.${crypto.randomUUID().slice(0, 8)}.part`);
  const path = join(folder, basename(file));
  try {
    await files.list(dirname(file)); // else its parents would be created, too
    await files.makeFolder(folder);
    await files.writeNew(path, "");
  } catch (error) {
    await files.removeFolder(folder).catch(() => {});
    throw new PurserError("unavailable", `Cannot ${action} ${file}: ${systemReason(error)}`, {
      cause: error,
    });
  }
  return {
    path,
    async remove() {
      // A thread may create a file in it meanwhile.
      for (let i = 0; i < REMOVALS; i++) {
        if (await files.removeFolder(folder).then(() => true, () => false)) return;
      }
    },
  };
}

/** Returns the file of a backup: in a folder its name is that of the database and the time, which sort by time. */
export async function nameInFolder(
  to: string,
  database: Exclude<DatabaseAddress, { kind: "memory" }>,
  now: number,
): Promise<string> {
  const isFolder = await files.isFolder(to).catch(() => false);
  if (!isFolder) {
    if (!/[\\/]$/.test(to)) return to;
    throw new PurserError("unavailable", `Cannot back up to ${to}: no such directory; create it first`);
  }
  return join(to, `${nameOf(database)}-${stampOf(now)}.db`);
}

function nameOf(database: Exclude<DatabaseAddress, { kind: "memory" }>): string {
  if (database.kind === "file") return basename(database.path).replace(/\.\w+$/, "");
  const { hostname, pathname, searchParams } = new URL(database.url);
  if (!isPostgresUrl(database.url)) return hostname.replace(/\..*$/, "");
  const names = [decodeURIComponent(pathname.slice(1)), searchParams.get("schema") ?? []].flat();
  return names.join("-").replaceAll(/[^\w-]/g, "_");
}

/** Returns a time as it is in names of files: `20261127T093000Z`. */
export function stampOf(now: number): string {
  return `${new Date(now).toISOString().slice(0, 19).replaceAll(/[-:]/g, "")}Z`;
}

/**
 * Refuses a file that exists, and one beside which SQLite would find a log of another database, and apply it.
 *
 * @throws {PurserError} `conflict`
 */
export async function refuseTaken(file: string): Promise<void> {
  if (await exists(file)) {
    throw new PurserError("conflict", `Cannot write ${file}: it exists; name another file, or a folder`);
  }
  for (const suffix of ["-wal", "-journal"]) {
    if (!(await exists(file + suffix))) continue;
    throw new PurserError(
      "conflict",
      `Cannot write ${file}: ${file}${suffix} is left of another database, and would be applied to it; move it away`,
    );
  }
}

async function exists(path: string): Promise<boolean> {
  return await files.kindOf(path).then(() => true, (error) => systemCodeOf(error) !== "ENOENT");
}

/** Flushes a file to the disk. */
export async function syncFile(path: string): Promise<void> {
  const { open } = await import("node:fs/promises");
  await using file = await open(path, "r+");
  await file.sync();
}

/**
 * Gives a draft its name, which no file may have.
 *
 * @throws {PurserError} `conflict` if another process has created it meanwhile
 */
export async function publishNew(draft: string, file: string): Promise<void> {
  const { link, rename } = await import("node:fs/promises");
  try {
    await link(draft, file); // unlike a rename it replaces nothing
  } catch (error) {
    if (systemCodeOf(error) === "EEXIST") {
      throw new PurserError("conflict", `Cannot write ${file}: another process has created it meanwhile`);
    }
    await rename(draft, file); // a file system without links, such as that of a USB stick
  }
  await files.syncFolder(dirname(file));
}

/** Gives a draft the name of a file, which is kept under another name. At every moment there is one file of that name. */
export async function publishInPlace(draft: string, file: string, keepAs: string | undefined): Promise<void> {
  const { chmod, link, rename, stat } = await import("node:fs/promises");
  await chmod(draft, (await stat(file)).mode & 0o777);
  if (keepAs !== undefined) await link(file, keepAs).catch(() => rename(file, keepAs));
  await rename(draft, file);
  await files.syncFolder(dirname(file));
}
