import type { Clock } from "../../kernel/clock.ts";
import { PurserError, systemCodeOf } from "../../kernel/errors.ts";
import type { FileIdentity, IdentifyFile } from "../../kernel/files.ts";

const CHECK_EVERY_MS = 1_000;

/** Notices that an open file was deleted or replaced: SQLite would go on writing into the one that has no name any more. */
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

  /** The device that the file is on, if the system tells. */
  get device(): number | undefined {
    return this.#first?.device;
  }

  /**
   * Looks at most once a second.
   *
   * @throws {PurserError} `unavailable` once the file is another or none, and from then on
   */
  check(): void {
    if (this.#lost) throw this.#lost;
    const now = this.clock.monotonic();
    if (now - this.#checkedAt < CHECK_EVERY_MS) return;
    this.#checkedAt = now;
    this.checkNow();
  }

  /** Looks in any case: before a commit is acknowledged, which may have gone into a file without a name. Throws as `check`. */
  checkNow(): void {
    const current = this.#identify();
    if (current?.device === this.#first?.device && current?.inode === this.#first?.inode) return;
    this.#lost = new PurserError(
      "unavailable",
      `Cannot use database ${this.path}: the file was deleted or replaced while it was open; restart this process`,
    );
    throw this.#lost;
  }

  /** Undefined where there is no file; what can't be told is taken for no change. */
  #identify(): FileIdentity | undefined {
    try {
      return this.identify(this.path);
    } catch (error) {
      const code = systemCodeOf(error);
      return code === "ENOENT" || code === "ENOTDIR" ? undefined : this.#first;
    }
  }
}
