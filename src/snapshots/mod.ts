/** Snapshots: exports a whole session as one portable document, and restores it. */
export type { SnapshotContext } from "./context.ts";
export type { Snapshot } from "../contract/snapshot/snapshot.ts";
export { readDocument, type ReadSnapshot, readSnapshot } from "./document/read_document.ts";
export { bytesOf, rewriteDocument, writeDocument, writeSnapshot } from "./document/write_document.ts";
export { DOCUMENT_LISTS } from "./document/canonical_document.ts";
export {
  gunzip,
  openSource,
  peekGzip,
  readFile,
  sizeOfFile,
  type SnapshotSource,
  streamOf,
} from "./files/snapshot_source.ts";
export { decodeDocument, snapshotTooLarge } from "./document/decode_document.ts";
export { type ExportInput, exportSession, parseTags, type SessionExport } from "./export_session.ts";
export { type ImportOptions, importSession } from "./import_session.ts";
export type { ImportResult } from "../contract/snapshot/snapshots.ts";
export { listImportedEvents } from "./generations/imported_events.ts";
export type { SpoolOptions } from "./files/spool.ts";
export { writeFile } from "./files/write_file.ts";
