/** How far the logs of agents have been imported: apart, since a hook needs no more than this. */
export { listImportFiles, saveImportFiles } from "./import_files.ts";
