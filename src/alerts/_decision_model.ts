import { type ModelCall } from "../ledger/mod.ts";
import type { NanoUsd } from "../money.ts";
import type { RuleRow } from "./rule.ts";
import { type TouchedWindow, touchedWindows } from "./touched_windows.ts";

/** The rules of DESIGN.md §10 as plain functions over everything that was ever booked: slow, and easy to check. */

/** What a rule remembers. */
export interface RuleState {
  rule: Pick<
    RuleRow,
    "ruleId" | "thresholdType" | "thresholdNanoUsd" | "cooldownMs" | "repeat" | "scope" | "enabled"
  >;
  firedAt: number | null;
  /** The windows it was told of. */
  claims: Set<string>;
  /** Told of the rolling hour, which has not fallen below since. */
  isOver: boolean;
}

/** Why a rule fires, or doesn't. */
export type Decision =
  | { fires: true; value: NanoUsd }
  | { fires: false; reason: "disabled" | "other_window" | "below" | "told" | "cooling_down" };

/** An alert as the model sees it. */
export interface ModelAlert {
  ruleId: string;
  value: NanoUsd;
  runId: string | null;
  sessionId: string | null;
}

/** What a window adds up. */
export function valueOf(
  window: Pick<TouchedWindow, "type" | "scope" | "id" | "from" | "to">,
  booked: readonly ModelCall[],
): NanoUsd {
  const isIn = (call: ModelCall): boolean => {
    if (window.type === "per_run_usd") return call.runId === window.id;
    if (window.type === "per_session_usd") return call.sessionId === window.id;
    return (window.scope === "" || call.agentId === window.scope) && call.at >= window.from &&
      call.at < window.to;
  };
  return booked.filter(isIn).reduce((sum, call) => sum + (call.costNanoUsd ?? 0n), 0n);
}

/** Decides one rule at one window. */
export function decideRule(
  state: RuleState,
  window: TouchedWindow,
  { value, now }: { value: NanoUsd; now: number },
): Decision {
  const { rule, firedAt } = state;
  if (!rule.enabled) return { fires: false, reason: "disabled" };
  if (rule.thresholdType !== window.type || rule.scope !== window.scope) {
    return { fires: false, reason: "other_window" };
  }
  if (value < rule.thresholdNanoUsd) return { fires: false, reason: "below" };
  if (rule.repeat === "once_per_window") {
    if (window.claim === null ? state.isOver : state.claims.has(window.claim)) {
      return { fires: false, reason: "told" };
    }
  }
  if (firedAt !== null && now < firedAt + rule.cooldownMs) return { fires: false, reason: "cooling_down" };
  return { fires: true, value };
}

/** Books calls in one commit and tells which alerts they fire, in no certain order. */
export function bookInModel(
  states: readonly RuleState[],
  booked: ModelCall[],
  calls: readonly ModelCall[],
  now: number,
): ModelAlert[] {
  booked.push(...calls);
  const windows = touchedWindows(calls, now);
  for (const state of states) {
    if (!state.rule.enabled) continue;
    if (state.firedAt !== null && state.firedAt > now) state.firedAt = now;
  }
  for (const state of states) {
    for (const window of windows) {
      if (window.type !== "per_hour_usd" || !state.isOver || window.scope !== state.rule.scope) continue;
      if (valueOf(window, booked) - window.addedNanoUsd < state.rule.thresholdNanoUsd) state.isOver = false;
    }
  }
  const alerts: ModelAlert[] = [];
  for (const window of windows) {
    for (const state of states) {
      const decision = decideRule(state, window, { value: valueOf(window, booked), now });
      if (!decision.fires) continue;
      state.firedAt = now;
      if (state.rule.repeat === "once_per_window") {
        if (window.claim === null) state.isOver = true;
        else state.claims.add(window.claim);
      }
      const { runId, sessionId } = window.call;
      alerts.push({ ruleId: state.rule.ruleId, value: decision.value, runId, sessionId });
    }
  }
  return alerts;
}
