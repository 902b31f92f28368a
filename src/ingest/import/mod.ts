/** The import of the logs of coding agents from a machine: finds files, reads them from where it has stopped, follows them. */
export { findLogs, type FoundLogs } from "./find_logs.ts";
export {
  type BookedSightings,
  type ImportBooks,
  importLogs,
  type ImportOptions,
  type ImportTally,
  type KnownFile,
} from "./import_logs.ts";
export { createProjectNames } from "./project_names.ts";
