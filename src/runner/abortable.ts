import type { ToolExecutionOptions, ToolSet } from "ai";

/**
 * Tools whose calls are not waited for once the run is cancelled: one that does not heed its `abortSignal`
 * must not keep the session busy. What it does from then on is lost.
 */
export function leaveOnAbort(tools: ToolSet): ToolSet {
  return Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, leaveTool(tool)]));
}

function leaveTool(tool: ToolSet[string]): ToolSet[string] {
  const execute = tool.execute;
  if (!execute) return tool;
  return {
    ...tool,
    execute(input: unknown, options: ToolExecutionOptions<never>) {
      const output: unknown = execute.call(tool, input as never, options);
      return output instanceof Promise && options.abortSignal ? orAbort(output, options.abortSignal) : output;
    },
  } as ToolSet[string];
}

/** The outcome of a promise, or the signal's reason as soon as it aborts. */
export async function orAbort<T>(output: Promise<T>, signal: AbortSignal): Promise<T> {
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
