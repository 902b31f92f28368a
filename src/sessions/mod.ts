/** Sessions, their runs and messages, and the append-only event log. */
export { appendEvents, appendMessages, countInSessions, type EventPlace } from "./append.ts";
export { RUN_LEASE_MS, type SessionContext } from "./context.ts";
export type { NewEvent } from "./session_event.ts";
export type { SessionEvent } from "../contract/events.ts";
export { type NewMessage, newMessage, type SessionMessage } from "./session_message.ts";
export { type NewRun, startRun } from "./start_run.ts";
export { type Progress, renewLease, type RunState } from "./run_progress.ts";
export { endRun, type RunEnd, SESSION_LOST } from "./end_run.ts";
export { recoverRuns, type RecoveryContext } from "./recover_runs.ts";
export { requestCancel } from "./cancel_run.ts";
export { lastEventId, listAllEvents, listSessionEvents } from "./list_events.ts";
export { getRun, getSession, listSessions } from "./list_sessions.ts";
export type { Run } from "../contract/runs.ts";
export type { Session } from "../contract/sessions.ts";
export { readEventTexts } from "./read_event_texts.ts";
export { listMessages, readMessageTexts } from "./read_messages.ts";
export { findForeignPlace, findRunOwner, findSessionOwner } from "./owners.ts";
export { createUnfinishedRuns, type UnfinishedRuns } from "./unfinished_runs.ts";
