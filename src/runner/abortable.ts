import type { ToolExecutionOptions, ToolSet } from "ai";
import type { RunRef } from "../sessions/mod.ts";

/**
 * Wraps tools so that their calls reject once the run is cancelled: a tool that ignores its `abortSignal` must not keep the
 * session busy. Its later output is discarded. Each gets its `run` among its options, for runs that it makes itself.
 */
export function abortableTools(tools: ToolSet, run: RunRef): ToolSet {
  return Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, abortableTool(tool, run)]));
}

function abortableTool(tool: ToolSet[string], run: RunRef): ToolSet[string] {
  const execute = tool.execute;
  if (!execute) return tool;
  return {
    ...tool,
    execute(input: unknown, options: ToolExecutionOptions<never>) {
      const output: unknown = execute.call(tool, input as never, { ...options, run } as never);
      return output instanceof Promise && options.abortSignal
        ? abortable(output, options.abortSignal)
        : output;
    },
  } as ToolSet[string];
}

/** Settles like the promise, or rejects with the signal's reason as soon as it aborts. */
export async function abortable<T>(output: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([output, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
