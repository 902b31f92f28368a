import { type NanoUsd, toUsd } from "../kernel/money.ts";
import { errorTypeOf, type Span, type Telemetry } from "./telemetry.ts";
import { agentAttributes, providerName, type TokenCounts, usageAttributes } from "./gen_ai.ts";

/** The facts of a run for its span. */
export interface RunFacts {
  agentId: string;
  sessionId: string;
  runId: string;
  provider: string;
  model: string;
  budgetNanoUsd: NanoUsd | null;
}

/** The span of a run. */
export interface RunTrace {
  span: Span;
  /** Runs the whole run inside the span, which ends with it. */
  run<T extends { status: string }>(work: () => Promise<T>): Promise<T>;
  /** Adds a call that was booked. */
  add(call: { usage: TokenCounts; costNanoUsd: NanoUsd | null }): void;
}

/** Starts the span of a run: `invoke_agent {agent}`. */
export function traceRun(telemetry: Telemetry, facts: RunFacts): RunTrace {
  const span = telemetry.startSpan({
    name: `invoke_agent ${facts.agentId}`,
    kind: "internal",
    durationMetric: "gen_ai.invoke_agent.duration",
    attributes: telemetry.isOn ? startAttributes(facts) : {},
  });
  const counted = {
    inputTokens: 0,
    outputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
  };
  let costNanoUsd = 0n;
  let steps = 0;
  const end = (status: string, errorType?: string) => {
    if (!telemetry.isOn) return;
    span.set({
      ...usageAttributes(counted),
      "purser.run.status": status,
      "purser.run.steps": steps,
      "purser.cost_usd": toUsd(costNanoUsd),
    });
    span.end(errorType);
  };
  return {
    span,
    async run(work) {
      try {
        const result = await span.run(work);
        end(result.status);
        return result;
      } catch (error) {
        const errorType = errorTypeOf(error);
        end(errorType === "budget_exceeded" ? errorType : "failed", errorType);
        throw error;
      }
    },
    add({ usage, ...call }) {
      steps++;
      costNanoUsd += call.costNanoUsd ?? 0n;
      for (const kind of Object.keys(counted) as (keyof typeof counted)[]) counted[kind] += usage[kind];
    },
  };
}

function startAttributes({ agentId, sessionId, runId, provider, model, budgetNanoUsd }: RunFacts) {
  return {
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.provider.name": providerName(provider),
    "gen_ai.request.model": model,
    ...agentAttributes({ agentId, sessionId, runId }),
    "purser.budget_usd": budgetNanoUsd === null ? undefined : toUsd(budgetNanoUsd),
  };
}

/** The facts of one execution of a tool, for its span. */
export interface ToolFacts {
  agentId: string;
  sessionId: string;
  runId: string;
  toolName: string;
  toolCallId: string;
  parent: Span;
}

/** Starts the span of a tool's execution, `execute_tool {tool}`, which has neither arguments nor results. */
export function traceTool(telemetry: Telemetry, { toolName, toolCallId, parent, ...run }: ToolFacts): Span {
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
      ...agentAttributes(run),
    },
  });
}
