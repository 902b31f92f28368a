import { systemCodeOf } from "./errors.ts";
import { systemReason } from "./system_reason.ts";

/** A module that a person named by its path. */
export interface ImportedFile {
  default?: unknown;
}

/**
 * Imports a module of TypeScript or JavaScript from disk by absolute path, also beside a compiled binary. Throws an
 * error that says what is wrong with the file, for the caller to name it: a file that isn't there is told from one
 * whose own imports aren't.
 */
export async function importFile(path: string): Promise<ImportedFile> {
  // Late, so that an edge bundle stands without Node's modules.
  const [{ stat }, { pathToFileURL }] = await Promise.all([import("node:fs/promises"), import("node:url")]);
  const found = await stat(path).catch((error) => {
    throw new Error(systemReason(error), { cause: error });
  });
  if (!found.isFile()) throw new Error("it is not a file");
  try {
    return await import(pathToFileURL(path).href);
  } catch (error) {
    if (systemCodeOf(error) !== "ERR_UNKNOWN_FILE_EXTENSION") throw error;
    throw new Error(
      "this Node does not read TypeScript; start it without --no-experimental-strip-types, or write it in JavaScript (.js, .mjs)",
      { cause: error },
    );
  }
}
