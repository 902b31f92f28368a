import { Buffer } from "node:buffer";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { ModelMessage, ToolExecutionOptions, ToolSet } from "ai";
import type { AgentDefinition } from "../agents/mod.ts";
import { messageOf, PurserError } from "../kernel/errors.ts";
import { toPlainValue } from "../kernel/json/portable_json.ts";
import { abortableTools } from "./abortable.ts";
import type { RunnerContext } from "./context.ts";
import type { Secrets } from "../redaction/values/mod.ts";
import { MessageRoom, scrubModel, scrubTools } from "./scrub.ts";
import type { RunRecorder } from "./run_recorder.ts";
import { errorTypeOf, type Span } from "../telemetry/mod.ts";
import { readMessages } from "../sessions/mod.ts";
import { fitCallIds } from "./call_ids.ts";
import { toModelMessages } from "./model_messages.ts";

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
  /** The secrets that no answer of the model and no result of a tool may repeat. */
  secrets: Secrets;
  messages: ModelMessage[];
  /** The room for the results of tools. */
  room: MessageRoom;
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
    model: scrubModel(input.model, input.secrets),
    tools: traceTools(
      scrubTools(abortableTools(input.tools, recorder.run), input.secrets, input.room),
      input.traceTool,
    ),
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
      if (step.finishReason !== "error") input.room.use(recorder.addMessages(step.response.messages));
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
    if (part.type === "text-delta") {
      await recorder.flush();
      onText(part.text);
    } else if (part.type === "error") failure ??= { error: part.error };
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

/** Starts the span of one execution. */
export type TraceTool = (toolName: string, toolCallId: string) => Span;

/** Wraps tools so that each execution is a span; returns them as they are without `trace`. */
function traceTools(tools: ToolSet, trace: TraceTool | undefined): ToolSet {
  if (!trace) return tools;
  return Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, traceOne(name, tool, trace)]));
}

function traceOne(name: string, tool: ToolSet[string], trace: TraceTool): ToolSet[string] {
  const execute = tool.execute;
  if (!execute) return tool;
  return {
    ...tool,
    execute(input: unknown, options: ToolExecutionOptions<never>) {
      const span = trace(name, options.toolCallId);
      const fail = (error: unknown): never => {
        span.end(errorTypeOf(error));
        throw error;
      };
      try {
        const output: unknown = span.run(() => execute.call(tool, input as never, options));
        if (output instanceof Promise) {
          return output.then((value) => {
            span.end();
            return value;
          }, fail);
        }
        if (isAsyncIterable(output)) return inSpan(output, span);
        span.end();
        return output;
      } catch (error) {
        fail(error);
      }
    },
  } as ToolSet[string];
}

/** Keeps the span open while the output of a streaming tool is read. */
async function* inSpan(output: AsyncIterable<unknown>, span: Span): AsyncGenerator<unknown> {
  const iterator = output[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { done, value } = await span.run(() => iterator.next());
      if (done) return;
      yield value;
    }
  } catch (error) {
    span.end(errorTypeOf(error));
    throw error;
  } finally {
    await iterator.return?.();
    span.end();
  }
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

/**
 * Reads the messages of a session for the AI SDK, and the room that they leave for others.
 *
 * @throws {PurserError} `too_large` if they have, with the system prompt, more than `maxContextBytes`
 */
export async function readModelMessages(
  ctx: Pick<RunnerContext, "store" | "turns" | "maxContextBytes">,
  sessionId: string,
  { systemPrompt }: Pick<AgentDefinition, "systemPrompt">,
  /** The model that they are for. */
  { provider }: Pick<LanguageModelV4, "provider">,
): Promise<Pick<LoopInput, "messages" | "room">> {
  const maxBytes = ctx.maxContextBytes - Buffer.byteLength(JSON.stringify(systemPrompt));
  const { messages, bytes } = await readMessages(ctx, sessionId, { maxBytes }).catch(
    (error) => {
      // Wrapped, so that it is not reported as an error of the model.
      if (error.cause instanceof PurserError) throw error.cause;
      if (error instanceof PurserError) throw error; // the database is unavailable, or they are too many
      throw new PurserError("internal", `Cannot read the messages of session ${sessionId}`, { cause: error });
    },
  );
  return {
    messages: fitCallIds(toModelMessages(messages), provider),
    room: new MessageRoom(maxBytes - bytes),
  };
}
