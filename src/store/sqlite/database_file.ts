import { PurserError } from "../../kernel/errors.ts";
import { systemCodeOf, systemReason } from "../../kernel/system_errors.ts";
import { type FileIdentity, files, type IdentifyFile } from "../../kernel/files/files.ts";
import { type Clock, systemClock } from "../../kernel/clock.ts";
import { loadSqlite, type SqliteConnection } from "./sqlite_driver.ts";
import { kindOfSqliteError } from "./sqlite_errors.ts";
import { type InstanceLocks, noInstanceLocks } from "../instance_locks.ts";

/** Creates the folder and the file of a new database, readable by their owner only: it contains conversations. */
export async function prepareDatabaseFile(path: string): Promise<void> {
  const kind = await files.kindOf(path).catch(() => undefined); // usually because it does not exist yet
  if (kind?.isFile) return;
  // The driver would report an error number.
  if (kind?.isFolder) throw refuse(path, "is a directory; name a file in it");
  if (kind) throw refuse(path, "is a pipe or a device; name a file");
  try {
    const { dirname } = await import("node:path");
    await files.makeFolder(dirname(path));
    await files.writeNew(path, "");
  } catch (error) {
    if (systemCodeOf(error) === "EEXIST") return; // another process has created it
    throw refuse(path, systemReason(error), error);
  }
}

function refuse(path: string, reason: string, cause?: unknown): PurserError {
  return new PurserError("unavailable", `Cannot open database ${path}: ${reason}`, { cause });
}

/** Returns the path of a database beside which its side files are, through all symbolic links, even before it exists. */
export async function realDatabasePath(path: string): Promise<string> {
  const inFolder = async () => {
    const { basename, dirname, join } = await import("node:path");
    return join(await files.realPath(dirname(path)).catch(() => dirname(path)), basename(path));
  };
  return await files.realPath(path).catch(inFolder);
}

const CHECK_EVERY_MS = 1_000;

/** Detects that an open file was deleted or replaced: SQLite would continue to write to the unlinked file. */
export class FileWatch {
  #first: FileIdentity | undefined;
  #checkedAt: number;
  #lost: PurserError | undefined;

  constructor(
    private readonly path: string,
    private readonly identify: IdentifyFile,
    private readonly clock: Pick<Clock, "monotonic">,
  ) {
    this.#checkedAt = clock.monotonic();
    this.#first = this.#identify();
  }

  /** The device of the file, if known. */
  get device(): number | undefined {
    return this.#first?.device;
  }

  /**
   * Checks at most once a second.
   *
   * @throws {PurserError} `unavailable` once the file was replaced or deleted, and from then on
   */
  check(): void {
    if (this.#lost) throw this.#lost;
    const now = this.clock.monotonic();
    if (now - this.#checkedAt < CHECK_EVERY_MS) return;
    this.#checkedAt = now;
    this.checkNow();
  }

  /**
   * Checks always: before a commit is acknowledged that must not be lost, since it may be in an unlinked file. Throws as
   * `check` does.
   */
  checkNow(): void {
    const current = this.#identify();
    if (current?.device === this.#first?.device && current?.inode === this.#first?.inode) return;
    this.#lost = new PurserError(
      "unavailable",
      `Cannot use database ${this.path}: the file was deleted or replaced while it was open; restart this process`,
    );
    throw this.#lost;
  }

  /** Undefined if the file doesn't exist; other errors count as no change. */
  #identify(): FileIdentity | undefined {
    try {
      return this.identify(this.path);
    } catch (error) {
      const code = systemCodeOf(error);
      return code === "ENOENT" || code === "ENOTDIR" ? undefined : this.#first;
    }
  }
}

/**
 * The locks of this process, by side file. An instance that opens a database twice has one lock: a second connection
 * would find it held.
 */
const held = new Map<string, { lock: Promise<SqliteConnection | undefined>; users: number }>();

const HOLD_TIMEOUT_MS = 2_000;

/**
 * Creates the locks of a database file: each instance holds an exclusive SQLite lock on an empty file of its own beside
 * the database, which the system releases however the process ends.
 */
export function createInstanceLocks(path: string | undefined): InstanceLocks {
  return path === undefined ? noInstanceLocks : new FileInstanceLocks(path);
}

class FileInstanceLocks implements InstanceLocks {
  #mine = new Set<string>();
  #prefix: Promise<string> | undefined;

