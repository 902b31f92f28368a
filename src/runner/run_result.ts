import type { RunEvent } from "../contract/runs.ts";

/** What a listener hears of a run while it goes on: the text as it comes, and every committed event. */
export type RunPart =
  | { type: "text"; text: string }
  | {
    type: "event";
    event: RunEvent;
  };
