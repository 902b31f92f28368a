import { PurserError } from "../../../kernel/errors.ts";
import { arg, type Command, type CommandContext, flag, option } from "../../command.ts";
import { EXIT } from "../../exit_code.ts";
import { fetchStream } from "../../fetch_stream.ts";
import { checkId, idInPath, readId } from "../../parse/command_id.ts";
import { UsageError } from "../../parse/usage_error.ts";
import type { Found } from "../../../redaction/mod.ts";
import { countOf, formatBytes } from "../../render/format_values.ts";
import { escapeJson, escapeText } from "../../terminal/escape_text.ts";

/** The limit of the query: servers accept request heads of 64 KiB. */
const MAX_QUERY = 32_000;

/** `purser state export AGENT --output FILE [--session ID] [--tag k=v]… [--with-events] [--redact]` */
export const stateExport: Command = {
  name: "state export",
  args: [arg("AGENT", { live: "agent" })],
  summary: "Export a session to one portable file",
  detail:
    "Exports the agent's latest session, unless --session names one. The file is written whole or not at all, and " +
    "compressed if its name ends with .gz. It contains the whole conversation, so it is created readable by you only.",
  options: {
    output: option("FILE", "File to write; - for standard output", { isFile: true }),
    session: option("ID", "Session to export", { live: "session" }),
    tag: option("KEY=VALUE", "Metadata of the snapshot; repeat for more"),
    "with-events": flag("Include the session's event log, for replay"),
    redact: flag("Replace what looks like a credential"),
  },
  examples: [
    ["purser state export researcher --output session.json", "The latest session"],
    [
      "purser state export researcher --session ses_42 --with-events --tag ticket=4711 --output s.json.gz",
      "For forensics",
    ],
    [
      "purser state export researcher --output - | purser state import - --db other.db",
      "Into another database",
    ],
  ],
  handlesInterrupt: true,
  isReadOnly: true,
  run: exportSession,
};

async function exportSession(ctx: CommandContext): Promise<number> {
  const { options, terminal: { interrupted } } = ctx;
  const agentId = readId(ctx);
  const output = options.text("output");
  if (!output) {
    throw new UsageError(
      "Cannot export: --output is missing; give a file, or - for standard output",
      options.command,
    );
  }
  const sessionId = options.read("session", checkId);
  const { parseTags } = await import("../../../snapshots/mod.ts");
  const tags = options.read("tag", () => parseTags(options.texts("tag"))) ?? {};
  const query = new URLSearchParams(Object.entries(tags).map(([key, value]) => ["tag", `${key}=${value}`]));
  if (String(query).length > MAX_QUERY) {
    throw new UsageError("Cannot use --tag: the tags together are too long for a URL", options.command);
  }
  if (options.has("with-events")) query.set("with_events", "true");

  const { unlessAborted } = await import("../../terminal/interruptible.ts");
  try {
    const session = await unlessAborted(interrupted, findSession(ctx, agentId, sessionId));
    const path = `/agents/${idInPath(session)}/snapshot${query.size > 0 ? `?${query}` : ""}`;
    const request = new Request(`http://purser.invalid${path}`);
    const response = await unlessAborted(interrupted, fetchStream(await ctx.connect(), request));
    await saveSnapshot(ctx, response, { agentId, session, output });
    return EXIT.done;
  } catch (error) {
    if (interrupted.aborted) return EXIT.interrupted;
    throw error;
  }
}

/** Returns the named session, if it belongs to the agent, or else the agent's latest. */
async function findSession(
  ctx: CommandContext,
  agentId: string,
  sessionId: string | undefined,
): Promise<string> {
  const { api } = await ctx.connect();
  if (sessionId === undefined) {
    const param = { agent_id: idInPath(agentId) };
    const answer = await api.agents[":agent_id"].sessions.$get({
      param,
      query: { limit: "1", stored: "true" },
    });
    const [latest] = await answer.json();
    if (latest) return latest.session_id;
    throw new PurserError("not_found", `Cannot export: agent ${agentId} has no session`);
  }
  const answer = await api.sessions[":session_id"].$get({ param: { session_id: idInPath(sessionId) } });
  const { agent_id: owner } = await answer.json();
  if (owner === agentId) return sessionId;
  throw new PurserError(
    "conflict",
    `Cannot export session ${sessionId}: it belongs to agent ${owner}, not to ${agentId}`,
  );
}

