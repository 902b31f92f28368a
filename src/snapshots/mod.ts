/** Snapshots: exports a whole session as one portable document, and restores it. */
export type { SnapshotContext } from "./context.ts";
export type { Snapshot } from "../contract/snapshot/snapshot.ts";
export { readDocument, type ReadSnapshot } from "./document/read_document.ts";
export { DOCUMENT_LISTS, rewriteDocument, writeDocument } from "./document/write_document.ts";
export {
  decodeDocument,
  gunzip,
  openSource,
  peekGzip,
  readFile,
  sizeOfFile,
  type SnapshotSource,
  snapshotTooLarge,
  streamOf,
} from "./files/snapshot_source.ts";
export { type ExportInput, exportSession, parseTags, type SessionExport } from "./export_session.ts";
export { importSession } from "./import_session.ts";
export type { ImportResult } from "../contract/snapshots.ts";
export { listImportedEvents } from "./generations/imported_events.ts";
export { bytesOf, readSnapshot, writeSnapshot } from "./files/snapshot_file.ts";
export { type Found, redactValue } from "./redact_value.ts";
export type { SpoolOptions } from "./files/spool.ts";
export { writeFile } from "./files/write_file.ts";
