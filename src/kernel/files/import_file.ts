import { systemCodeOf, systemReason } from "../system_errors.ts";

/** A module of the user, loaded by its path. */
export interface ImportedFile {
  default?: unknown;
}

/** The most bytes of a module, which is read and compiled as a whole. */
const MAX_BYTES = 64 * 1024 * 1024;

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
  if (found.size > MAX_BYTES) throw new Error(`it is larger than ${MAX_BYTES / 1024 / 1024} MiB`);
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
