import type { BusEvent } from "../../bus/mod.ts";
import type { ModelCall } from "../../ledger/mod.ts";
import type { NanoUsd } from "../../kernel/money.ts";

/** The facts of a booked call that the monitor uses. */
export interface CallObservation {
  type: "call";
  callId: string;
  /** The time of the call, in milliseconds since the epoch. */
  at: number;
  agentId: string;
  sessionId: string | null;
  runId: string | null;
  step: number | null;
  provider: string;
  model: string;
  inputTokens: number;
  /** Of the input tokens, those read from a cache. */
  cachedTokens: number;
  isEstimated: boolean;
  /** Null where no price is known. */
  costNanoUsd: NanoUsd | null;
}

/** The tool calls of one model response in a run. */
export interface ToolCallsObservation {
  type: "tool_calls";
  at: number;
  agentId: string;
  sessionId: string | null;
  runId: string;
  calls: { toolName: string; input: unknown }[];
}

/** The calls of one task: those of a run, or of a session whose calls name no run, such as the session of a coding tool. */
export interface Unit {
  kind: "run" | "session";
  id: string;
  /** `run/ID` or `session/ID`. */
  key: string;
}

/** Returns the unit of a call; undefined for one outside of runs and sessions. */
export function unitOf(
  { runId, sessionId }: { runId: string | null; sessionId: string | null },
): Unit | undefined {
  if (runId !== null) return { kind: "run", id: runId, key: `run/${runId}` };
  return sessionId === null ? undefined : { kind: "session", id: sessionId, key: `session/${sessionId}` };
}

/** Returns the observation of a booked call. */
export function observeCall(call: ModelCall): CallObservation {
  return {
    type: "call",
    callId: call.callId,
    at: call.at,
    agentId: call.agentId,
    sessionId: call.sessionId,
    runId: call.runId,
    step: call.step,
    provider: call.provider,
    model: call.model,
    inputTokens: call.usage.inputTokens,
    cachedTokens: call.usage.cacheReadTokens,
    isEstimated: call.isEstimated,
    costNanoUsd: call.costNanoUsd,
  };
}

/**
 * Reads the tool calls of the response (`model.called`), not `tool.called`: a call with invalid input, or of an unknown
 * tool, is never executed, and a model may repeat just such a call. Undefined for a response without any.
 */
export function observeTools(event: BusEvent): ToolCallsObservation | undefined {
  const { tool_calls: toolCalls } = event.payload;
  if (event.run_id === null || !Array.isArray(toolCalls) || toolCalls.length === 0) return undefined;
  return {
    type: "tool_calls",
    at: Date.parse(event.at),
    agentId: event.agent_id,
    sessionId: event.session_id,
    runId: event.run_id,
    calls: toolCalls.map(({ tool_name: toolName, input }) => ({ toolName: String(toolName), input })),
  };
}
