import { PurserError } from "../../../kernel/errors.ts";
import { arg, type Command, type CommandContext, flag, option } from "../../command.ts";
import { EXIT } from "../../exit_code.ts";
import { fetchStream } from "../../fetch_stream.ts";
import { checkId, idInPath, readId } from "../../parse/command_id.ts";
import { UsageError } from "../../parse/usage_error.ts";
import { unlessAborted } from "../../terminal/interruptible.ts";

/** The limit of the query: servers accept request heads of 64 KiB. */
const MAX_QUERY = 32_000;

/** `purser state export AGENT --output FILE [--session ID] [--tag k=v]… [--with-events] [--redact]` */
export const stateExport: Command = {
  name: "state export",
  args: [arg("AGENT", { live: "agent" })],
  summary: "Export a session to one portable file",
  detail:
    "Exports the agent's latest session, unless --session names one. The file is written whole or not at all, and " +
    "compressed if its name ends with .gz. It holds the whole conversation, so only you may read it.",
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

  try {
    const session = await unlessAborted(interrupted, findSession(ctx, agentId, sessionId));
    const path = `/agents/${idInPath(session)}/snapshot${query.size > 0 ? `?${query}` : ""}`;
    const request = new Request(`http://purser.invalid${path}`);
    const response = await unlessAborted(interrupted, fetchStream(await ctx.connect(), request));
    const { saveSnapshot } = await import("./save_snapshot.ts");
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
