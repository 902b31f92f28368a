import type { Connection } from "../../../client/mod.ts";
import type { CostEvent } from "../../../contract/usage.ts";
import { AGENT_STATUSES } from "../../../contract/values.ts";
import { PurserError } from "../../../kernel/errors.ts";
import { arg, type Command, type CommandContext, flag, option } from "../../command.ts";
import { checkScope } from "../../parse/check_scope.ts";
import { checkId, idInPath, readId } from "../../parse/command_id.ts";
import { formatCost, planColumn, planOf } from "../../render/format_cost.ts";
import { countOf, formatCount, formatTags, formatTime, paintStatus } from "../../render/format_values.ts";
import { hasMore, nextCursor } from "../../render/print_answer.ts";
import { renderFields } from "../../render/render_fields.ts";
import { type Column, type Layout, putIdsBelow, renderTable } from "../../render/render_table.ts";
import { escapeText } from "../../terminal/escape_text.ts";
import { createStyle } from "../../terminal/style.ts";
import { textWidth } from "../../terminal/text_width.ts";

const DEFAULT_LIMIT = 20;

/** The width of the narrowest agent, status and cost columns beside an id. */
const ROOM_BESIDE_ID = 34;

/** `purser sessions list [--search TEXT] [--agent NAME] [--status STATUS] [--limit N]` */
export const sessionsList: Command = {
  name: "sessions list",
  args: [],
  summary: "List sessions, latest first",
  options: {
    search: option(
      "TEXT",
      "Only sessions with each word of TEXT in their id, an agent, a model or a tag (key:value) of their calls",
    ),
    agent: option("NAME", "Only sessions of this agent", { live: "agent" }),
    status: option("STATUS", "Only sessions with a status", { oneOf: AGENT_STATUSES }),
    limit: option("N", "Maximum number of sessions, 1 to 1000 (default 20)"),
  },
  examples: [
    ["purser sessions list --agent researcher --limit 5", "The agent's five latest sessions"],
    ["purser sessions list --search customer:acme --status failed", "Which ones of a customer have failed"],
  ],
  isReadOnly: true,
  run: listSessions,
};

async function listSessions(ctx: CommandContext): Promise<void> {
  const limit = ctx.options.wholeNumber("limit", { min: 1, max: 1_000 }) ?? DEFAULT_LIMIT;
  const agent = ctx.options.read("agent", checkId);
  const filters = { search: ctx.options.text("search"), status: ctx.options.oneOf("status", AGENT_STATUSES) };
  const isFiltered = filters.search !== undefined || filters.status !== undefined;
  const { api } = await ctx.connect();
  const read = async (limit: number, cursor?: string) => {
    const query = { ...filters, limit: String(limit), cursor };
    return agent === undefined
      ? await api.sessions.$get({ query })
      : await api.agents[":agent_id"].sessions.$get({ param: { agent_id: idInPath(agent) }, query });
  };
  let answer = await read(limit);
  const found = await answer.json();
  // A page of a search may have fewer sessions than there are.
  while (found.length < limit && hasMore(answer)) {
    answer = await read(limit - found.length, nextCursor(answer));
    found.push(...await answer.json());
  }
  const render = async (sessions: typeof found) => {
    if (sessions.length === 0) {
      await checkScope(ctx, { agent_id: agent });
      if (isFiltered) return "No session matches";
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
      {
        title: "STATUS",
        cell: (session) => session.waiting_for ? "waiting" : session.status,
        paint: paintStatus,
        cutTo: 9,
      },
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
      ...planColumn(sessions, ({ token_usage }) => planOf(token_usage)),
      { title: "UPDATED (UTC)", cell: (session) => formatTime(session.updated_at).slice(0, 16), drop: 0 },
    ], ctx.layout);
    return isBeside
      ? table
      : putIdsBelow(table, sessions.map(({ session_id }) => ctx.style.dim(escapeText(session_id))));
  };
  ctx.print(ctx.isJson ? JSON.stringify(found) : await render(found));
  if (hasMore(answer) && !ctx.isJson) ctx.say(`There are more sessions; --limit shows up to 1000`);
}

/** The number of runs whose status is shown; earlier runs of a long session are shown without. */
const MAX_RUNS = 20;

/** `purser sessions show ID` */
export const sessionsShow: Command = {
  name: "sessions show",
  args: [arg("ID", { live: "session" })],
  summary: "Show a session: its runs, and the cost of each call",
  detail: "purser cost explain CALL_ID shows the price of a call.",
  options: { tree: flag("Show what each sub-agent has cost, below the agent that has started it") },
  examples: [
    ["purser sessions show ses_42", ""],
    ["purser sessions show ses_42 --tree", "With its sub-agents"],
  ],
  isReadOnly: true,
  run: showSession,
};

