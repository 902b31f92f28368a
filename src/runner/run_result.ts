import type { RunEvent } from "../contract/runs.ts";

/** A part of a run in progress: text as it is streamed, or a committed event. */
export type RunPart =
  | { type: "text"; text: string }
  | {
    type: "event";
    event: RunEvent;
  };
