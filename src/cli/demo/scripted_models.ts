import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
} from "@ai-sdk/provider";
import { jsonSchema, type ToolSet } from "ai";
import type { Agent } from "../../contract/agents.ts";
import { COMPANY, type DemoAgent } from "./scene.ts";
import type { CallTokens, Script } from "./script.ts";

/** Waits as long as a provider or a tool takes. */
export type Wait = (delayMs: number, signal?: AbortSignal) => Promise<void>;

/** The models and tools of the demo: they act as the script of a run says. */
export class ScriptedModels {
  #scripts = new Map<string, Script>();
  #results = new Map<string, { result: unknown; toolMs: number }>();

  constructor(private readonly wait: Wait) {}

  /** Makes the model act by this script where a run has its request. Returns the function that removes it. */
  follow(script: Script): () => void {
    this.#scripts.set(script.ask, script);
    return () => void this.#scripts.delete(script.ask);
  }

  /** Returns the models by name. */
  models(): Record<string, LanguageModelV4> {
    return Object.fromEntries(COMPANY.agents.map(({ model }) => [model, this.#model(model)]));
  }

  /** Returns the tools by name. */
  tools(): ToolSet {
    const names = new Set(COMPANY.agents.flatMap(toolsOf).filter((name) => name !== "calculator"));
    return Object.fromEntries([...names].map((name) => [name, {
      description: `The demo's ${name}`,
      inputSchema: jsonSchema<unknown>({ type: "object" }),
      execute: async (
        _: unknown,
        { toolCallId, abortSignal }: { toolCallId: string; abortSignal?: AbortSignal },
      ) => {
        const { result, toolMs } = this.#results.get(toolCallId)!;
        this.#results.delete(toolCallId);
        await this.wait(toolMs, abortSignal);
        return result;
      },
    }]));
  }

  #model(name: string): LanguageModelV4 {
    const [provider, modelId] = name.split(":") as [string, string];
    const doGenerate = async (call: LanguageModelV4CallOptions): Promise<LanguageModelV4GenerateResult> => {
      const { script, step, calls } = this.#find(call);
      const { tokens, use, latencyMs, toolMs } = script.steps[step]!;
      await this.wait(latencyMs, call.abortSignal);
      call.abortSignal?.throwIfAborted();
      if (script.failure !== undefined && use === undefined) throw await refused(script.failure);
      const usage = usageOf(tokens);
      if (use === undefined) {
        return {
          content: [{ type: "text", text: script.answer }],
          finishReason: { unified: "stop", raw: "stop" },
          usage,
          warnings: [],
        };
      }
      const toolCallId = `call_${script.ask.replaceAll(/\D/g, "")}_${calls + 1}`;
      if (use.tool !== "calculator") this.#results.set(toolCallId, { result: use.result, toolMs });
      return {
        content: [{ type: "tool-call", toolCallId, toolName: use.tool, input: JSON.stringify(use.input) }],
        finishReason: { unified: "tool-calls", raw: "tool-calls" },
        usage,
        warnings: [],
      };
    };
    return {
      specificationVersion: "v4",
      provider,
      modelId,
      supportedUrls: {},
      doGenerate,
      doStream: () => Promise.reject(new Error("The models of the demo don't stream")),
    };
  }

  /** Finds the script of a request, and its step: the number of answers since. */
  #find({ prompt }: LanguageModelV4CallOptions): { script: Script; step: number; calls: number } {
    const start = prompt.findLastIndex(({ role }) => role === "user");
    const asked = prompt[start];
    const [part] = asked?.role === "user" ? asked.content : [];
    const script = part?.type === "text" ? this.#scripts.get(part.text) : undefined;
    if (!script) throw new Error("The demo has no script for this request");
    const answers = (from: number) => prompt.slice(from).filter(({ role }) => role === "assistant").length;
    return { script, step: answers(start), calls: answers(0) };
  }
}

/** Returns the names of the tools of an agent. */
export function toolsOf({ tasks }: DemoAgent): Agent["tools"] {
  return [...new Set(tasks.flatMap(({ uses }) => uses.map(({ tool }) => tool)))];
}

function usageOf({ input, output, reasoning, cacheRead, cacheWrite }: CallTokens) {
  return {
    inputTokens: { total: input, noCache: input - cacheRead - cacheWrite, cacheRead, cacheWrite },
    outputTokens: { total: output, text: output - reasoning, reasoning },
  };
}

/** Returns the error of a provider that has refused a call, and charges nothing for it. */
async function refused(message: string): Promise<Error> {
  const { APICallError } = await import("@ai-sdk/provider");
  return new APICallError({
    message,
    url: "https://provider.example",
    requestBodyValues: {},
    statusCode: 400,
    isRetryable: false,
  });
}
