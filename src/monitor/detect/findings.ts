import { toIso } from "../../kernel/clock.ts";
import { toUsd } from "../../kernel/money.ts";
import type { InputGrowth } from "./detect_growing_input.ts";
import type { UnusualValue } from "./detect_unusual.ts";
import type { Finding } from "./finding.ts";
import type { CallNote, ToolsNote } from "./note.ts";
import { costText, countText, nameText } from "./words.ts";

type Severity = Finding["severity"];

/** The same tool call again and again. What it asked for is not told: it may be anything, a secret too. */
export function repeatedCallFound(
  note: ToolsNote,
  { toolName, times, severity }: { toolName: string; times: number; severity: Severity },
): Finding {
  const tool = nameText(toolName);
  return {
    kind: "repeated_tool_call",
    severity,
    ...placeOf(note),
    callId: null,
    message: `${note.agentId} called ${tool} ${countText(times)} times with the same input in one run`,
    details: { tool_name: tool, times },
  };
}

/** Input that grows step after step. */
export function growingInputFound(
  note: CallNote & { runId: string },
  { first, last, growths, severity }: InputGrowth & { severity: Severity },
): Finding {
  return {
    kind: "growing_input",
    severity,
    ...placeOf(note),
    callId: note.callId,
    message: `The input of ${note.agentId} grew from ${countText(first)} to ${countText(last)} tokens in ` +
      `${countText(growths)} steps of one run`,
    details: {
      provider: note.provider,
      model: note.model,
      first_input_tokens: first,
      last_input_tokens: last,
      steps: growths,
    },
  };
}

/** A call far above the usual cost of its agent and model. */
export function costlyCallFound(
  note: CallNote,
  { value, limit, usual, severity }: UnusualValue & { severity: Severity },
): Finding {
  return {
    kind: "costly_call",
    severity,
    ...placeOf(note),
    callId: note.callId,
    message: `A call of ${note.agentId} to ${nameText(note.model)} cost ${costText(value)}, usually ` +
      costText(usual.median),
    details: {
      provider: note.provider,
      model: note.model,
      cost_usd: toUsd(value),
      usual_cost_usd: toUsd(usual.median),
      limit_usd: toUsd(limit),
      hours: usual.hours,
    },
  };
}

/** More calls within an hour than the agent ever makes. */
export function fastCallsFound(
  note: CallNote,
  hour: number,
  { value, limit, usual, severity }: UnusualValue & { severity: Severity },
): Finding {
  return {
    kind: "fast_calls",
    severity,
    agentId: note.agentId,
    sessionId: null,
    runId: null,
    callId: null,
    occasion: `hour/${toIso(hour)}`,
    message:
      `${note.agentId} made ${countText(value)} calls since ${toIso(hour).slice(11, 16)} UTC, usually ` +
      `${countText(usual.median)} an hour`,
    details: {
      hour: toIso(hour),
      calls: Number(value),
      usual_calls: Number(usual.median),
      limit_calls: Number(limit),
      hours: usual.hours,
    },
  };
}

function placeOf(note: CallNote | ToolsNote): Pick<Finding, "agentId" | "sessionId" | "runId" | "occasion"> {
  const { agentId, sessionId, runId } = note;
  const occasion = runId === null ? `call/${(note as CallNote).callId}` : `run/${runId}`;
  return { agentId, sessionId, runId, occasion };
}
