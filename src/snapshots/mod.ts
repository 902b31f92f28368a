/** Snapshots: a whole session as one portable document, taken and restored. */
export type { SnapshotContext } from "./context.ts";
export {
  SCHEMA_VERSION,
  Snapshot,
  SnapshotAgent,
  SnapshotEvent,
  type SnapshotHead,
} from "./format/snapshot.ts";
export { SnapshotMessage } from "./format/message.ts";
export { readDocument, type ReadSnapshot } from "./read/read_document.ts";
export { type DocumentParts, writeDocument } from "./format/document.ts";
export { decodeDocument, snapshotTooLarge } from "./read/decode_document.ts";
export { type ExportInput, exportSession, type SessionExport } from "./export_session.ts";
export { type ImportResult, importSession } from "./import_session.ts";
export { type ImportedEvent, listImportedEvents } from "./generations/imported_events.ts";
export { SNAPSHOT_JSON_SCHEMA, SNAPSHOT_SCHEMA_PATH } from "./format/json_schema.ts";
export { parseTags } from "./format/parse_tags.ts";
export { bytesOf, readSnapshot, writeSnapshot } from "./files/snapshot_file.ts";
export {
  gunzip,
  openSource,
  peekGzip,
  readFile,
  sizeOfFile,
  type SnapshotSource,
} from "./files/snapshot_source.ts";
export { type Found, redactValue } from "./redact_value.ts";
export { DocumentFault, splitDocument } from "./read/split_document.ts";
export { rewriteDocument } from "./read/rewrite_document.ts";
export type { SpoolOptions } from "./files/spool.ts";
export { streamOf } from "./files/stream_of.ts";
export { writeFile } from "./files/write_file.ts";
