import { dirname } from "node:path";
import { PurserError, systemCodeOf, systemReason } from "../../kernel/errors.ts";
import { files } from "../../kernel/files.ts";

/** Makes the folder and the file of a new database, readable by their owner only: it holds conversations. */
export async function prepareDatabaseFile(path: string): Promise<void> {
  const isFolder = await files.isFolder(path).catch(() => undefined); // mostly because there is nothing yet
  if (isFolder === false) return;
  // The driver would tell of a number.
  if (isFolder) throw refuse(path, "is a directory; name a file in it");
  try {
    await files.makeFolder(dirname(path));
    await files.writeNew(path, "");
  } catch (error) {
    if (systemCodeOf(error) === "EEXIST") return; // somebody else has made it
    throw refuse(path, systemReason(error), error);
  }
}

function refuse(path: string, reason: string, cause?: unknown): PurserError {
  return new PurserError("unavailable", `Cannot open database ${path}: ${reason}`, { cause });
}
