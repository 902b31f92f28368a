import type { AnomalyKind, Severity } from "../../contract/values.ts";
import { toIso } from "../../kernel/clock.ts";
import { divideHalfEven, formatUsd, type NanoUsd, toUsd } from "../../kernel/money.ts";
import type { BaselineStats } from "./baseline.ts";
import type { InputGrowth, Outlier } from "./detectors.ts";
import { type CallObservation, type ToolCallsObservation, type Unit, unitOf } from "./observation.ts";

/** A detected anomaly, before it is known whether it was recorded already. */
export interface Detection {
  kind: AnomalyKind;
  severity: Severity;
  agentId: string;
  sessionId: string | null;
  runId: string | null;
  callId: string | null;
  /** It is recorded once per kind, agent and occasion: `run/run_1`, `session/…`, `call/…`, `hour/…`, `day/…`. */
  occasion: string;
  message: string;
  details: Record<string, unknown>;
}

/** Returns the key under which a detection is recorded once; it is recorded again only when it has become critical. */
export function keyOf(detection: Pick<Detection, "kind" | "severity" | "agentId" | "occasion">): string {
  const { kind, severity, agentId, occasion } = detection;
  // Agent ids have no slash.
  return `${kind}/${severity === "critical" ? "critical" : "warning"}/${agentId}/${occasion}`;
}

/** Describes a repeated tool call, without its input, which may hold a secret. */
export function repeatedCallDetection(
  observation: ToolCallsObservation,
  { toolName, times, severity }: { toolName: string; times: number; severity: Severity },
): Detection {
  const { agentId } = observation;
  const tool = formatName(toolName);
  return {
    kind: "repeated_tool_call",
    severity,
    ...contextOf(observation),
    callId: null,
    message: `${agentId} called ${tool} ${formatCount(times)} times with the same input in one run`,
    details: { tool_name: tool, times },
  };
}

/** Describes input that grows step after step. */
export function growingInputDetection(
  observation: CallObservation,
  { first, last, growths, severity, unit }: InputGrowth & { severity: Severity; unit: Unit["kind"] },
): Detection {
  const { agentId, provider, model } = observation;
  return {
    kind: "growing_input",
    severity,
    ...contextOf(observation),
    callId: observation.callId,
    message: `The input of ${agentId} grew from ${formatCount(first)} to ${formatCount(last)} tokens in ` +
      `${formatCount(growths)} ${unit === "run" ? "steps of one run" : "calls of one session"}`,
    details: {
      provider,
      model,
      first_input_tokens: first,
      last_input_tokens: last,
      steps: growths,
    },
  };
}

/** Describes a call far above the usual cost of its agent and model. */
export function costlyCallDetection(
  observation: CallObservation,
  { value, limit, baseline, severity }: Outlier & { severity: Severity },
): Detection {
  const { agentId, provider, model } = observation;
  return {
    kind: "costly_call",
    severity,
    ...contextOf(observation),
    ...observation.runId === null && { occasion: `call/${observation.callId}` },
    callId: observation.callId,
    message: `A call of ${agentId} to ${formatName(model)} cost ${formatCost(value)}${usually(baseline)}`,
    details: {
      provider,
      model,
      cost_usd: toUsd(value),
      usual_cost_usd: baseline === undefined ? null : toUsd(baseline.median),
      limit_usd: toUsd(limit),
      hours: baseline?.hours ?? 0,
    },
  };
}

/** Describes a run, or a session without one, far above the usual cost of the agent. */
export function costlyRunDetection(
  observation: CallObservation,
  { value, limit, baseline, severity, unit }: Outlier & { severity: Severity; unit: Unit["kind"] },
): Detection {
  return {
    kind: "costly_run",
    severity,
    ...contextOf(observation),
    callId: observation.callId,
    message: `A ${unit} of ${observation.agentId} has cost ${formatCost(value)}${usually(baseline)}`,
    details: {
      unit,
      cost_usd: toUsd(value),
      usual_cost_usd: baseline === undefined ? null : toUsd(baseline.median),
      limit_usd: toUsd(limit),
      compared_with: baseline?.hours ?? 0,
    },
  };
}

/** Describes an hour in which an agent has spent far more than it usually does. */
export function costlyHourDetection(
  { agentId }: Pick<CallObservation, "agentId">,
  hour: number,
  { value, limit, baseline, severity }: Outlier & { severity: Severity },
): Detection {
  return {
    kind: "costly_hour",
    severity,
    agentId,
    sessionId: null,
    runId: null,
    callId: null,
    // Without a baseline, one detection for the day is enough: the agent has begun to spend.
    occasion: baseline === undefined ? `day/${toIso(hour).slice(0, 10)}` : `hour/${toIso(hour)}`,
    message: `${agentId} has spent ${formatCost(value)} since ${toIso(hour).slice(11, 16)} UTC${
      baseline === undefined ? usually(baseline) : `${usually(baseline)} an hour`
    }`,
    details: {
      hour: toIso(hour),
      cost_usd: toUsd(value),
      usual_cost_usd: baseline === undefined ? null : toUsd(baseline.median),
      limit_usd: toUsd(limit),
      hours: baseline?.hours ?? 0,
    },
  };
}

function usually(baseline: BaselineStats | undefined): string {
  return baseline === undefined
    ? ", with too little before to compare it with"
    : `, usually ${formatCost(baseline.median)}`;
}

/** Describes an hour with far more calls than the agent usually makes. */
export function fastCallsDetection(
  { agentId }: Pick<CallObservation, "agentId">,
  hour: number,
  { value, limit, baseline, severity }: Outlier & { severity: Severity },
): Detection {
  const { median = 0n, hours = 0 } = baseline ?? {};
  return {
    kind: "fast_calls",
    severity,
    agentId,
    sessionId: null,
    runId: null,
    callId: null,
    occasion: `hour/${toIso(hour)}`,
    message: `${agentId} made ${formatCount(value)} calls since ${toIso(hour).slice(11, 16)} UTC, usually ` +
      `${formatCount(median)} an hour`,
    details: {
      hour: toIso(hour),
      calls: Number(value),
      usual_calls: Number(median),
      limit_calls: Number(limit),
      hours,
    },
  };
}

function contextOf(
  observation: CallObservation | ToolCallsObservation,
): Pick<Detection, "agentId" | "sessionId" | "runId" | "occasion"> {
  const { agentId, sessionId, runId } = observation;
  return { agentId, sessionId, runId, occasion: unitOf(observation)?.key ?? "" };
}

/** Formats a count: `1,234`. */
export function formatCount(count: number | bigint): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ","); // toLocaleString takes a hundred times as long
}

/** Formats an amount, to the hundredth of a cent, or exactly where it is less: `$1.25`. */
export function formatCost(amount: NanoUsd): string {
  const rounded = divideHalfEven(amount, 100_000n) * 100_000n;
  return `$${formatUsd(rounded === 0n ? amount : rounded)}`;
}

/** Formats a name that a model has made up, on one line of at most 64 characters. */
export function formatName(name: string): string {
  const line = name.toWellFormed().replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ").trim();
  const characters = [...line];
  return characters.length <= 64 ? line : characters.slice(0, 63).join("") + "…";
}
