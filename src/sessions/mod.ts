/** Sessions, the life of their runs, their messages, and the append-only event log. */
export {
  appendEvents,
  appendMessages,
  commitProgress,
  countInSessions,
  findLogOwner,
  type NewEvent,
  type Progress,
  publishEvents,
} from "./append_events.ts";
export type { RunRef, SessionContext } from "./context.ts";
export type { SessionEvent } from "../contract/events.ts";
export { type NewMessage, newMessage, type SessionMessage } from "./session_message.ts";
export { type AncestorRun, claimSession, type NewRun, readRunsAbove, startRun } from "./start_run.ts";
export { readRootsOfRuns } from "./read_roots.ts";
export { endLiveRuns, type LiveRun, registerRun } from "./live_run.ts";
export { keepLease, renewLease, RUN_LEASE_MS, type RunState } from "./run_lease.ts";
export { countSteps, endRun, type RunEnd } from "./end_run.ts";
export { BEAT_MS, createLogReader, type LogPage, type LogReader } from "./log_reader.ts";
export {
  cancelRun,
  createRunEndRetries,
  recoverRuns,
  type RecoveryContext,
  requestCancel,
  type RunEndRetries,
} from "./recover_runs.ts";
export {
  getRun,
  getSession,
  listSessions,
  readEventTexts,
  readMessageBytes,
  readMessages,
  readMessageTexts,
} from "./read_sessions.ts";
export { MAX_SEARCHED_SESSIONS, searchSessions } from "./search_sessions.ts";
export { findRunOwner, findSessionOwner, readOwners } from "./read_owners.ts";
export { lastEventId, listAllEvents, listSessionEvents } from "./list_events.ts";
export { countRunning, listRuns } from "./list_runs.ts";
