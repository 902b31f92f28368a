import type { Connection } from "../../../client/mod.ts";
import type { StepCost } from "../../../contract/sessions.ts";
import type { CostEvent } from "../../../contract/usage.ts";
import { PurserError } from "../../../kernel/errors.ts";
import { arg, type Command, type CommandContext } from "../../command.ts";
import { idInPath, readId } from "../../parse/command_id.ts";
import { escapeText } from "../../terminal/escape_text.ts";
import { formatCost } from "../../render/format_cost.ts";
import { countOf, formatCount, formatTime, paintStatus } from "../../render/format_values.ts";
import { hasMore } from "../../render/print_answer.ts";
import { renderFields } from "../../render/render_fields.ts";
import { renderTable } from "../../render/render_table.ts";
import { usageFields } from "../../render/render_usage.ts";

/** The number of runs whose status is shown; earlier runs of a long session are shown without. */
const MAX_RUNS = 20;

/** `purser sessions show ID` */
export const sessionsShow: Command = {
  name: "sessions show",
  args: [arg("ID", { live: "session" })],
  summary: "Show a session: its runs, and the cost of each step",
  options: {},
  examples: [["purser sessions show ses_42", ""]],
  isReadOnly: true,
  run: showSession,
};

async function showSession(ctx: CommandContext): Promise<void> {
  const param = { session_id: idInPath(readId(ctx)) };
  const { api } = await ctx.connect();
  const answer = await api.sessions[":session_id"].$get({ param });
  if (ctx.isJson) return ctx.print(await answer.text());
  const session = await answer.json();
  const costsAnswer = await api.sessions[":session_id"].costs.$get({ param, query: {} });
  const { steps, calls } = await costsAnswer.json();

  const runIds = [...new Set(steps.map(({ run_id }) => run_id))];
  if (session.active_run_id !== null && !runIds.includes(session.active_run_id)) {
    runIds.push(session.active_run_id);
  }
  const runs = await Promise.all(
    runIds.slice(-MAX_RUNS).map((runId) => runId === null ? undefined : findRun(api, runId)),
  );

  const tags = Object.entries(session.tags).map(([key, value]) => `${key}=${value}`).join(", ");
  const { style, terminal: { stdout: { columns }, hasUnicode } } = ctx;
  const parts = [renderFields({
    "Session": session.session_id,
    "Agent": session.agent_id,
    "Status": session.status,
    "Messages": `${formatCount(session.message_count)}, with ${countOf(session.event_log_count, "event")}`,
    "Tags": tags || undefined,
    ...usageFields(session.token_usage),
    "Restored": session.restored_from && describeOrigin(session.restored_from),
    "Created": `${formatTime(session.created_at)} UTC`,
    "Updated": `${formatTime(session.updated_at)} UTC`,
  }, { style, columns })];
  for (const runId of runIds) {
    const run = runs.find((each) => each?.run_id === runId);
    const title = runId === null ? "Calls outside a run" : `Run ${escapeText(runId)}`;
    const text = escapeText(run?.status ?? "");
    const isNarrow = columns !== undefined && title.length + 2 + text.length > columns;
    const status = run ? `${isNarrow ? "\n" : ""}  ${paintStatus(run, style)?.(text) ?? text}` : "";
    const message = typeof run?.error?.message === "string" ? run.error.message : undefined;
    const rows = steps.filter(({ run_id }) => run_id === runId);
    parts.push([
      style.bold(title) + status,
      ...(message === undefined ? [] : [style.dim(escapeText(message))]),
      ...(rows.length === 0 ? [] : [renderTable(rows, [
        { title: "STEP", align: "right", cell: ({ step }) => (step === null ? "-" : String(step)) },
        { title: "TOOLS", cell: ({ tools }) => tools.join(", ") || "-", cutTo: 5 },
        { title: "INPUT", align: "right", cell: ({ input_tokens }) => formatCount(input_tokens) },
        { title: "OUTPUT", align: "right", cell: ({ output_tokens }) => formatCount(output_tokens) },
        {
          title: "COST",
          align: "right",
          cell: (step) => formatCost(step.cost_usd) + (step.partly_priced_calls > 0 ? " (partly)" : ""),
        },
        { title: "CALL", drop: 1, cell: (step) => describeCalls(callsOf(step, calls)) },
      ], { columns, style, hasUnicode })]),
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

function callsOf({ run_id, step }: Pick<StepCost, "run_id" | "step">, calls: readonly CostEvent[]): string[] {
  return calls.filter((call) => call.run_id === run_id && call.step === step).map(({ call_id }) => call_id);
}

/** Names the first call, for `cost explain`. */
function describeCalls([first = "-", ...others]: readonly string[]): string {
  return others.length === 0 ? first : `${first} and ${formatCount(others.length)} more`;
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
