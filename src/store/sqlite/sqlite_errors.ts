import { messageOf, PurserError } from "../../kernel/errors.ts";
import { realDatabasePath } from "./database_file.ts";
import { ConstraintError } from "../store.ts";
import { files } from "../../kernel/files/files.ts";
import type { Clock } from "../../kernel/clock.ts";

/** The kinds of SQLite errors that are distinguished. */
export type SqliteErrorKind =
  | "busy"
  | "constraint"
  | "read_only"
  | "io"
  | "damaged"
  | "full"
  | "not_opened";

/**
 * SQLite's primary result codes (https://sqlite.org/rescode.html) and their texts. Some errors carry no code: those of
 * `exec()` in Deno have the text only.
 */
const KINDS: readonly { kind: SqliteErrorKind; codes: readonly number[]; text: RegExp }[] = [
  // BUSY, LOCKED, PROTOCOL
  { kind: "busy", codes: [5, 6, 15], text: /^(database (schema |table )?is locked|locking protocol)/ },
  { kind: "constraint", codes: [19], text: /constraint failed/ },
  { kind: "read_only", codes: [8], text: /^attempt to write a readonly database/ },
  { kind: "io", codes: [10], text: /^disk I\/O error/ },
  { kind: "full", codes: [13], text: /^database or disk is full/ },
  { kind: "not_opened", codes: [14], text: /^unable to open database file/ },
  // CORRUPT, NOTADB
  { kind: "damaged", codes: [11, 26], text: /^(database disk image is malformed|file is not a database)/ },
];

/** Returns the kind of an error of `node:sqlite`; undefined for any other error. */
export function kindOfSqliteError(error: unknown): SqliteErrorKind | undefined {
  const { code, errcode } = (error ?? {}) as { code?: unknown; errcode?: unknown };
  if (code !== "ERR_SQLITE_ERROR") return undefined;
  // The low byte of an extended code is the primary one.
  if (typeof errcode === "number") return KINDS.find(({ codes }) => codes.includes(errcode & 0xff))?.kind;
  const text = messageOf(error);
  return KINDS.find((each) => each.text.test(text))?.kind;
}

/** Another process has kept the database locked until the deadline. */
export class StoreBusyError extends PurserError {
  constructor(message: string, options?: { cause?: unknown }) {
    super("unavailable", message, options);
    this.name = "StoreBusyError";
  }
}

/** Returns an error of SQLite in Purser's terms; any other error unchanged. `action` is as in "Cannot open …". */
export function explainSqliteError(error: unknown, action: string, path: string): Error {
  const where = path === ":memory:" ? "the database in memory" : `database ${path}`;
  const text = messageOf(error);
  switch (kindOfSqliteError(error)) {
    case "constraint":
      return new ConstraintError(text, { cause: error });
    case "busy":
      return new StoreBusyError(`Cannot ${action} ${where}: ${text}`, { cause: error });
    case "full":
      return new PurserError("unavailable", `Cannot ${action} ${where}: the disk is full`, { cause: error });
    case "io":
    case "read_only":
    case "not_opened": {
      // Deno adds the path, which is in the message already.
      const reason = text.replace(/^(unable to open database file): .*/s, "$1");
      return new PurserError("unavailable", `Cannot ${action} ${where}: ${reason}`, { cause: error });
    }
    case "damaged":
      return new PurserError(
        "internal",
        `Cannot ${action} ${where}: the file is damaged or is not a database (${text}); restore a backup or choose another file`,
        { cause: error },
      );
    case undefined:
      return error instanceof Error ? error : new Error(text);
  }
}

/** An action that did not succeed until the deadline. */
interface Busy {
  action: "open" | "read" | "write to";
  path: string;
  /** The reason why this process needs exclusive access, if it does. */
  whyExclusive?: string;
  timeoutMs: number;
  cause: unknown;
}

/** Returns the error for a database that another process keeps locked, with the remedy. */
export async function explainBusy(
  { action, path, whyExclusive, timeoutMs, cause }: Busy,
): Promise<StoreBusyError> {
  const seconds = `${timeoutMs / 1_000} s`;
  const lock = action === "write to" ? "has held its write lock" : "has kept it locked";
  const say = (state: string) => new StoreBusyError(`Cannot ${action} database ${path}: ${state}`, { cause });
  const owner = await readOldOwner(path);
  if (owner !== undefined) {
    return say(
      `another process ${lock} for ${seconds}; ${owner.file} says that an older Purser, process ${owner.pid}, owns it: end that process first`,
    );
  }
  if (whyExclusive !== undefined) return say(`another process uses it, and ${whyExclusive}`);
  return say(
    `another process ${lock} for ${seconds}; end the program that keeps a transaction open, such as a database browser or a backup, or the Purser that needs exclusive access`,
  );
}

/** Reads the owner file of a Purser from before files were shared. */
async function readOldOwner(path: string): Promise<{ file: string; pid: string } | undefined> {
  const file = `${await realDatabasePath(path)}.owner.json`;
  try {
    const { pid } = JSON.parse(await files.readText(file));
    return { file, pid: Number.isSafeInteger(pid) ? String(pid) : "of an unknown id" };
  } catch {
    return undefined; // missing or unreadable
  }
}

/** The options of `retryWhileBusy`. */
export interface BusyRetry {
  clock: Pick<Clock, "monotonic" | "sleep">;
  /** A number from 0 up to 1, as `Math.random`. */
  random: () => number;
  timeoutMs: number;
}

const FIRST_PAUSE_MS = 1;

const LONGEST_PAUSE_MS = 20;

/** Returns the pause before the given retry (0 for the first): random, so that processes don't retry in step. */
export function busyPauseMs(retry: number, random: () => number): number {
  const longestMs = Math.min(FIRST_PAUSE_MS * 2 ** retry, LONGEST_PAUSE_MS);
  return Math.max(FIRST_PAUSE_MS, random() * longestMs);
}

/**
 * Retries `attempt`, with pauses that leave the event loop free, until it returns or throws an error that `isBusy` does
 * not accept. After the deadline the last error is thrown.
 */
export async function retryWhileBusy<T>(
  attempt: () => T | Promise<T>,
  isBusy: (error: unknown) => boolean,
  { clock, random, timeoutMs }: BusyRetry,
): Promise<T> {
  const deadline = clock.monotonic() + timeoutMs;
  for (let retry = 0;; retry++) {
    try {
      return await attempt();
    } catch (error) {
      if (!isBusy(error) || clock.monotonic() >= deadline) throw error;
    }
    await clock.sleep(busyPauseMs(retry, random));
  }
}
