import { arg, type Command, type CommandContext, flag } from "../../command.ts";
import { escapeText } from "../../terminal/escape_text.ts";
import { EXIT } from "../../exit_code.ts";
import { fetchStream } from "../../fetch_stream.ts";
import { countOf } from "../../render/format_values.ts";
import { unlessAborted } from "../../terminal/interruptible.ts";
import { createProgress, type Progress } from "../../terminal/progress.ts";

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
    "Checks the whole file first, then replaces the session in one step, or changes nothing. A run in progress in that " +
    "session is cancelled. The session's cost elsewhere is shown, and not added to its cost here.",
  options: { "dry-run": flag("Show what would change, without writing") },
  examples: [
    ["purser state import session.json --dry-run", "Check only"],
    ["purser state import session.json", ""],
  ],
  handlesInterrupt: true,
  run: importSession,
};

async function importSession(ctx: CommandContext): Promise<number> {
  const { peekGzip, readFile, sizeOfFile, streamOf } = await import("../../../snapshots/mod.ts");
  const { terminal, terminal: { interrupted } } = ctx;
  const [path] = ctx.args as [string];
  const size = path === "-" ? undefined : await sizeOfFile(path);
  const progress = createProgress(ctx, { label: "Reading", total: size, unit: "bytes" });
  try {
    const connection = await unlessAborted(interrupted, ctx.connect());
    const source = await unlessAborted(
      interrupted,
      peekGzip(path === "-" ? terminal.stdin() : readFile(path)),
    );
    const request = requestOf(streamOf(counted(source.stream, progress, interrupted)), {
      size,
      isGzip: source.isGzip,
      isDryRun: ctx.options.has("dry-run"),
    });
    const answer = await unlessAborted(interrupted, fetchStream(connection, request));
    const text = await answer.text();
    progress.end();
    ctx.print(ctx.isJson ? text : describe(JSON.parse(text)));
    return EXIT.done;
  } catch (error) {
    progress.end();
    if (interrupted.aborted) return EXIT.interrupted;
    throw error;
  }
}

function requestOf(
  body: ReadableStream<Uint8Array>,
  { size, isGzip, isDryRun }: { size: number | undefined; isGzip: boolean; isDryRun: boolean },
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
  return new Request(`http://purser.invalid/agents/snapshot/restore${isDryRun ? "?dry_run=true" : ""}`, init);
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
  if (isDryRun) lines.push("Nothing was written");
  return lines.map(escapeText).join("\n");
}
