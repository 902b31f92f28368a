import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { ModelMessage, ToolSet } from "ai";
import type { AgentDefinition } from "../agents/mod.ts";
import { messageOf } from "../errors.ts";
import { toPlainValue } from "./plain_message.ts";
import type { RunLog } from "./run_log.ts";

/** What the loop of a run gave. */
export interface LoopOutcome {
  text: string;
  finishReason: string;
}

/** Everything one loop needs. */
export interface LoopInput {
  agent: AgentDefinition;
  model: LanguageModelV4;
  tools: ToolSet;
  messages: ModelMessage[];
  signal: AbortSignal;
  log: RunLog;
  /** Where the answer's text goes as it comes; without it, calls are not streamed. */
  onText?: (text: string) => void;
}

/** How often the AI SDK repeats a call that failed in a passing way. */
const MAX_RETRIES = 2;

/** The AI SDK's tool loop: model, tools, model, … until an answer, `max_steps` or the signal. */
export async function runLoop(input: LoopInput): Promise<LoopOutcome> {
  const { generateText, isStepCount, streamText } = await import("ai");
  const { agent, log, onText } = input;
  const settings = {
    model: input.model,
    tools: input.tools,
    messages: input.messages,
    ...(agent.systemPrompt && { instructions: agent.systemPrompt }),
    ...(agent.maxOutputTokens !== null && { maxOutputTokens: agent.maxOutputTokens }),
    abortSignal: input.signal,
    maxRetries: MAX_RETRIES,
    stopWhen: isStepCount(agent.maxSteps),
    onToolExecutionStart: (
      { toolCall }: { toolCall: { toolCallId: string; toolName: string; input: unknown } },
    ) =>
      log.add("tool.called", {
        tool_call_id: toolCall.toolCallId,
        tool_name: toolCall.toolName,
        input: toPlainValue(toolCall.input),
      }),
    onToolExecutionEnd: ({ toolCall, toolOutput, toolExecutionMs }: ToolEnd) =>
      log.add("tool.returned", {
        tool_call_id: toolCall.toolCallId,
        tool_name: toolCall.toolName,
        ...(toolOutput.type === "tool-result"
          ? { output: toPlainValue(toolOutput.output) }
          : { error: messageOf(toolOutput.error) }),
        duration_ms: Math.round(toolExecutionMs),
      }),
    onStepEnd: (step: { response: { messages: { role: string; content: unknown }[] } }) =>
      log.addMessages(step.response.messages),
  };
  if (!onText) {
    const result = await generateText(settings);
    return { text: result.text, finishReason: result.finishReason };
  }
  let failure: { error: unknown } | undefined;
  const result = streamText({ ...settings, onError: ({ error }) => void (failure ??= { error }) });
  for await (const part of result.fullStream) {
    if (part.type === "text-delta") onText(part.text);
    else if (part.type === "error") failure ??= { error: part.error };
  }
  if (failure) throw failure.error;
  input.signal.throwIfAborted();
  return { text: await result.text, finishReason: await result.finishReason };
}

interface ToolEnd {
  toolCall: { toolCallId: string; toolName: string };
  toolExecutionMs: number;
  toolOutput: { type: "tool-result"; output: unknown } | { type: "tool-error"; error: unknown };
}
