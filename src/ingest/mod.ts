/** Reads calls that others have made and recorded. `logs/mod.ts` has the importers of the logs of coding agents. */
export { listImportFiles, saveImportFiles } from "./import_files/mod.ts";
export { listSources } from "./list_sources.ts";
export { adviceOn, describeFault, listFaults } from "./otlp/export_faults.ts";
