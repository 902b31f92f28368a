/** The steps of a session's log, for the viewers of a terminal and of the dashboard. Pure: it reads and writes nothing. */
export { describeStep } from "./describe_step.ts";
export { formatDuration, formatGap, formatInstant } from "./format_duration.ts";
export { formatTokens, formatTotalCost, totalUsd } from "./format_totals.ts";
export {
  createStepReader,
  type HoldLimits,
  holdSteps,
  jsonOfStep,
  type ReplayStep,
  replaySteps,
  RunTracker,
  selectSteps,
  type SeqRange,
  type TrackedRun,
} from "./replay_steps.ts";
export {
  callIdOf,
  type ImportedEvent,
  MESSAGE,
  payloadOf,
  readCost,
  readCount,
  readText,
  type ReplayEvent,
} from "./replay_event.ts";
export { keepFacts, type Section, textOf } from "./step_view.ts";
