import { dirname } from "node:path";
import { PurserError, systemCodeOf } from "../errors.ts";
import { systemReason } from "../system_reason.ts";
import { files } from "../files.ts";

/** Makes the folder and the file of a new database, readable by their owner only: it holds conversations. */
export async function prepareDatabaseFile(path: string): Promise<void> {
  try {
    await files.makeFolder(dirname(path));
    await files.writeNew(path, "");
  } catch (error) {
    if (systemCodeOf(error) === "EEXIST") return await refuseDirectory(path);
    throw new PurserError("unavailable", `Cannot open database ${path}: ${systemReason(error)}`, {
      cause: error,
    });
  }
}

/** The driver would tell of a number. */
async function refuseDirectory(path: string): Promise<void> {
  if (!await files.isFolder(path).catch(() => false)) return;
  throw new PurserError("unavailable", `Cannot open database ${path}: it is a directory; name a file in it`);
}
