import { basename, dirname, join } from "node:path";
import { files } from "../../kernel/files.ts";
import { StoreBusyError } from "./sqlite_errors.ts";

/** What did not succeed until the deadline. */
interface Busy {
  action: "open" | "read" | "write to";
  path: string;
  /** Why this process needs the file to itself, if it does. */
  whyExclusive?: string;
  timeoutMs: number;
  cause: unknown;
}

/** Returns the error for a database that another process has kept locked, with what to do about it. */
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
    `another process ${lock} for ${seconds}; end the program that keeps a transaction open, such as a database browser or a backup, or the Purser that needs the file to itself`,
  );
}

/** Reads what a Purser from before files were shared wrote beside the database that it owned. */
async function readOldOwner(path: string): Promise<{ file: string; pid: string } | undefined> {
  const inFolder = async () =>
    join(await files.realPath(dirname(path)).catch(() => dirname(path)), basename(path));
  const file = `${await files.realPath(path).catch(inFolder)}.owner.json`;
  try {
    const { pid } = JSON.parse(await files.readText(file));
    return { file, pid: Number.isSafeInteger(pid) ? String(pid) : "of an unknown id" };
  } catch {
    return undefined; // none, or one that can't be read
  }
}
