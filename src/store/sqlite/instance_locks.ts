import { dirname, join } from "node:path";
import { systemClock } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import { files } from "../../kernel/files.ts";
import { realDatabasePath } from "./database_file.ts";
import { loadSqlite, type SqliteConnection } from "./sqlite_driver.ts";
import { kindOfSqliteError } from "./sqlite_errors.ts";
import { type InstanceLocks, noInstanceLocks } from "../store.ts";

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

  async hold(instanceId: string): Promise<void> {
    if (!isInstanceId(instanceId)) {
      throw new PurserError("internal", `Cannot lock instance ${instanceId}: it is not an instance id`);
    }
    const side = await this.#sideFile(instanceId);
    const entry = held.get(side) ?? { lock: lockSideFile(side), users: 0 };
    held.set(side, entry);
    if (!this.#mine.has(side)) entry.users++;
    this.#mine.add(side);
    await entry.lock;
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

/** Takes the lock of a side file; undefined where none can be created. */
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
