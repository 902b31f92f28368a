import type { CommandContext } from "../command.ts";
import { escapeLines, escapeText } from "../terminal/escape_text.ts";
import type { FollowedResult, RunListener } from "../follow_run.ts";
import { countOf, formatCost, formatCount } from "./format_values.ts";
import { createStyle } from "../terminal/style.ts";
import { cutText } from "../terminal/text_width.ts";

/** Shows the progress and the result of a run. */
export interface RunPrinter {
  listener: RunListener;
  end(result: FollowedResult): void;
  /** Ends an unfinished line of the answer, before other output. */
  breakLine(): void;
}

/**
 * Creates a printer. A terminal shows the answer while it is generated, and the tool calls; other outputs get the answer
 * only, or the result with `--json`. Tokens and cost go to standard error.
 */
export function createRunPrinter(
  { terminal, isJson, say, warn }: Pick<CommandContext, "terminal" | "isJson" | "say" | "warn">,
): RunPrinter {
  const { stdout, stderr, hasUnicode } = terminal;
  const isLive = stdout.isTerminal && !isJson;
  const style = createStyle(stderr.hasColour);
  let hasShown = false;
  let isLineOpen = false;
  let warning: string | undefined;
  const breakLine = () => {
    if (isLineOpen) stdout.write("\n");
    isLineOpen = false;
  };
  const showText = (text: string) => {
    if (text === "") return;
    stdout.write(escapeLines(text));
    hasShown = true;
    isLineOpen = !text.endsWith("\n");
  };
  const showCalls = (payload: Record<string, unknown>) => {
    breakLine();
    for (const { tool_name, input } of toolCallsOf(payload)) {
      const line = `${hasUnicode ? "→" : ">"} ${tool_name} ${JSON.stringify(input)}`;
      stderr.write(style.dim(cutText(escapeText(line), stderr.columns ?? Infinity)) + "\n");
    }
  };
  return {
    breakLine,
    listener(type, data) {
      const payload = (data.payload ?? {}) as Record<string, unknown>;
      if (type === "run.completed") warning = warningOf(payload);
      if (!isLive) return;
      if (type === "text") showText(String(data.text ?? ""));
      else if (type === "model.called") showCalls(payload);
    },
    end(result) {
      if (isJson) return stdout.write(result.text + "\n");
      breakLine();
      if (!isLive && result.output) stdout.write(result.output.replace(/\n?$/, "\n"));
      else if (isLive && !hasShown && result.output) stdout.write(escapeLines(result.output) + "\n");
      if (result.status !== "completed") {
        warn(`The run was ${result.status}`);
      } else if (warning) warn(warning);
      say(summaryOf(result));
    },
  };
}

function toolCallsOf(payload: Record<string, unknown>): { tool_name: string; input: unknown }[] {
  return Array.isArray(payload.tool_calls) ? payload.tool_calls : [];
}

/** Returns the warning of a completed run whose answer may be incomplete. */
function warningOf({ finish_reason, steps }: Record<string, unknown>): string | undefined {
  switch (finish_reason) {
    case "max_steps":
      return `The agent stopped at its limit of ${
        countOf(Number(steps), "step")
      }; purser agents set --max-steps changes it`;
    case "length":
      return "The answer was cut off at the output limit";
    case "content-filter":
      return "The provider's content filter ended the answer";
    default:
      return undefined;
  }
}

function summaryOf({ steps, token_usage: usage, session_id }: FollowedResult): string {
  const unpriced = usage.unpriced_calls > 0 && usage.cost_usd !== null
    ? ` + ${countOf(usage.unpriced_calls, "call")} without a known price`
    : "";
  return [
    countOf(steps, "step"),
    `${formatCount(usage.input_tokens)} + ${formatCount(usage.output_tokens)} tokens`,
    formatCost(usage.cost_usd) + unpriced,
    session_id,
  ].join(" · ");
}