  constructor(private readonly path: string) {}

  async hold(instanceId: string): Promise<boolean> {
    if (!isInstanceId(instanceId)) {
      throw new PurserError("internal", `Cannot lock instance ${instanceId}: it is not an instance id`);
    }
    const side = await this.#sideFile(instanceId);
    const entry = held.get(side) ?? { lock: lockSideFile(side), users: 0 };
    held.set(side, entry);
    if (!this.#mine.has(side)) entry.users++;
    this.#mine.add(side);
    return await entry.lock !== undefined;
  }

  async isGone(instanceId: string): Promise<boolean> {
    if (!isInstanceId(instanceId)) return false;
    const side = await this.#sideFile(instanceId);
    if (held.has(side)) return false;
    const { connect } = await loadSqlite();
    let connection: SqliteConnection | undefined;
    try {
      // Read-only, so that it is not created; a read needs the shared lock, which a live owner excludes.
      connection = connect(side, { isReadOnly: true });
      connection.prepare("SELECT 1 FROM sqlite_schema").all();
      return true;
    } catch {
      return false;
    } finally {
      connection?.close();
    }
  }

  async removeStale(keep: (instanceId: string) => boolean): Promise<void> {
    const prefix = await this.#findPrefix();
    const { dirname, join } = await import("node:path");
    const names = await files.list(dirname(prefix)).catch(() => []);
    for (const name of names) {
      const side = join(dirname(prefix), name);
      const instanceId = side.startsWith(prefix) ? side.slice(prefix.length) : "";
      if (!isInstanceId(instanceId) || held.has(side) || keep(instanceId)) continue;
      // Removed under the lock: a process that has just created the file finds it missing, and creates it again.
      const lock = await tryLock(side);
      if (lock === "busy" || lock === undefined) continue;
      await files.remove(side).catch(() => {});
      lock.close();
    }
  }

  async close(): Promise<void> {
    for (const side of this.#mine) {
      this.#mine.delete(side);
      const entry = held.get(side)!;
      if (--entry.users > 0) continue;
      const lock = await entry.lock;
      if (entry.users > 0) continue; // held again meanwhile
      held.delete(side);
      if (lock) await files.remove(side).catch(() => {});
      lock?.close();
    }
  }

  async #sideFile(instanceId: string): Promise<string> {
    return `${await this.#findPrefix()}${instanceId}`;
  }

  #findPrefix(): Promise<string> {
    return this.#prefix ??= realDatabasePath(this.path).then((real) => `${real}-instance-`);
  }
}

function isInstanceId(text: string): boolean {
  return /^[A-Za-z0-9_]{1,100}$/.test(text);
}

/** Takes the lock of a side file; undefined if it can't be created. */
async function lockSideFile(side: string): Promise<SqliteConnection | undefined> {
  const deadline = systemClock.monotonic() + HOLD_TIMEOUT_MS;
  for (;;) {
    const lock = await tryLock(side);
    if (lock === undefined) {
      // A file without a lock would mean that this instance has ended.
      await files.remove(side).catch(() => {});
      return undefined;
    }
    if (lock !== "busy") {
      if (await files.realPath(side).then(() => true, () => false)) return lock;
      lock.close(); // removed by another process before it was locked
    } else if (systemClock.monotonic() > deadline) {
      return undefined;
    }
    await systemClock.sleep(1); // another process is checking whether the owner lives
  }
}

async function tryLock(side: string): Promise<SqliteConnection | "busy" | undefined> {
  const { connect } = await loadSqlite();
  let connection: SqliteConnection | undefined;
  try {
    connection = connect(side);
    // In memory, so that no journal is created; nothing is ever written.
    connection.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
    return connection;
  } catch (error) {
    connection?.close();
    return kindOfSqliteError(error) === "busy" ? "busy" : undefined;
  }
}

