/** Snapshots: a whole session as one portable document, taken and restored. */
export type { SnapshotContext } from "./context.ts";
export {
  SCHEMA_VERSION,
  Snapshot,
  SnapshotAgent,
  SnapshotEvent,
  type SnapshotHead,
} from "../contract/snapshot/snapshot.ts";
export { SnapshotMessage } from "../contract/snapshot/message.ts";
export { readDocument, type ReadSnapshot } from "./document/read_document.ts";
export { type DocumentParts, writeDocument } from "./document/document.ts";
export { decodeDocument, snapshotTooLarge } from "./document/decode_document.ts";
export { type ExportInput, exportSession, type SessionExport } from "./export_session.ts";
export { importSession } from "./import_session.ts";
export type { ImportedEvent, ImportResult } from "../contract/snapshots.ts";
export { listImportedEvents } from "./generations/imported_events.ts";
export { SNAPSHOT_JSON_SCHEMA, SNAPSHOT_SCHEMA_PATH } from "../contract/snapshot/json_schema.ts";
export { parseTags } from "./document/parse_tags.ts";
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
export { DocumentFault, splitDocument } from "./document/split_document.ts";
export { rewriteDocument } from "./document/rewrite_document.ts";
export type { SpoolOptions } from "./files/spool.ts";
export { streamOf } from "./files/stream_of.ts";
export { writeFile } from "./files/write_file.ts";
