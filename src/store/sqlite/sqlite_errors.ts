import { messageOf, PurserError } from "../../kernel/errors.ts";
import { ConstraintError } from "../store.ts";

/** The kinds of SQLite's errors that are told apart. */
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

/** Returns an error of SQLite in Purser's terms; any other error as it is. `action` is as in "Cannot open …". */
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
