import { agentAttributes } from "./gen_ai.ts";
import type { Span, Telemetry } from "./telemetry.ts";

/** One execution of a tool, as it is told. */
export interface ToolFacts {
  agentId: string;
  sessionId: string;
  runId: string;
  toolName: string;
  toolCallId: string;
  parent: Span;
}

/** Starts the span of a tool's execution: `execute_tool {tool}`. Neither arguments nor results are told. */
export function traceTool(telemetry: Telemetry, { toolName, toolCallId, parent, ...place }: ToolFacts): Span {
  return telemetry.startSpan({
    name: `execute_tool ${toolName}`,
    kind: "internal",
    durationMetric: "gen_ai.execute_tool.duration",
    parent,
    attributes: {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": toolName,
      "gen_ai.tool.type": "function",
      "gen_ai.tool.call.id": toolCallId,
      ...agentAttributes(place),
    },
  });
}
