/** Stepping through a session's event log. */
export { type HeldSteps, HOLD_LIMITS, type HoldLimits, holdSteps } from "./steps/hold_steps.ts";
export {
  isFileArgument,
  type ListImported,
  loadReplay,
  type Replay,
  type ReplaySnapshot,
  type ReplaySources,
} from "./load_replay.ts";
export { readKeys } from "./keys/read_keys.ts";
export { renderJsonStep } from "./screen/render_json_step.ts";
export { renderPlainStep } from "./screen/render_plain_step.ts";
export type { ImportedEvent, ReplayEvent } from "./steps/replay_event.ts";
export { replaySteps } from "./steps/replay_steps.ts";
export { selectSteps, type SeqRange } from "./steps/select_steps.ts";
export { viewSteps } from "./screen/view_steps.ts";
