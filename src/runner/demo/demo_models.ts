import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4FunctionTool,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from "@ai-sdk/provider";
import {
  countTokens,
  cutToTokens,
  measurePrompt,
  nextToolCallNumber,
  readTurn,
  type Turn,
} from "./demo_prompt.ts";
import { evaluateExpression } from "../tools/calculator.ts";

/**
 * Creates a demo model, or undefined for an unknown name. `echo` repeats the user's text, and uses `calculator` and
 * `current_time` where the text needs them; `loop` calls a tool again and again, or N times if the text says "N times"; `fail`
 * fails every call with an error that is not retried.
 *
 * Tokens are a quarter of the UTF-8 bytes, rounded up, of the texts, tool names and JSON values of the
 * prompt and of the answer. What the previous call had already sent counts as a cache read.
 */
export function createDemoModel(modelId: string): LanguageModelV4 | undefined {
  switch (modelId) {
    case "echo":
      return demoModel(modelId, chooseEchoAnswer);
    case "loop":
      return demoModel(modelId, chooseLoopAnswer);
    case "fail":
      return demoModel(modelId, failCall);
    default:
      return undefined;
  }
}

type Choose = (call: LanguageModelV4CallOptions) => DemoAnswer | Promise<DemoAnswer>;

function demoModel(modelId: string, choose: Choose): LanguageModelV4 {
  const answer = async (call: LanguageModelV4CallOptions) => {
    call.abortSignal?.throwIfAborted();
    return finishAnswer(await choose(call), call);
  };
  return {
    specificationVersion: "v4",
    provider: "demo",
    modelId,
    supportedUrls: {},
    async doGenerate(call) {
      return { ...await answer(call), response: { modelId }, warnings: [] };
    },
    async doStream(call) {
      return { stream: streamParts(toParts(await answer(call), modelId), call.abortSignal) };
    },
  };
}

async function failCall(): Promise<never> {
  const { APICallError } = await import("@ai-sdk/provider");
  throw new APICallError({
    message: "demo:fail fails every call",
    url: "demo:fail",
    requestBodyValues: {},
    statusCode: 400,
    isRetryable: false,
  });
}

interface FinishedAnswer {
  content: LanguageModelV4Content[];
  finishReason: LanguageModelV4FinishReason;
  usage: LanguageModelV4Usage;
}

/** Adds ids and usage to the answer, and cuts it off at `maxOutputTokens` as a provider does. */
function finishAnswer(answer: DemoAnswer, call: LanguageModelV4CallOptions): FinishedAnswer {
  const limit = call.maxOutputTokens ?? Infinity;
  const firstNumber = nextToolCallNumber(call.prompt);
  const toolCalls = answer.toolCalls.map(({ toolName, input }, index) => ({
    type: "tool-call" as const,
    toolCallId: `demo_${firstNumber + index}`,
    toolName,
    input: JSON.stringify(input),
  }));
  const outputText = answer.text + toolCalls.map(({ toolName, input }) => toolName + input).join("");
  const outputTokens = countTokens(outputText);
  const isCut = outputTokens > limit;
  const text = isCut ? cutToTokens(answer.text, limit) : answer.text;
  const content: LanguageModelV4Content[] = text === "" ? [] : [{ type: "text", text }];
  // A tool call that was cut off is not JSON: providers end such an answer without it.
  if (!isCut) content.push(...toolCalls);
  const reason = isCut ? "length" : toolCalls.length > 0 ? "tool-calls" : "stop";
  return {
    content,
    finishReason: { unified: reason, raw: reason },
    usage: toUsage(measurePrompt(call.prompt), Math.min(outputTokens, limit)),
  };
}

function toUsage(prompt: { total: number; cacheRead: number }, output: number): LanguageModelV4Usage {
  return {
    inputTokens: {
      total: prompt.total,
      noCache: prompt.total - prompt.cacheRead,
      cacheRead: prompt.cacheRead,
      cacheWrite: 0,
    },
    outputTokens: { total: output, text: output, reasoning: 0 },
    raw: { input_tokens: prompt.total, cache_read_tokens: prompt.cacheRead, output_tokens: output },
  };
}

