import type { ThresholdType } from "../../src/contract/values.ts";
import { calendarIn, periodOf, windowOf } from "../../src/contract/windows.ts";
import { ALL_CALLS, isScopeBy, type ModelCall, subjectsIn } from "../../src/ledger/mod.ts";
import type { NanoUsd } from "../../src/kernel/money.ts";
import type { RuleRow } from "../../src/alerts/rules/rule_fields.ts";

/** The firing of alerts as plain functions over all booked calls: slow, but easy to verify. See `firing_logic.ts`. */

/** A window that a call falls into, whose rules have to be decided. */
export interface TouchedWindow {
  type: ThresholdType;
  /** The scope of its rules: an agent, or all. */
  scope: string;
  /** The run or session; null for a window of time. */
  id: string | null;
  /** Calls with `from <= at < to`; 0 for a run or a session. */
  from: number;
  to: number;
  /** The key that a rule with `once_per_window` remembers; null for the rolling hour, which has none. */
  claim: string | null;
  /** The calendar of its rules; null for the windows of UTC. */
  calendar: string | null;
}

/** The state of a rule. */
export interface RuleState {
  rule: Pick<
    RuleRow,
    | "ruleId"
    | "thresholdType"
    | "thresholdNanoUsd"
    | "cooldownMs"
    | "repeat"
    | "scope"
    | "enabled"
    | "calendar"
    | "each"
    | "shape"
  >;
  firedAt: number | null;
  /** The windows for which it has fired. */
  claims: Set<string>;
  /** It has fired for the rolling hour, which has not fallen below since. */
  isOver: boolean;
  /** Of a rule with many counters: those that have fired, by the value that each is of. */
  counters?: Map<string, Counter>;
}

type Counter = Pick<RuleState, "firedAt" | "isOver">;

/** The decision on a rule, with the reason where it does not fire. */
export type Decision =
  | { fires: true; value: NanoUsd }
  | { fires: false; reason: "disabled" | "other_window" | "below" | "already_fired" | "cooling_down" };

/** An alert as the model sees it. */
export interface ModelAlert {
  ruleId: string;
  value: NanoUsd;
  runId: string | null;
  sessionId: string | null;
}

/** Returns the spend in a window. */
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

/** Decides one rule for one window. */
export function decideRule(
  state: RuleState,
  window: TouchedWindow,
  { value, now }: { value: NanoUsd; now: number },
): Decision {
  const { rule, firedAt } = state;
  if (!rule.enabled) return { fires: false, reason: "disabled" };
  const isOfCalendar = rule.calendar === window.calendar;
  if (rule.thresholdType !== window.type || rule.scope !== window.scope || !isOfCalendar) {
    return { fires: false, reason: "other_window" };
  }
  if (value < rule.thresholdNanoUsd) return { fires: false, reason: "below" };
  if (rule.repeat === "once_per_window") {
    if (window.claim === null ? state.isOver : state.claims.has(window.claim)) {
      return { fires: false, reason: "already_fired" };
    }
  }
  if (firedAt !== null && now < firedAt + rule.cooldownMs) return { fires: false, reason: "cooling_down" };
  return { fires: true, value };
}

const TIME_WINDOWS = ["per_hour_usd", "per_day_usd", "per_month_usd"] as const;

/** Returns the window of a threshold type of time that holds one. */
export function spanAt(
  type: ThresholdType,
  at: number,
  calendar: string | null = null,
): { from: number; to: number } {
  const { from, to } = windowOf(periodOf(type), at, null, calendarIn(calendar));
  return { from, to: to! };
}

/**
 * Returns the present windows that hold a call. A call that is ahead of the clock is decided as of its own time; one
 * that is booked late touches only time windows that are still the present ones.
 */
