import { systemCodeOf, systemReason } from "../system_errors.ts";

/** A module of the user, loaded by its path. */
export interface ImportedFile {
  default?: unknown;
}

/**
 * Imports a TypeScript or JavaScript module by its absolute path, also from a compiled binary. The error does not name
 * the file, which the caller does, and distinguishes a missing file from a missing import of it.
 */
export async function importFile(path: string): Promise<ImportedFile> {
  // Lazy, so that the edge bundle loads without Node's modules.
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
