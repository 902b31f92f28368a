import type { LiveState } from "../../contract/live.ts";

/** The messages of `GET /live`, and the entries of their lists. */
export type { LiveDelta, LiveState } from "../../contract/live.ts";
export type LiveAgent = LiveState["agents"][number];
export type LiveModel = LiveState["models"][number];
export type LiveRun = LiveState["runs"][number];