function toParts(answer: FinishedAnswer, modelId: string): LanguageModelV4StreamPart[] {
  const parts: LanguageModelV4StreamPart[] = [
    { type: "stream-start", warnings: [] },
    { type: "response-metadata", modelId },
  ];
  for (const content of answer.content) {
    if (content.type === "text") {
      parts.push({ type: "text-start", id: "0" });
      // One delta per word, with the blank before it.
      for (const [delta] of content.text.matchAll(/\s*\S+|\s+$/g)) {
        parts.push({ type: "text-delta", id: "0", delta });
      }
      parts.push({ type: "text-end", id: "0" });
    } else if (content.type === "tool-call") {
      const { toolCallId: id, toolName, input } = content;
      parts.push(
        { type: "tool-input-start", id, toolName },
        { type: "tool-input-delta", id, delta: input },
        { type: "tool-input-end", id },
        content,
      );
    }
  }
  parts.push({ type: "finish", finishReason: answer.finishReason, usage: answer.usage });
  return parts;
}

/** Streams one part per read, so that an abort between two reads ends the stream there. */
function streamParts(
  parts: LanguageModelV4StreamPart[],
  signal: AbortSignal | undefined,
): ReadableStream<LanguageModelV4StreamPart> {
  let next = 0;
  return new ReadableStream({
    pull(controller) {
      if (signal?.aborted) return controller.error(signal.reason);
      const part = parts[next++];
      if (part === undefined) controller.close();
      else controller.enqueue(part);
    },
  }, { highWaterMark: 0 });
}

/** The text and the tool calls of a demo model's answer. */
interface DemoAnswer {
  text: string;
  toolCalls: { toolName: string; input: unknown }[];
}

/** Answers as `demo:echo`: calls the tools that the user's text needs, then repeats the text with their results. */
function chooseEchoAnswer(call: LanguageModelV4CallOptions): DemoAnswer {
  const turn = readTurn(call.prompt);
  if (turn.toolCalls === 0) {
    const toolCalls = chooseEchoTools(turn.userText, usableTools(call).map((tool) => tool.name));
    if (toolCalls.length > 0) return { text: "", toolCalls };
  }
  const said = turn.userText === "" ? "You said nothing." : `You said: ${turn.userText}`;
  return { text: [said, ...turn.results.map(describeResult)].join("\n"), toolCalls: [] };
}

function chooseEchoTools(text: string, names: string[]): DemoAnswer["toolCalls"] {
  const toolCalls: DemoAnswer["toolCalls"] = [];
  const expression = findExpression(text);
  if (expression !== undefined && names.includes("calculator")) {
    toolCalls.push({ toolName: "calculator", input: { expression } });
  }
  if (asksForTime(text) && names.includes("current_time")) {
    const timezone = /\b[A-Z][A-Za-z]+\/[A-Z][A-Za-z_]+\b/.exec(text)?.[0];
    toolCalls.push({ toolName: "current_time", input: timezone === undefined ? {} : { timezone } });
  }
  return toolCalls;
}

