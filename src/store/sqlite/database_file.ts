import { basename, dirname, join } from "node:path";
import { PurserError, systemCodeOf, systemReason } from "../../kernel/errors.ts";
import { type FileIdentity, files, type IdentifyFile } from "../../kernel/files.ts";
import type { Clock } from "../../kernel/clock.ts";

/** Creates the folder and the file of a new database, readable by their owner only: it contains conversations. */
export async function prepareDatabaseFile(path: string): Promise<void> {
  const isFolder = await files.isFolder(path).catch(() => undefined); // usually because it does not exist yet
  if (isFolder === false) return;
  // The driver would report an error number.
  if (isFolder) throw refuse(path, "is a directory; name a file in it");
  try {
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
  const inFolder = async () =>
    join(await files.realPath(dirname(path)).catch(() => dirname(path)), basename(path));
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

  /** Checks always: before a commit is acknowledged, which may be in an unlinked file. Throws as `check` does. */
  checkNow(): void {
    const current = this.#identify();
    if (current?.device === this.#first?.device && current?.inode === this.#first?.inode) return;
    this.#lost = new PurserError(
      "unavailable",
      `Cannot use database ${this.path}: the file was deleted or replaced while it was open; restart this process`,
    );
    throw this.#lost;
  }

  /** Undefined where there is no file; other errors count as no change. */
  #identify(): FileIdentity | undefined {
    try {
      return this.identify(this.path);
    } catch (error) {
      const code = systemCodeOf(error);
      return code === "ENOENT" || code === "ENOTDIR" ? undefined : this.#first;
    }
  }
}
