/** Snapshots: exports a whole session as one portable document, and restores it. */
export type { SnapshotContext } from "./context.ts";
export type { Snapshot } from "../contract/snapshot/snapshot.ts";
export type { ImportResult } from "../contract/snapshot/snapshots.ts";
export { type ExportInput, exportSession, parseTags, type SessionExport } from "./export_session.ts";
export { type ImportOptions, importSession } from "./import_session.ts";
export { listImportedEvents } from "./generations/imported_events.ts";
