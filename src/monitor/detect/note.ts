import type { BusEvent } from "../../bus/mod.ts";
import type { CostEvent } from "../../ledger/mod.ts";
import { type NanoUsd, parseTotalUsd } from "../../kernel/money.ts";

/** A booked call, as far as the monitor looks at it. */
export interface CallNote {
  type: "call";
  callId: string;
  /** When it happened, in milliseconds since the epoch. */
  at: number;
  agentId: string;
  sessionId: string | null;
  runId: string | null;
  step: number | null;
  provider: string;
  model: string;
  inputTokens: number;
  isEstimated: boolean;
  /** Null where no price is known. */
  costNanoUsd: NanoUsd | null;
}

/** The tool calls of one answer in a run. */
export interface ToolsNote {
  type: "tools";
  at: number;
  agentId: string;
  sessionId: string | null;
  runId: string;
  calls: { toolName: string; input: unknown }[];
}

/** The events that the monitor looks at. */
export function isNoted({ type }: BusEvent): boolean {
  return type === "cost.recorded" || type === "model.called";
}

/** What an event tells the monitor; undefined where it tells nothing. */
export function readNote(event: BusEvent): CallNote | ToolsNote | undefined {
  return event.type === "cost.recorded" ? readCall(event) : readTools(event);
}

function readCall(event: BusEvent): CallNote {
  const call = event.payload as unknown as CostEvent;
  return {
    type: "call",
    callId: call.call_id,
    at: Date.parse(call.at),
    agentId: event.agent_id,
    sessionId: event.session_id,
    runId: event.run_id,
    step: call.step,
    provider: call.provider,
    model: call.model,
    inputTokens: call.input_tokens,
    isEstimated: call.estimated,
    costNanoUsd: call.cost_usd === null ? null : parseTotalUsd(call.cost_usd),
  };
}

/**
 * The tool calls are those of the answer (`model.called`), not `tool.called`: a call with wrong input, or of a tool
 * that isn't there, is never executed, and a model that repeats just such a call is what has to be noticed.
 */
function readTools(event: BusEvent): ToolsNote | undefined {
  const { tool_calls: toolCalls } = event.payload;
  if (event.run_id === null || !Array.isArray(toolCalls) || toolCalls.length === 0) return undefined;
  return {
    type: "tools",
    at: Date.parse(event.at),
    agentId: event.agent_id,
    sessionId: event.session_id,
    runId: event.run_id,
    calls: toolCalls.map(({ tool_name: toolName, input }) => ({ toolName: String(toolName), input })),
  };
}
