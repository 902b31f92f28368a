import type { ToolExecutionOptions, ToolSet } from "ai";
import { errorTypeOf, type Span } from "../../telemetry/mod.ts";

/** Starts the span of one execution. */
export type TraceTool = (toolName: string, toolCallId: string) => Span;

/** Wraps tools so that each execution is a span; returns them as they are without `trace`. */
export function traceTools(tools: ToolSet, trace: TraceTool | undefined): ToolSet {
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
