import type { Connection } from "../../client/mod.ts";
import { messageOf, PurserError } from "../../kernel/errors.ts";
import { arg, type Command, type CommandContext, option } from "../command.ts";
import { checkId, idInPath, readId } from "../parse/command_id.ts";
import { readTags } from "../parse/parse_tags.ts";
import { EXIT } from "../exit_code.ts";
import { UsageError } from "../parse/usage_error.ts";
import { escapeLines, escapeText } from "../terminal/escape_text.ts";
import { formatCost, nameUncounted } from "../render/format_cost.ts";
import { countOf, formatCount } from "../render/format_values.ts";
import { createStyle } from "../terminal/style.ts";
import { cutText } from "../terminal/text_width.ts";
import { fetchStream } from "../fetch_stream.ts";
import { AGENTS } from "./agents/agents.ts";
import { nameNearest } from "./authored_commands.ts";

/** `purser run AGENT INPUT`. Every run is followed as a stream: its id, needed to cancel it, is in the first event. */
export const run: Command = {
  name: "run",
  args: [arg("AGENT", { live: "agent" }), arg("INPUT")],
  summary: "Run an agent on an input",
  detail:
    "Prints the answer; on a terminal, as it is generated. Tokens and cost go to standard error. With -, the " +
    "input is read from standard input. Ctrl-C cancels the run; the cost of its calls stays booked.",
  options: {
    session: option("ID", "Session to continue, or the id of a new one", { live: "session" }),
    tag: option("KEY=VALUE", "Tag of the run's calls, for purser cost --by tag:KEY; repeat for more", {
      live: "tag",
    }),
  },
  examples: [
    ['purser run researcher "What is 17 * 23?"', "In a new session"],
    ['purser run researcher "And squared?" --session ses_42', "Continue a session"],
    ['purser run researcher "Sum it up" --tag customer=acme', "Attribute its cost"],
    ["git diff | purser run reviewer - > review.md", "Input from another program"],
  ],
  handlesInterrupt: true,
  run: runAgent,
};

async function runAgent(ctx: CommandContext): Promise<number> {
  const { interrupted } = ctx.terminal;
  const agentId = readId(ctx);
  const sessionId = ctx.options.read("session", checkId);
  const tags = readTags(ctx.options);
  const aborted = Promise.withResolvers<undefined>();
  const onAbort = () => aborted.resolve(undefined);
  interrupted.addEventListener("abort", onAbort, { once: true });
  if (interrupted.aborted) onAbort();

  const input = await Promise.race([readInput(ctx), aborted.promise]);
  if (input === undefined) return EXIT.interrupted;
  const connection = await Promise.race([ctx.connect(), aborted.promise]);
  if (connection === undefined) return EXIT.interrupted;

  const printer = createRunPrinter(ctx);
  const started = Promise.withResolvers<string>();
  const following = followRun(connection, { agentId, input, sessionId, tags }, (type, data) => {
    if (type === "run.started") started.resolve(data.run_id as string);
    printer.listener(type, data);
  });
  const cancelFailed = aborted.promise.then(async () => {
    printer.breakLine();
    ctx.say("Cancelling the run; Ctrl-C again exits at once");
    const cancelled = started.promise.then((runId) => cancelRun(connection, runId));
    await (connection.kind === "local" ? cancelled : withTimeout(ctx, cancelled));
    return await new Promise<never>(() => {});
  });
  try {
    const result = await Promise.race([following, cancelFailed]);
    printer.end(result);
    if (interrupted.aborted) return EXIT.interrupted;
    return result.status === "completed" ? EXIT.done : EXIT.failed;
  } catch (error) {
    printer.breakLine();
    if (!interrupted.aborted) throw await nameNearest(ctx, AGENTS, error);
    ctx.say(messageOf(error));
    return EXIT.interrupted;
  }
}

async function readInput({ args, terminal, options }: CommandContext): Promise<string> {
  const given = args[1]!;
  if (given !== "-") return given;
  // Like $(…) in a shell: the final line end is not part of the text.
  const input = (await terminal.readStdin()).replace(/\r?\n$/, "");
  if (input === "") throw new UsageError("Cannot run the agent: standard input is empty", options.command);
  return input;
}