function asksForTime(text: string): boolean {
  return /\b(what time|the time|current time|time is it|what day|the date|today's date)\b/i.test(text);
}

/** Finds the longest arithmetic expression in a text; dates and phone numbers are not expressions. */
export function findExpression(text: string): string | undefined {
  const found: string[] = [];
  // Only the start of the text: the search is quadratic at worst.
  for (
    const [run] of text.slice(0, 2_000).matchAll(/(?:sqrt\(|[-(\d.])(?:sqrt\(|[\d\s.+\-*/%^()×÷])*[\d)]/g)
  ) {
    const candidate = balanceParentheses(run.trim());
    if (/\d{4}-\d{1,2}-\d{1,2}|^\+?\d+(-\d+){2,}$/.test(candidate)) continue;
    if (!/\d[\s)]*[-+*/%^×÷][\s(-]*(sqrt|[\d.])|sqrt/.test(candidate)) continue;
    if (isExpression(candidate)) found.push(candidate);
  }
  return found.sort((a, b) => b.length - a.length)[0];
}

/** Removes an unbalanced parenthesis of the surrounding sentence, as in `2+3)` of `(see 2+3)`. */
function balanceParentheses(text: string): string {
  const surplus = text.split("(").length - text.split(")").length;
  if (surplus > 0 && text.startsWith("(")) return balanceParentheses(text.slice(1).trim());
  if (surplus < 0 && text.endsWith(")")) return balanceParentheses(text.slice(0, -1).trim());
  return text;
}

function isExpression(text: string): boolean {
  try {
    evaluateExpression(text);
    return true;
  } catch {
    // 1 / 0 is sent to the tool as well, to show its error.
    return /\/\s*0/.test(text);
  }
}

function describeResult({ toolName, value, isError }: Turn["results"][number]): string {
  const plain = isPlainResult(value) ? Object.values(value)[0] : value;
  const text = typeof plain === "string" ? plain : JSON.stringify(plain);
  // The AI SDK puts the error's class before its message.
  if (isError) return `${toolName} failed: ${text.replace(/^\w*Error: /, "")}`;
  if (toolName === "calculator") return `The calculator says ${text}.`;
  if (toolName === "current_time") return `The time is ${text}.`;
  return `${toolName} says ${text}.`;
}

/** Recognizes the results of the built-in tools, whose first field is the answer. */
function isPlainResult(value: unknown): value is { result: unknown } | { time: unknown } {
  return typeof value === "object" && value !== null && ("result" in value || "time" in value);
}

/** Answers as `demo:loop`: a tool call with a new input each time, and text after as many calls as the user requests. */
function chooseLoopAnswer(call: LanguageModelV4CallOptions): DemoAnswer {
  const { userText, toolCalls } = readTurn(call.prompt);
  const times = readTimes(userText);
  const tools = usableTools(call);
  const tool = tools.find(({ name }) => name === "calculator") ?? tools[0];
  if (tool === undefined) {
    return { text: "demo:loop has no tool to call. Give the agent one.", toolCalls: [] };
  }
  if (times !== undefined && toolCalls >= times) {
    return { text: `Called ${tool.name} ${times} ${times === 1 ? "time" : "times"}.`, toolCalls: [] };
  }
  const step = toolCalls + 1;
  const input = tool.name === "calculator"
    ? { expression: `${step} * ${step}` }
    : sampleInput(tool.inputSchema as InputSchema, step);
  return { text: "", toolCalls: [{ toolName: tool.name, input }] };
}

/** Reads the N of "times: N" or "N times". */
function readTimes(text: string): number | undefined {
  const match = /\btimes:\s*(\d{1,9})\b|\b(\d{1,9}) times\b/i.exec(text);
  return match ? Number(match[1] ?? match[2]) : undefined;
}

function usableTools({ tools = [], toolChoice }: LanguageModelV4CallOptions): LanguageModelV4FunctionTool[] {
  if (toolChoice?.type === "none") return [];
  return tools.filter((tool): tool is LanguageModelV4FunctionTool =>
    tool.type === "function" && (toolChoice?.type !== "tool" || toolChoice.toolName === tool.name)
  );
}

/** The part of JSON Schema that describes the inputs of tools. */
interface InputSchema {
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  default?: unknown;
  anyOf?: InputSchemaOrBoolean[];
  oneOf?: InputSchemaOrBoolean[];
  properties?: Record<string, InputSchemaOrBoolean>;
  required?: string[];
  items?: InputSchemaOrBoolean | InputSchemaOrBoolean[];
  minItems?: number;
  minimum?: number;
  maximum?: number;
}

type InputSchemaOrBoolean = InputSchema | boolean;

/** Creates a small input for a tool's JSON schema, different in each step: required properties only. */
function sampleInput(schema: InputSchemaOrBoolean | undefined, step: number): unknown {
  if (schema === undefined || typeof schema === "boolean") return {};
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[(step - 1) % schema.enum.length];
  if (schema.default !== undefined) return schema.default;
  const alternative = schema.anyOf?.[0] ?? schema.oneOf?.[0];
  if (alternative !== undefined) return sampleInput(alternative, step);
  switch (Array.isArray(schema.type) ? schema.type[0] : schema.type) {
    case "string":
      return `step ${step}`;
    case "number":
    case "integer":
      return sampleNumber(schema, step);
    case "boolean":
      return step % 2 === 1;
    case "null":
      return null;
    case "array":
      return Array.from({ length: schema.minItems ?? 0 }, () => sampleInput(itemOf(schema), step));
    default:
      return Object.fromEntries(
        (schema.required ?? []).map((name) => [name, sampleInput(schema.properties?.[name], step)]),
      );
  }
}

function sampleNumber({ minimum = 1, maximum = Infinity }: InputSchema, step: number): number {
  const range = maximum - minimum + 1;
  return minimum + (Number.isFinite(range) && range >= 1 ? (step - 1) % range : step - 1);
}

function itemOf({ items }: InputSchema): InputSchemaOrBoolean | undefined {
  return Array.isArray(items) ? items[0] : items;
}
