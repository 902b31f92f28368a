import { ALL_AGENTS, type ModelCall } from "../ledger/mod.ts";
import type { NanoUsd } from "../money.ts";
import type { ThresholdType } from "../store/mod.ts";
import { type TimeWindow, windowAt } from "./windows.ts";

/** A window that calls of one commit fall into, and rules have to be looked at for. */
export interface TouchedWindow {
  type: ThresholdType;
  /** Whose rules: an agent's, or those for all. */
  scope: string;
  /** The run or session; null for a window of time. */
  id: string | null;
  /** Calls with `from <= at < to`; 0 for a run or a session. */
  from: number;
  to: number;
  /** What a rule that fires once per window remembers; null for the rolling hour, which has no name. */
  claim: string | null;
  /** What the commit has added to it. */
  addedNanoUsd: NanoUsd;
  /** The last of the commit's calls in it. */
  call: ModelCall;
}

const TIME_WINDOWS = ["per_hour_usd", "per_day_usd", "per_month_usd"] as const satisfies TimeWindow[];

/**
 * The present windows that hold these calls. A call that is ahead of this process's clock is looked at as of its
 * own time, and for the hour as of the latest in its commit; one that came late touches only a window of time that is still the present one.
 */
export function touchedWindows(calls: readonly ModelCall[], now: number): TouchedWindow[] {
  const touched = new Map<string, TouchedWindow>();
  const touch = (call: ModelCall, window: Omit<TouchedWindow, "scope" | "addedNanoUsd" | "call">) => {
    for (const scope of [call.agentId, ALL_AGENTS]) {
      const key = `${window.type} ${scope} ${window.id ?? window.to}`;
      const known = touched.get(key);
      const addedNanoUsd = (known?.addedNanoUsd ?? 0n) + (call.costNanoUsd ?? 0n);
      touched.set(key, { ...window, scope, addedNanoUsd, call });
    }
  };
  const latest = calls.reduce((time, { at }) => Math.max(time, at), now);
  for (const call of calls) {
    const { runId, sessionId, at } = call;
    if (runId !== null) touch(call, placeOf("per_run_usd", runId));
    if (sessionId !== null) touch(call, placeOf("per_session_usd", sessionId));
    for (const type of TIME_WINDOWS) {
      const { from, to } = windowAt(type, at <= now ? now : type === "per_hour_usd" ? latest : at);
      if (at < from) continue;
      const claim = type === "per_hour_usd" ? null : `${type}:${from}`;
      touch(call, { type, id: null, from, to, claim });
    }
  }
  return [...touched.values()];
}

function placeOf(type: ThresholdType, id: string) {
  return { type, id, from: 0, to: 0, claim: `${type}:${id}` };
}
