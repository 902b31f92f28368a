import { type Command, type CommandContext, option } from "../../command.ts";
import { checkId, idInPath } from "../../parse/command_id.ts";
import { formatCost } from "../../render/format_cost.ts";
import { formatCount, formatTime, paintStatus } from "../../render/format_values.ts";
import { escapeText } from "../../terminal/escape_text.ts";
import { hasMore, printAnswer } from "../../render/print_answer.ts";
import { putIdsBelow } from "../../render/render_table.ts";
import { renderTable } from "../../render/render_table.ts";

const DEFAULT_LIMIT = 20;

/** The width of the narrowest agent, status and cost columns beside an id. */
const ROOM_BESIDE_ID = 34;

/** `purser sessions list [--agent NAME] [--limit N]` */
export const sessionsList: Command = {
  name: "sessions list",
  args: [],
  summary: "List sessions, latest first",
  options: {
    agent: option("NAME", "Only sessions of this agent", { live: "agent" }),
    limit: option("N", "Maximum number of sessions, 1 to 1000 (default 20)"),
  },
  examples: [["purser sessions list --agent researcher --limit 5", "The agent's five latest sessions"]],
  isReadOnly: true,
  run: listSessions,
};

async function listSessions(ctx: CommandContext): Promise<void> {
  const limit = ctx.options.wholeNumber("limit", { min: 1, max: 1_000 }) ?? DEFAULT_LIMIT;
  const agent = ctx.options.read("agent", checkId);
  const { api } = await ctx.connect();
  const query = { limit: String(limit) };
  const answer = agent === undefined
    ? await api.sessions.$get({ query })
    : await api.agents[":agent_id"].sessions.$get({ param: { agent_id: idInPath(agent) }, query });
  await printAnswer(ctx, answer, (sessions) => {
    if (sessions.length === 0) {
      return agent === undefined ? "No sessions yet" : `No sessions of agent ${agent}`;
    }
    const { columns } = ctx.terminal.stdout;
    const widestId = Math.max(...sessions.map(({ session_id }) => session_id.length));
    // Other commands need the whole id, so it is never cut.
    const isBeside = columns === undefined || widestId + ROOM_BESIDE_ID <= columns;
    const table = renderTable(sessions, [
      ...isBeside
        ? [{ title: "SESSION", cell: (session: typeof sessions[number]) => session.session_id }]
        : [],
      { title: "AGENT", cell: (session) => session.agent_id, cutTo: 6 },
      { title: "STATUS", cell: (session) => session.status, paint: paintStatus, cutTo: 9 },
      { title: "MESSAGES", align: "right", cell: (session) => formatCount(session.message_count), drop: 4 },
      {
        title: "CALLS",
        align: "right",
        cell: (session) => formatCount(session.token_usage.model_calls),
        drop: 2,
      },
      {
        title: "TOKENS",
        align: "right",
        cell: (session) => formatCount(session.token_usage.total_tokens),
        drop: 3,
      },
      { title: "COST", align: "right", cell: (session) => formatCost(session.token_usage.cost_usd) },
      { title: "UPDATED (UTC)", cell: (session) => formatTime(session.updated_at).slice(0, 16), drop: 0 },
    ], { columns, style: ctx.style, hasUnicode: ctx.terminal.hasUnicode });
    return isBeside
      ? table
      : putIdsBelow(table, sessions.map(({ session_id }) => ctx.style.dim(escapeText(session_id))));
  });
  if (hasMore(answer) && !ctx.isJson) ctx.say(`There are more sessions; --limit shows up to 1000`);
}
