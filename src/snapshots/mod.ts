/** Snapshots: a whole session as one portable document, taken and restored. */
export type { SnapshotContext } from "./context.ts";
export { SCHEMA_VERSION, Snapshot, SnapshotAgent, SnapshotEvent, type SnapshotHead } from "./snapshot.ts";
export { SnapshotMessage } from "./message.ts";
export { readDocument, type ReadSnapshot } from "./read_document.ts";
export { type DocumentParts, writeDocument } from "./document.ts";
export { decodeDocument, snapshotTooLarge } from "./decode_document.ts";
export { type ExportInput, exportSession, type SessionExport } from "./export_session.ts";
export { type ImportResult, importSession } from "./import_session.ts";
export { type ImportedEvent, listImportedEvents } from "./imported_events.ts";
export { SNAPSHOT_JSON_SCHEMA, SNAPSHOT_SCHEMA_PATH } from "./json_schema.ts";
export { parseTags } from "./parse_tags.ts";
export { bytesOf, readSnapshot, writeSnapshot } from "./snapshot_file.ts";
export {
  gunzip,
  openSource,
  peekGzip,
  readFile,
  sizeOfFile,
  type SnapshotSource,
} from "./snapshot_source.ts";
export { type Found, redactValue } from "./redact_value.ts";
export { DocumentFault, splitDocument } from "./split_document.ts";
export { rewriteDocument } from "./rewrite_document.ts";
export type { SpoolOptions } from "./spool.ts";
export { streamOf } from "./stream_of.ts";
export { writeFile } from "./write_file.ts";
