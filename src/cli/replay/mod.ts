/** Stepping through a session's event log. */
export { type HeldSteps, HOLD_LIMITS, type HoldLimits, holdSteps } from "./hold_steps.ts";
export {
  isFileArgument,
  type ListImported,
  loadReplay,
  type Replay,
  type ReplaySnapshot,
  type ReplaySources,
} from "./load_replay.ts";
export { readKeys } from "./read_keys.ts";
export { renderJsonStep } from "./render_json_step.ts";
export { renderPlainStep } from "./render_plain_step.ts";
export type { ImportedEvent, ReplayEvent } from "./replay_event.ts";
export { replaySteps } from "./replay_steps.ts";
export { selectSteps, type SeqRange } from "./select_steps.ts";
export { viewSteps } from "./view_steps.ts";