/** Limits the wait for a server that hangs: a supervisor interrupts once only. */
async function withTimeout({ clock, config }: CommandContext, cancelled: Promise<void>): Promise<void> {
  const done = new AbortController();
  const timeout = clock.sleep(config.remoteTimeoutMs, done.signal).then(() => {
    if (done.signal.aborted) return;
    const seconds = config.remoteTimeoutMs / 1000;
    throw new PurserError(
      "unavailable",
      `Cannot cancel the run: the server has not answered for ${seconds} s; the run may continue`,
    );
  });
  try {
    await Promise.race([cancelled, timeout]);
  } finally {
    done.abort();
  }
}

/** Cancels the run, unless it has ended in the meantime. */
async function cancelRun({ api }: Connection, runId: string): Promise<void> {
  try {
    await api.runs[":run_id"].cancel.$post({ param: { run_id: runId } });
  } catch (error) {
    if (error instanceof PurserError && error.code === "conflict") return;
    throw new PurserError("unavailable", `Cannot cancel the run: ${messageOf(error)}`, { cause: error });
  }
}

/** Shows the progress and the result of a run. */
interface RunPrinter {
  listener: RunListener;
  end(result: FollowedResult): void;
  /** Ends an unfinished line of the answer, before other output. */
  breakLine(): void;
}

/**
 * Creates a printer. A terminal shows the answer while it is generated, and the tool calls; other outputs get the answer
 * only, or the result with `--json`. Tokens and cost go to standard error.
 */
function createRunPrinter(
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
  const uncounted = usage.cost_usd === null
    ? ""
    : nameUncounted({ unpriced: usage.unpriced_calls, partlyPriced: usage.partly_priced_calls });
  return [
    countOf(steps, "step"),
    `${formatCount(usage.input_tokens)} + ${formatCount(usage.output_tokens)} tokens`,
    formatCost(usage.cost_usd) + (uncounted && ` + ${uncounted}`),
    session_id,
  ].join(" · ");
}

export interface RunRequest {
  agentId: string;
  input: string;
  /** Without it, the server names a new session. */
  sessionId?: string;
  tags?: Record<string, string> | undefined;
}

/** The result of a run: the fields that commands use, and the API's JSON as `text`. */
export interface FollowedResult {
  status: string;
  output: string | null;
  steps: number;
  session_id: string;
  token_usage: {
    input_tokens: number;
    output_tokens: number;
    cost_usd: number | null;
    unpriced_calls: number;
    partly_priced_calls: number;
  };
  text: string;
}

/** Receives an event of a run: its type, and its data as the API sent them. */
export type RunListener = (type: string, data: Record<string, unknown>) => void;

/** Starts a run, passes each of its events to `listener`, and returns its result. Throws the problem that ended it. */
export async function followRun(
  connection: Connection,
  run: RunRequest,
  listener: RunListener,
): Promise<FollowedResult> {
  const response = await fetchStream(
    connection,
    new Request(`http://purser.invalid/agents/${idInPath(run.agentId)}/runs`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "text/event-stream" },
      body: JSON.stringify({ input: run.input, session_id: run.sessionId, tags: run.tags }),
    }),
  );
  let { sessionId } = run;
  if (!response.body) throw lost(sessionId);
  const { EventSourceParserStream } = await import("eventsource-parser/stream");
  const events = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(
    new EventSourceParserStream(),
  );
  for await (const { event = "message", data } of events) {
    const body = JSON.parse(data);
    if (event === "result") return { ...body, text: data };
    if (event === "error") {
      const { problemError } = await import("../../client/mod.ts");
      throw problemError(body) ?? lost(sessionId);
    }
    sessionId ??= body.session_id;
    listener(event, body);
  }
  throw lost(sessionId);
}

function lost(sessionId: string | undefined): PurserError {
  const error = new PurserError(
    "unavailable",
    "Cannot follow the run: the response broke off; the run may still be in progress",
  );
  return sessionId === undefined ? error : error.with({ session_id: sessionId });
}
