import { mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";
import { messageOf, PurserError, systemCodeOf } from "../errors.ts";

/** Makes the folder and the file of a new database, readable by their owner only: it holds conversations. */
export async function prepareDatabaseFile(path: string): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await (await open(path, "wx", 0o600)).close();
  } catch (error) {
    if (systemCodeOf(error) === "EEXIST") return;
    throw new PurserError("unavailable", `Cannot open database ${path}: ${messageOf(error)}`, {
      cause: error,
    });
  }
}
