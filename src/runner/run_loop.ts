import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { ModelMessage, ToolSet } from "ai";
import type { AgentDefinition } from "../agents/mod.ts";
import { messageOf, PurserError } from "../kernel/errors.ts";
import { toPlainValue } from "../kernel/json/portable_json.ts";
import { abortableTools } from "./abortable.ts";
import type { RunRecorder } from "./run_recorder.ts";
import { type TraceTool, traceTools } from "./tools/trace_tools.ts";

/** The result of the loop of a run. */
export interface LoopOutcome {
  text: string;
  finishReason: string;
}

/** The input of the loop of a run. */
export interface LoopInput {
  agent: AgentDefinition;
  model: LanguageModelV4;
  tools: ToolSet;
  messages: ModelMessage[];
  signal: AbortSignal;
  recorder: RunRecorder;
  /** Starts the span of a tool's execution; without it, tools are not traced. */
  traceTool?: TraceTool;
  /** Receives the text of the answer as it is streamed; without it, calls are not streamed. */
  onText?: (text: string) => void;
}

/** The number of retries of the AI SDK after a transient failure. */
const MAX_RETRIES = 2;

/**
 * OpenAI's responses API would store the answers, and the SDK would send references to them: a session that was restored
 * elsewhere, or that is older than OpenAI's storage, could not continue. The session is sent whole instead.
 */
const WITHOUT_STORE = { openai: { store: false } };

/** Runs the tool loop of the AI SDK: model, tools, model, … until an answer, `max_steps` or the signal. */
export async function runLoop(input: LoopInput): Promise<LoopOutcome> {
  const { generateText, isStepCount, streamText } = await import("ai");
  const { agent, recorder, onText } = input;
  const settings = {
    model: input.model,
    tools: traceTools(abortableTools(input.tools), input.traceTool),
    messages: input.messages,
    ...(agent.systemPrompt && { instructions: agent.systemPrompt }),
    ...(agent.maxOutputTokens !== null && { maxOutputTokens: agent.maxOutputTokens }),
    abortSignal: input.signal,
    maxRetries: MAX_RETRIES,
    ...(input.model.provider.endsWith(".responses") && { providerOptions: WITHOUT_STORE }),
    stopWhen: isStepCount(agent.maxSteps),
    onToolExecutionStart: (
      { toolCall }: { toolCall: { toolCallId: string; toolName: string; input: unknown } },
    ) =>
      recorder.add("tool.called", {
        tool_call_id: toolCall.toolCallId,
        tool_name: toolCall.toolName,
        input: toPlainValue(toolCall.input),
      }),
    onToolExecutionEnd: ({ toolCall, toolOutput, toolExecutionMs }: ToolEnd) => {
      returned.add(toolCall.toolCallId);
      recorder.add("tool.returned", {
        tool_call_id: toolCall.toolCallId,
        tool_name: toolCall.toolName,
        ...(toolOutput.type === "tool-result"
          ? { output: toPlainValue(toolOutput.output) }
          : { error: messageOf(toolOutput.error) }),
        duration_ms: Math.round(toolExecutionMs),
      });
    },
    onStepEnd: (step: StepEnd) => {
      // The SDK itself answers calls of unknown tools and calls with wrong input; these have returned too.
      for (const { type, toolCallId, toolName, error } of step.content) {
        if (type !== "tool-error" || returned.has(toolCallId!)) continue;
        recorder.add("tool.returned", {
          tool_call_id: toolCallId,
          tool_name: toolName,
          error: messageOf(error),
        });
      }
      // The log has the parts of a failed answer; the session must keep messages that a model can continue.
      if (step.finishReason !== "error") recorder.addMessages(step.response.messages);
    },
  };
  const returned = new Set<string>();
  if (!onText) {
    const result = await generateText(settings);
    return outcomeOf(result.text, result.finishReason);
  }
  let failure: { error: unknown } | undefined;
  const result = streamText({ ...settings, onError: ({ error }) => void (failure ??= { error }) });
  for await (const part of result.fullStream) {
    if (part.type === "text-delta") onText(part.text);
    else if (part.type === "error") failure ??= { error: part.error };
  }
  if (failure) throw failure.error;
  input.signal.throwIfAborted();
  return outcomeOf(await result.text, await result.finishReason);
}

/** Throws for an answer that reports a failure of the model. */
function outcomeOf(text: string, finishReason: string): LoopOutcome {
  if (finishReason !== "error") return { text, finishReason };
  throw new PurserError("provider_error", "Cannot get an answer from the model: it ended with an error");
}

interface StepEnd {
  finishReason: string;
  content: readonly { type: string; toolCallId?: string; toolName?: string; error?: unknown }[];
  response: { messages: { role: string; content: unknown }[] };
}

interface ToolEnd {
  toolCall: { toolCallId: string; toolName: string };
  toolExecutionMs: number;
  toolOutput: { type: "tool-result"; output: unknown } | { type: "tool-error"; error: unknown };
}