function touchedWindows(
  { runId, sessionId, agentId, at }: ModelCall,
  now: number,
  calendars: Iterable<string | null>,
): TouchedWindow[] {
  const calendar = null;
  const windows: Omit<TouchedWindow, "scope">[] = [];
  if (runId !== null) {
    windows.push({ type: "per_run_usd", id: runId, from: 0, to: 0, claim: `per_run_usd:${runId}`, calendar });
  }
  if (sessionId !== null) {
    windows.push({
      type: "per_session_usd",
      id: sessionId,
      from: 0,
      to: 0,
      claim: `per_session_usd:${sessionId}`,
      calendar,
    });
  }
  for (const type of TIME_WINDOWS) {
    for (const calendar of calendars) {
      if (calendar !== null && type === "per_hour_usd") continue;
      const { from, to } = spanAt(type, Math.max(at, now), calendar);
      if (at < from) continue;
      const claim = type === "per_hour_usd" ? null : `${type}:${from}`;
      windows.push({ type, id: null, from, to, claim, calendar });
    }
  }
  return windows.flatMap((window) => [agentId, ALL_CALLS].map((scope) => ({ ...window, scope })));
}

/** A rule that fired up to this time in the future was fired by a process that read its clock later. */
const SKEW_MS = 30_000;

/** Makes a rule that fired in the future, before a clock was set back, count as fired now. Returns the decision time. */
export function noticeClock(states: readonly RuleState[], now: number): number {
  let time = now;
  for (const state of states) {
    if (!state.rule.enabled || state.firedAt === null) continue;
    if (state.firedAt > now + SKEW_MS) {
      state.firedAt = now;
      for (const counter of state.counters?.values() ?? []) counter.firedAt = Math.min(counter.firedAt!, now);
    }
    time = Math.max(time, state.firedAt);
  }
  return time;
}

/** Books calls at one time, one after the other, and returns the alerts that they fire, in no certain order. */
export function bookInModel(
  states: readonly RuleState[],
  booked: ModelCall[],
  calls: readonly ModelCall[],
  now: number,
  /** Returns the spend in a window; a function other than `valueOf` may include more than the calls. */
  sum = valueOf,
): ModelAlert[] {
  const time = noticeClock(states, now);
  return calls.flatMap((call) => bookOneInModel(states, booked, call, time, sum));
}

function bookOneInModel(
  states: readonly RuleState[],
  booked: ModelCall[],
  call: ModelCall,
  now: number,
  sum: typeof valueOf,
): ModelAlert[] {
  const windows = touchedWindows(call, now, new Set([null, ...states.map(({ rule }) => rule.calendar)]));
  for (const state of states) {
    for (const window of windows) {
      if (
        !state.rule.enabled || window.type !== "per_hour_usd" || !state.isOver ||
        window.scope !== state.rule.scope
      ) continue;
      if (sum(window, booked) < state.rule.thresholdNanoUsd) state.isOver = false;
    }
  }
  const ofSubjects = states.flatMap((state) => measuredBy(state, call, states) ?? []);
  for (const { state, counter, windowsOf, sumOf } of ofSubjects) {
    for (const window of windowsOf(windows)) {
      if (!counter.isOver || window.type !== "per_hour_usd") continue;
      if (sumOf(window, booked) < state.rule.thresholdNanoUsd) counter.isOver = false;
    }
  }
  booked.push(call);
  const alerts: ModelAlert[] = [];
  for (const { state, counter, name, windowsOf, sumOf } of ofSubjects) {
    for (const window of windowsOf(windows)) {
      const claim = window.claim && `${name}@${window.claim}`;
      const { fires, value } = {
        value: 0n,
        ...decideRule(
          { ...state, ...counter },
          { ...window, scope: state.rule.scope, claim },
          { value: sumOf(window, booked), now },
        ),
      };
      if (!fires) continue;
      state.firedAt = counter.firedAt = now;
      if (state.rule.shape !== null) (state.counters ??= new Map()).set(name, counter);
      if (state.rule.repeat === "once_per_window") {
        if (claim === null) counter.isOver = true;
        else state.claims.add(claim);
      }
      alerts.push({ ruleId: state.rule.ruleId, value, runId: call.runId, sessionId: call.sessionId });
    }
  }
  for (const window of windows) {
    for (const state of states.filter(({ rule }) => !isOfSubjects(rule))) {
      const decision = decideRule(state, window, { value: sum(window, booked), now });
      if (!decision.fires) continue;
      state.firedAt = now;
      if (state.rule.repeat === "once_per_window") {
        if (window.claim === null) state.isOver = true;
        else state.claims.add(window.claim);
      }
      const { runId, sessionId } = call;
      alerts.push({ ruleId: state.rule.ruleId, value: decision.value, runId, sessionId });
    }
  }
  return alerts;
}

