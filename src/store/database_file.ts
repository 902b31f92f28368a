import { dirname } from "node:path";
import { messageOf, PurserError } from "../errors.ts";

/** Makes the folder and the file of a new database, readable by their owner only: it holds conversations. */
export async function prepareDatabaseFile(path: string): Promise<void> {
  try {
    await Deno.mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const file = await Deno.open(path, { write: true, createNew: true, mode: 0o600 });
    file.close();
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) return;
    throw new PurserError("unavailable", `Cannot open database ${path}: ${messageOf(error)}`, {
      cause: error,
    });
  }
}
