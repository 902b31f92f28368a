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
export { type DocumentParts, writeDocument } from "./document/write_document.ts";
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
export { type ExportInput, exportSession, type SessionExport } from "./export_session.ts";
export { type ImportResult, importSession } from "./import_session.ts";
export { type ImportedEvent, listImportedEvents } from "./generations/imported_events.ts";
export { SNAPSHOT_JSON_SCHEMA, SNAPSHOT_SCHEMA_PATH } from "../contract/snapshot/json_schema.ts";
export { parseTags } from "./document/parse_tags.ts";
export { bytesOf, readSnapshot, writeSnapshot } from "./files/snapshot_file.ts";
export { type Found, redactValue } from "./redact_value.ts";
export { rewriteDocument } from "./document/rewrite_document.ts";
export type { SpoolOptions } from "./files/spool.ts";
export { writeFile } from "./files/write_file.ts";