async function showSession(ctx: CommandContext): Promise<void> {
  const param = { session_id: idInPath(readId(ctx)) };
  if (ctx.options.has("tree")) return await (await import("./session_tree.ts")).printSessionTree(ctx, param);
  const { api } = await ctx.connect();
  const answer = await api.sessions[":session_id"].$get({ param });
  if (ctx.isJson) return ctx.print(await answer.text());
  const session = await answer.json();
  const costsAnswer = await api.sessions[":session_id"].costs.$get({ param, query: {} });
  const { calls } = await costsAnswer.json();

  const runIds = [...new Set(calls.map(({ run_id }) => run_id))];
  if (session.active_run_id !== null && !runIds.includes(session.active_run_id)) {
    runIds.push(session.active_run_id);
  }
  const runs = await Promise.all(
    runIds.slice(-MAX_RUNS).map((runId) => runId === null ? undefined : findRun(api, runId)),
  );

  const { style, layout: { columns } } = ctx;
  const { usageFields } = await import("../../render/render_usage.ts");
  const parts = [renderFields({
    "Session": session.session_id,
    "Agent": session.agent_id,
    "Status": session.waiting_for ? `waiting for ticket ${session.waiting_for}` : session.status,
    "Messages": `${formatCount(session.message_count)}, with ${countOf(session.event_log_count, "event")}`,
    "Tags": formatTags(session.tags) || undefined,
    "Model": session.models && describeModels(session.models),
    ...usageFields(session.token_usage),
    "Restored": session.restored_from && describeOrigin(session.restored_from),
    "Created": `${formatTime(session.created_at)} UTC`,
    "Updated": `${formatTime(session.updated_at)} UTC`,
  }, { style, columns })];
  for (const runId of runIds) {
    const run = runs.find((each) => each?.run_id === runId);
    const title = runId === null ? "Calls outside a run" : `Run ${escapeText(runId)}`;
    const text = escapeText(run?.waiting_for ? `waiting for ticket ${run.waiting_for}` : run?.status ?? "");
    const isNarrow = columns !== undefined && title.length + 2 + text.length > columns;
    const status = run ? `${isNarrow ? "\n" : ""}  ${paintStatus(run, style)?.(text) ?? text}` : "";
    const message = typeof run?.error?.message === "string" ? run.error.message : undefined;
    const rows = calls.filter(({ run_id }) => run_id === runId);
    parts.push([
      style.bold(title) + status,
      ...(message === undefined ? [] : [style.dim(escapeText(message))]),
      ...(rows.length === 0 ? [] : [renderCalls(rows, ctx.layout)]),
    ].join("\n"));
  }
  ctx.print(parts.join("\n\n"));
  if (hasMore(costsAnswer)) ctx.say("Only the first 1000 calls are shown");
}

/** Returns a run; undefined for one that is known from reported calls only. */
async function findRun(api: Connection["api"], runId: string) {
  try {
    return await (await api.runs[":run_id"].$get({ param: { run_id: runId } })).json();
  } catch (error) {
    if (error instanceof PurserError && error.code === "not_found") return undefined;
    throw error;
  }
}

/** Describes the models of a session: its only one, or `3 models: …`. */
function describeModels(models: readonly string[]): string | undefined {
  return models.length > 1 ? `${models.length} models: ${models.join(", ")}` : models[0];
}

/** Renders calls, one a line, each with its id for `cost explain`; without room beside the call, the id is below it. */
function renderCalls(calls: readonly CostEvent[], layout: Layout): string {
  const days = new Set(calls.map(({ at }) => at.slice(0, 10)));
  const isOfRun = calls.some(({ step }) => step !== null);
  const hasTools = calls.some(({ tools }) => tools.length > 0);
  const columns: Column<CostEvent>[] = [
    ...isOfRun
      ? [{
        title: "STEP",
        align: "right" as const,
        cell: ({ step }: CostEvent) => step === null ? "-" : String(step),
      }]
      : [],
    { title: "TIME (UTC)", cell: ({ at }) => formatTime(at).slice(days.size > 1 ? 0 : 11), drop: 2 },
    { title: "AGENT", cell: ({ agent_id }) => agent_id, cutTo: 6, drop: 4 },
    { title: "MODEL", cell: ({ provider, model }) => `${provider}:${model}`, cutTo: 10, drop: 1 },
    ...hasTools
      ? [{ title: "TOOLS", cell: ({ tools }: CostEvent) => tools.join(", ") || "-", cutTo: 5 }]
      : [],
    { title: "INPUT", align: "right", cell: ({ input_tokens }) => formatCount(input_tokens) },
    {
      title: "CACHED",
      align: "right",
      cell: ({ cache_read_tokens }) => formatCount(cache_read_tokens),
      drop: 3,
    },
    { title: "OUTPUT", align: "right", cell: ({ output_tokens }) => formatCount(output_tokens) },
    {
      title: "COST",
      align: "right",
      cell: ({ cost_usd, unpriced_parts }) => formatCost(cost_usd) + (unpriced_parts ? " (partly)" : ""),
    },
    ...planColumn(calls, planOf),
  ];
  const withIds = [...columns, { title: "CALL", cell: ({ call_id }: CostEvent) => call_id }];
  const plain = renderTable(calls, withIds, { columns: undefined, style: createStyle(false) });
  const isBeside = plain.split("\n").every((line) => textWidth(line) <= (layout.columns ?? Infinity));
  if (isBeside) return renderTable(calls, withIds, layout);
  return putIdsBelow(
    renderTable(calls, columns, layout),
    calls.map(({ call_id }) => layout.style.dim(escapeText(call_id))),
  );
}

/** Describes the snapshot that a session was restored from, and the cost there, which is not counted here. */
function describeOrigin(origin: Record<string, unknown>): string {
  const { source_environment, exported_at, restored_at, events_imported, token_usage } = origin as {
    source_environment: string;
    exported_at: string;
    restored_at: string;
    events_imported: number;
    token_usage?: { cost_usd: number | null; total_tokens: number };
  };
  const lines = [
    `${formatTime(restored_at)} UTC, from environment ${source_environment}, exported ${
      formatTime(exported_at)
    } UTC`,
  ];
  if (token_usage) {
    const cost = formatCost(token_usage.cost_usd);
    lines.push(`cost ${cost} there, for ${countOf(token_usage.total_tokens, "token")}; not counted here`);
  }
  if (events_imported > 0) {
    lines.push(`with ${countOf(events_imported, "event")} of history, for purser state replay`);
  }
  return lines.join("\n");
}