/** Writes the snapshot of a response to a file, or to standard output, as it arrives, and reports the result. */
async function saveSnapshot(
  ctx: CommandContext,
  response: Response,
  { agentId, session, output }: { agentId: string; session: string; output: string },
): Promise<void> {
  const { terminal: { stdout, interrupted } } = ctx;
  const isRedacted = ctx.options.has("redact");
  const messages = Number(response.headers.get("purser-message-count"));
  const { readUnlessAborted } = await import("../../terminal/interruptible.ts");
  const { createProgress } = await import("../../terminal/progress.ts");
  const progress = createProgress(ctx, { label: "Exporting", total: messages, unit: "messages" });
  const { rewriteDocument } = await import("../../../snapshots/document/mod.ts");
  const { writeFile } = await import("../../../snapshots/files/mod.ts");
  const { JsonFault } = await import("../../../kernel/json/split_json.ts");
  const check = await createCredentialCheck(ctx);
  let bytes = 0;
  const document = async function* () {
    const body = readUnlessAborted(interrupted, response.body!);
    const source = isRedacted ? rewriteDocument(body, check.redact) : check.watch(body);
    for await (const chunk of source) {
      bytes += chunk.length;
      progress.reach(check.messages);
      yield chunk;
    }
  };
  try {
    if (output === "-") {
      for await (const text of decode(document())) {
        stdout.write(stdout.isTerminal ? escapeJson(text) : text, "document");
      }
    } else await writeFile(output, document());
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    throw new PurserError(
      "unavailable",
      `Cannot export: the server sent an incomplete snapshot: ${error.message}`,
      { cause: error },
    );
  } finally {
    progress.end();
  }
  reportCredentials(ctx, check.found, isRedacted);
  if (output === "-") return;
  const redacted = isRedacted ? Object.fromEntries(check.found) : null;
  const result = { file: output, agent_id: agentId, session_id: session, messages, bytes, redacted };
  ctx.print(
    ctx.isJson
      ? JSON.stringify(result)
      : `Exported session ${session} of ${agentId} to ${escapeText(output)}: ` +
        `${countOf(messages, "message")}, ${formatBytes(bytes)}`,
  );
}

function reportCredentials(
  ctx: CommandContext,
  found: ReadonlyMap<string, number>,
  isRedacted: boolean,
): void {
  const count = [...found.values()].reduce((sum, times) => sum + times, 0);
  const kinds = [...found].map(([kind, times]) => `${times} ${kind}`).join(", ");
  if (isRedacted) {
    ctx.say(count === 0 ? "No credentials were found" : `Replaced ${countOf(count, "credential")}: ${kinds}`);
  } else if (count > 0) {
    ctx.warn(
      `The snapshot holds what looks like ${countOf(count, "credential")} (${kinds}); --redact replaces them`,
    );
  }
}

async function* decode(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const chunk of chunks) yield decoder.decode(chunk, { stream: true });
  yield "\n";
}

/** Finds credentials in a snapshot while it passes through. */
interface CredentialCheck {
  readonly found: ReadonlyMap<string, number>;
  /** The number of messages so far. */
  readonly messages: number;
  /** Returns a part of the document with its credentials replaced. */
  redact(value: unknown, path: readonly string[]): unknown;
  /** Passes the document through unchanged. Throws if it is incomplete. */
  watch(bytes: AsyncIterable<Uint8Array<ArrayBuffer>>): AsyncGenerator<Uint8Array<ArrayBuffer>>;
}

/** Names, numbers and times. All other fields may hold text of people, models and tools. */
const STRUCTURAL = new Set([
  "schema_version",
  "agent_id",
  "session_id",
  "source_environment",
  "exported_at",
  "event_log_count",
  "integrity",
  "state.status",
  "state.token_usage",
]);

async function createCredentialCheck({ secrets }: Pick<CommandContext, "secrets">): Promise<CredentialCheck> {
  const { decodeDocument, DOCUMENT_LISTS } = await import("../../../snapshots/document/mod.ts");
  const { redactValue } = await import("../../../redaction/mod.ts");
  const { splitJson } = await import("../../../kernel/json/split_json.ts");
  const found: Found = new Map();
  let messages = 0;
  const redact = (value: unknown, path: readonly string[]) => {
    const field = path.join(".");
    if (field === "state.messages") messages++;
    if (STRUCTURAL.has(field)) return value;
    const scrubbed = secrets.scrubValue(value);
    if (scrubbed !== value) found.set("configured_secret", (found.get("configured_secret") ?? 0) + 1);
    return redactValue(scrubbed, found);
  };
  return {
    found,
    get messages() {
      return messages;
    },
    redact,
    async *watch(bytes) {
      // A chunk is passed on when the splitter asks for the next one: then it has read all of it.
      let waiting: Uint8Array<ArrayBuffer>[] = [];
      const taken = async function* () {
        for await (const chunk of bytes) {
          waiting.push(chunk);
          yield chunk;
        }
      };
      const text = decodeDocument(taken(), Number.MAX_SAFE_INTEGER);
      for await (const part of splitJson(text, { arrays: DOCUMENT_LISTS, maxDepth: 1_000 })) {
        if (part.kind !== "open") {
          redact(JSON.parse(part.text), part.path);
        }
        if (waiting.length > 0) {
          yield* waiting;
          waiting = [];
        }
      }
      yield* waiting;
    },
  };
}
