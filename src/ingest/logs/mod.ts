/** The contract of importers of the logs of coding agents, and their registry. */
export {
  defineImporter,
  IMPORTER_CONTRACT,
  type ImporterKit,
  type ImporterModule,
  type LineReader,
  type LogDatabase,
  type LogFile,
  type LogImporter,
  type LogKind,
  type LogSink,
  type Machine,
  type OtherFiles,
  type ReaderState,
  type RecordsApi,
  type RecordsRequest,
} from "./importer.ts";
export { loadImporters } from "./load_importers.ts";
export { faultOfSighting } from "./sighting_fault.ts";
export { IMPORTERS } from "./registry.ts";
export type { Quality, Sighting } from "../../calls/mod.ts";
export type { Usage } from "../../pricing/mod.ts";