const isOfSubjects = ({ scope, shape }: RuleState["rule"]) => shape !== null || isScopeBy(scope);

/** The parts of a call that the model knows. */
function partOf(call: ModelCall, part: string): string | null {
  if (part.startsWith("tag:")) return call.tags?.[part.slice(4)] ?? null;
  const parts: Record<string, string | null | undefined> = {
    agent: call.agentId,
    session: call.sessionId,
    key: call.keyId,
    model: call.model,
    provider: call.provider,
    source: call.source,
  };
  return parts[part] ?? null;
}

/** Returns whether a call is of all subjects of a rule. */
const isOf = ({ scope }: Pick<RuleState["rule"], "scope">, call: ModelCall) =>
  isScopeBy(scope)
    ? subjectsIn(scope).every(([part, value]) => partOf(call, part) === value)
    : scope === ALL_CALLS || scope === call.agentId;

/** The part of a call by whose values a rule has counters; undefined for one counter. */
const eachOf = ({ shape, each }: RuleState["rule"]) => shape === null ? undefined : each ?? "session";

/** Returns the counter of a rule of subjects that a call adds to, and how it is decided; undefined for none. */
function measuredBy(state: RuleState, call: ModelCall, all: readonly RuleState[]) {
  const { rule } = state;
  if (!rule.enabled || !isOfSubjects(rule) || !isOf(rule, call)) return undefined;
  const part = eachOf(rule);
  const name = part === undefined ? "" : partOf(call, part);
  if (name === null) return undefined;
  const named = rule.each === null || part === undefined
    ? []
    : all.filter(({ rule: { scope, shape, enabled, thresholdType } }) =>
      enabled && shape === null && thresholdType === rule.thresholdType && scope !== ALL_CALLS &&
      isSame(subjectsOf(scope), [...subjectsOf(rule.scope), [part, name]])
    );
  if (named.length > 0) return undefined;
  const counter = part === undefined ? state : state.counters?.get(name) ?? { firedAt: null, isOver: false };
  const isCounted = (other: ModelCall) =>
    isOf(rule, other) && (part === undefined || partOf(other, part) === name);
  return {
    state,
    counter: counter as Counter,
    name,
    windowsOf: (windows: readonly TouchedWindow[]) =>
      windows.filter(({ type, scope, calendar }) =>
        type === rule.thresholdType && scope === ALL_CALLS && calendar === rule.calendar
      ),
    sumOf: ({ type, from, to }: TouchedWindow, booked: readonly ModelCall[]) =>
      booked.filter((other) =>
        isCounted(other) && (type === "per_session_usd" || other.at >= from && other.at < to)
      )
        .reduce((sum, { costNanoUsd }) => sum + (costNanoUsd ?? 0n), 0n),
  };
}

const subjectsOf = (scope: string): (readonly [string, string | null])[] =>
  isScopeBy(scope) ? subjectsIn(scope) : scope === ALL_CALLS ? [] : [["agent", scope]];
const isSame = (
  some: readonly (readonly [string, string | null])[],
  others: readonly (readonly [string, string | null])[],
) => some.map(String).sort().join() === others.map(String).sort().join();
