/** The files of imports with how far they were read: apart from the rest, which a hook doesn't need. */
export { listImportFiles, saveImportFiles } from "./import_files.ts";
