import { PurserError } from "../../../kernel/errors.ts";
import { parseTags, rewriteDocument, writeFile } from "../../../snapshots/mod.ts";
import { JsonFault } from "../../../kernel/json/split_json.ts";
import type { CommandContext } from "../../command.ts";
import { checkId, idInPath, readId } from "../../parse/command_id.ts";
import { EXIT } from "../../exit_code.ts";
import { countOf, formatBytes } from "../../render/format_values.ts";
import { createProgress } from "../../terminal/progress.ts";
import { countCredentials, createCredentialCheck } from "../../credential_check.ts";
import { fetchStream } from "../../fetch_stream.ts";
import { escapeJson, escapeText } from "../../terminal/escape_text.ts";
import { readUnlessAborted, unlessAborted } from "../../terminal/interruptible.ts";
import { UsageError } from "../../parse/usage_error.ts";

/** Servers take URLs of 64 KiB with all else that stands in a request's head. */
const MAX_QUERY = 32_000;

/** `purser state export AGENT --output FILE [--session ID] [--tag k=v]… [--with-events] [--redact]` */
export async function stateExport(ctx: CommandContext): Promise<number> {
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
  const tags = options.read("tag", () => parseTags(options.texts("tag"))) ?? {};
  const query = new URLSearchParams(Object.entries(tags).map(([key, value]) => ["tag", `${key}=${value}`]));
  if (String(query).length > MAX_QUERY) {
    throw new UsageError("Cannot use --tag: the tags together are too long for a URL", options.command);
  }
  if (options.has("with-events")) query.set("with_events", "true");

  try {
    const session = await unlessAborted(interrupted, findSession(ctx, agentId, sessionId));
    const path = `/agents/${idInPath(session)}/snapshot${query.size > 0 ? `?${query}` : ""}`;
    const request = new Request(`http://purser.invalid${path}`);
    const response = await unlessAborted(interrupted, fetchStream(await ctx.connect(), request));
    await save(ctx, response, { agentId, session, output });
    return EXIT.done;
  } catch (error) {
    if (interrupted.aborted) return EXIT.interrupted;
    throw error;
  }
}

/** Saves the document as it comes, and tells of it. */
async function save(
  ctx: CommandContext,
  response: Response,
  { agentId, session, output }: { agentId: string; session: string; output: string },
): Promise<void> {
  const { terminal: { stdout, interrupted } } = ctx;
  const isRedacted = ctx.options.has("redact");
  const messages = Number(response.headers.get("purser-message-count"));
  const progress = createProgress(ctx, { label: "Exporting", total: messages, unit: "messages" });
  const check = createCredentialCheck();
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
      for await (const text of decode(document())) stdout.write(stdout.isTerminal ? escapeJson(text) : text);
    } else await writeFile(output, document());
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    throw new PurserError(
      "unavailable",
      `Cannot export: what the server sent is no whole snapshot: ${error.message}`,
      {
        cause: error,
      },
    );
  } finally {
    progress.end();
  }
  tellOfCredentials(ctx, check.found, isRedacted);
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

/** The session that was named, if it is that agent's, or else the agent's latest. */
async function findSession(
  ctx: CommandContext,
  agentId: string,
  sessionId: string | undefined,
): Promise<string> {
  const { api } = await ctx.connect();
  if (sessionId === undefined) {
    const param = { agent_id: idInPath(agentId) };
    const answer = await api.agents[":agent_id"].sessions.$get({ param, query: { limit: "1" } });
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

function tellOfCredentials(
  ctx: CommandContext,
  found: ReadonlyMap<string, number>,
  isRedacted: boolean,
): void {
  const count = countCredentials(found);
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
