import { mkdir, open, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { messageOf, PurserError, systemCodeOf } from "../errors.ts";

/** Makes the folder and the file of a new database, readable by their owner only: it holds conversations. */
export async function prepareDatabaseFile(path: string): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await (await open(path, "wx", 0o600)).close();
  } catch (error) {
    if (systemCodeOf(error) === "EEXIST") return await refuseDirectory(path);
    throw new PurserError("unavailable", `Cannot open database ${path}: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

/** The driver would tell of a number. */
async function refuseDirectory(path: string): Promise<void> {
  const target = await stat(path).catch(() => undefined);
  if (!target?.isDirectory()) return;
  throw new PurserError("unavailable", `Cannot open database ${path}: it is a directory; name a file in it`);
}
