import { PurserError } from "../../../kernel/errors.ts";
import { arg, type Command, type CommandContext, flag } from "../../command.ts";
import { escapeText } from "../../terminal/escape_text.ts";
import { EXIT } from "../../exit_code.ts";
import { fetchStream } from "../../fetch_stream.ts";
import { countOf } from "../../render/format_values.ts";
import type { Progress } from "../../terminal/progress.ts";

/** The API's `ImportResult`. */
interface Imported {
  agent_id: string;
  session_id: string;
  messages_restored: number;
  dry_run: boolean;
  new_session: boolean;
  messages_before: number;
  events_imported: number;
  fenced_run_id: string | null;
  agent_defined: boolean;
}

/** `purser state import FILE [--dry-run]` */
export const stateImport: Command = {
  name: "state import",
  args: [arg("FILE", { isFile: true })],
  summary: "Restore a session from a snapshot file",
  detail:
    "Checks the whole file first, then replaces the session in one step, or changes nothing. A run in progress " +
    "in that session is cancelled. A session that has more messages than the file is replaced only with --yes, " +
    "or when you confirm it on a terminal. The session's cost in the other environment is shown, but not added " +
    "to the costs here.",
  options: {
    "dry-run": flag("Show what would change, without writing"),
    yes: flag("Also replace a session that has more messages"),
  },
  examples: [
    ["purser state import session.json --dry-run", "Check only"],
    ["purser state import session.json", ""],
  ],
  handlesInterrupt: true,
  run: importSession,
};

async function importSession(ctx: CommandContext): Promise<number> {
  const { sizeOfFile } = await import("../../../snapshots/files/mod.ts");
  const { options, terminal: { interrupted } } = ctx;
  const [path] = ctx.args as [string];
  const size = path === "-" ? undefined : await sizeOfFile(path);
  const isDryRun = options.has("dry-run");
  try {
    let text: string;
    try {
      text = await send(ctx, path, { size, isDryRun, keepLonger: !isDryRun && !options.has("yes") });
    } catch (error) {
      // A file that isn't a regular one can't be read twice.
      if (size === undefined || !isRefusalOfShorter(error)) throw error;
      const { ask } = await import("../../terminal/ask.ts");
      const key = await ask(ctx, `${escapeText(error.message)}\nReplace it? [y/N] `);
      if (key === "ctrl-c") return EXIT.interrupted;
      if (key?.toLowerCase() !== "y") throw error;
      text = await send(ctx, path, { size, isDryRun, keepLonger: false });
    }
    ctx.print(ctx.isJson ? text : describe(JSON.parse(text)));
    return EXIT.done;
  } catch (error) {
    if (interrupted.aborted) return EXIT.interrupted;
    throw error;
  }
}

/** Facts of a restore's request. */
interface RestoreOptions {
  size: number | undefined;
  isDryRun: boolean;
  keepLonger: boolean;
}

/** Sends a file to be restored; returns the response. */
async function send(ctx: CommandContext, path: string, options: RestoreOptions): Promise<string> {
  const { peekGzip, readFile } = await import("../../../snapshots/files/mod.ts");
  const { terminal, terminal: { interrupted } } = ctx;
  const { unlessAborted } = await import("../../terminal/interruptible.ts");
  const { createProgress } = await import("../../terminal/progress.ts");
  const progress = createProgress(ctx, { label: "Reading", total: options.size, unit: "bytes" });
  try {
    const connection = await unlessAborted(interrupted, ctx.connect());
    const source = await unlessAborted(
      interrupted,
      peekGzip(path === "-" ? terminal.stdin() : readFile(path)),
    );
    const body = ReadableStream.from(counted(source.stream, progress, interrupted));
    const request = requestOf(body, { ...options, isGzip: source.isGzip });
    const answer = await unlessAborted(interrupted, fetchStream(connection, request));
    return await answer.text();
  } finally {
    progress.end();
  }
}

/** Returns whether an error is the API's refusal to replace a session by a shorter one. */
function isRefusalOfShorter(error: unknown): error is PurserError {
  return error instanceof PurserError && error.code === "conflict" &&
    typeof error.details?.messages_before === "number";
}

function requestOf(
  body: ReadableStream<Uint8Array>,
  { size, isGzip, isDryRun, keepLonger }: RestoreOptions & { isGzip: boolean },
): Request {
  // Node requires `duplex` for a body that is a stream; TypeScript's web types lack it.
  const init: RequestInit & { duplex: "half" } = {
    duplex: "half",
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(isGzip && { "content-encoding": "gzip" }),
      // Lets the server refuse a body that is too large before it is sent.
      ...(size !== undefined && { "content-length": String(size) }),
    },
    body,
  };
  const query = new URLSearchParams({
    ...(isDryRun && { dry_run: "true" }),
    ...(keepLonger && { keep_longer: "true" }),
  });
  return new Request(`http://purser.invalid/agents/snapshot/restore?${query}`, init);
}

/** Passes a stream through and counts its bytes. Throws when the signal aborts. */
async function* counted(
  stream: AsyncIterable<Uint8Array>,
  progress: Progress,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of stream) {
    signal.throwIfAborted();
    yield chunk;
    progress.reach(bytes += chunk.length);
  }
  progress.label("Restoring");
}

function describe(result: Imported): string {
  const { session_id: session, agent_id: agent, dry_run: isDryRun } = result;
  const would = isDryRun ? "would be" : "was";
  const lines = [
    `${isDryRun ? "Would restore" : "Restored"} session ${session} of ${agent}: ` +
    countOf(result.messages_restored, "message"),
    result.new_session
      ? `The session ${isDryRun ? "does" : "did"} not exist here`
      : `It ${would} replaced: it ${isDryRun ? "has" : "had"} ${countOf(result.messages_before, "message")}`,
  ];
  if (result.fenced_run_id) lines.push(`Run ${result.fenced_run_id}, in progress there, ${would} cancelled`);
  if (result.events_imported > 0) {
    const are = isDryRun ? "would be" : result.events_imported === 1 ? "was" : "were";
    lines.push(`${countOf(result.events_imported, "event")} ${are} kept as imported history`);
  }
  if (result.agent_defined) lines.push(`Agent ${agent} ${would} created from the snapshot`);
  if (isDryRun && result.messages_before > result.messages_restored) {
    lines.push("It would get shorter: an import asks for confirmation, or needs --yes");
  }
  if (isDryRun) lines.push("Nothing was written");
  return lines.map(escapeText).join("\n");
}