/** The first SQLite in which two connections can't lose a write while the WAL is reset (https://sqlite.org/wal.html). */
const FIRST_SAFE = [3, 51, 3] as const;

/** Linux's names of file systems that other hosts may mount too. */
const NETWORK =
  /^(nfs\d*|cifs|smb\d*|smbfs|ncpfs|9p|afs|ceph|coda|lustre|gfs2|ocfs2|glusterfs|fuse\.(glusterfs|sshfs|nfs))$/;

/** Returns the type of the file system of a file, such as `ext4`; undefined where it is unknown. */
export type FileSystemOf = (file: { path: string; device: number }) => string | undefined;

/** Loads the mounts of this process, which determine the file system of a file; only Linux lists them in a file. */
export async function loadFileSystemOf(read = files.readText): Promise<FileSystemOf> {
  try {
    const mounts = await read("/proc/self/mountinfo");
    return ({ device }) => findFileSystem(mounts, device);
  } catch (error) {
    if (systemCodeOf(error) === "ENOENT") return () => undefined;
    // Deno allows reading it only with all permissions.
    return ({ path, device }) => isOnBlockDevice(device) ? undefined : askFileSystem(path);
  }
}

/** Returns whether a file system is on a block device of this machine: all others have the major number 0. */
function isOnBlockDevice(device: number): boolean {
  return majorOf(device) !== 0n;
}

/** The numbers of network file systems (statfs(2)). Those over FUSE can't be distinguished from other FUSE ones. */
const NETWORK_NUMBERS: Readonly<Record<number, string>> = {
  0x6969: "nfs",
  0xff534d42: "cifs",
  0xfe534d42: "smb3",
  0x517b: "smb",
  0x564c: "ncpfs",
  0x01021997: "9p",
  0x5346414f: "afs",
  0x00c36400: "ceph",
  0x73757245: "coda",
  0x0bd00bd0: "lustre",
  0x01161970: "gfs2",
  0x7461636f: "ocfs2",
};

/** Queries the system. Only a fallback: in Deno it takes longer to load than a short command runs. */
function askFileSystem(path: string): string | undefined {
  try {
    const { type } = globalThis.process.getBuiltinModule("node:fs").statfsSync(path);
    return NETWORK_NUMBERS[type >>> 0];
  } catch {
    return undefined;
  }
}

/** Finds the type of a device's file system in the text of `/proc/self/mountinfo` (proc_pid_mountinfo(5)). */
export function findFileSystem(mounts: string, device: number): string | undefined {
  const number = BigInt(device);
  const minor = (number & 0xffn) | (number >> 12n & 0xffffff00n);
  const line = mounts.split("\n").find((each) => each.split(" ")[2] === `${majorOf(device)}:${minor}`);
  return line?.split(" - ")[1]?.split(" ")[0];
}

function majorOf(device: number): bigint {
  const number = BigInt(device);
  return (number >> 8n & 0xfffn) | (number >> 32n & 0xfffff000n);
}

/** Returns the reason why only one process at a time may use a file; undefined where any number may. */
export function whyExclusive(
  { version, fileSystem }: { version: string; fileSystem: string | undefined },
): string | undefined {
  if (fileSystem !== undefined && NETWORK.test(fileSystem)) {
    return `it is on a network file system (${fileSystem}), where only one process at a time can use it; move it to a local disk, or use a libSQL server`;
  }
  if (isOlder(version)) {
    return `with SQLite ${version}, which this runtime has built in, only one process at a time can use it; ${
      FIRST_SAFE.join(".")
    } or newer is needed to share it (Deno 2.9, Node 22.23 or 24.15)`;
  }
}

function isOlder(version: string): boolean {
  const parts = version.split(".").map(Number);
  for (const [i, part] of FIRST_SAFE.entries()) {
    if (parts[i] !== part) return (parts[i] ?? 0) < part;
  }
  return false;
}
