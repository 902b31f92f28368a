import type { SourceOfCalls } from "../../../contract/costs/sources.ts";
import { PAGE_SIZES } from "../../../contract/limits.ts";
import { parseTotalUsd } from "../../../kernel/money.ts";
import { type Command, type CommandContext, option } from "../../command.ts";
import { formatAmounts, planColumn, planOf } from "../../render/format_cost.ts";
import { countOf, formatCount, formatTime } from "../../render/format_values.ts";
import { hasMore, printAnswer } from "../../render/print_answer.ts";
import { type Column, renderTable } from "../../render/render_table.ts";
import { escapeText } from "../../terminal/escape_text.ts";
import { wrapText } from "../../terminal/wrap_text.ts";

/** `purser sources` */
export const sources: Command = {
  name: "sources",
  args: [],
  summary: "Show where calls come from, and what is left out",
  detail:
    "The sources are the gateway, runs, meter() and reports, and the logs and exported telemetry of each agent by machine. CALLS are those booked from a source. A call that several have seen is booked once, from the most trusted one: WITH OTHERS " +
    "counts it for each of them. Logs and exports leave out some calls; what is known to be missing is said below the table.",
  options: { limit: option("N", "Maximum number of sources, 1 to 1000 (default 100)") },
  examples: [["purser sources", ""], ["purser sources --json", "With the state of each import"]],
  isReadOnly: true,
  run: showSources,
};

/** `purser plans` */
export const plans: Command = {
  name: "plans",
  args: [],
  summary: "Show the use of each plan, and when it resets",
  detail:
    "The windows of plans, such as subscriptions, as their providers have measured them: in the status line of Claude Code, in the logs of Codex, and in the answers that have passed through the gateway. " +
    "PACE is the share used by the share of the window that was gone: above 1, it runs out before it resets. API VALUE is what the calls in the window would cost by the API, beside the plan's price by import.plans of the config. What isn't known is -.",
  options: { limit: option("N", "Maximum number of windows, 1 to 1000 (default 100)") },
  examples: [["purser plans", ""], ["purser plans --json", "With the state of paid credits"]],
  isReadOnly: true,
  run: async (ctx) => await (await import("../plans/show_plans.ts")).showPlans(ctx),
};

async function showSources(ctx: CommandContext): Promise<void> {
  const limit = ctx.options.wholeNumber("limit", { min: 1, max: PAGE_SIZES.costs.max });
  const { api } = await ctx.connect();
  const answer = await api.sources.$get({
    query: { limit: limit === undefined ? undefined : String(limit) },
  });
  let rows: readonly SourceOfCalls[] = [];
  await printAnswer(ctx, answer, (body) => {
    rows = body;
    return rows.length === 0 ? "No model call has been booked yet" : renderSources(ctx, rows);
  });
  for (const row of rows) if (row.fault !== null) ctx.warn(describeFault(row));
  if (!ctx.isJson && hasMore(answer)) ctx.say("There are more sources; --limit shows up to 1000");
}

function renderSources(
  { layout, style, terminal }: Pick<CommandContext, "layout" | "style" | "terminal">,
  rows: readonly SourceOfCalls[],
): string {
  const amounts = formatAmounts(rows.map(({ cost_usd }) => parseTotalUsd(cost_usd ?? 0)));
  const count = (title: string, of: (row: SourceOfCalls) => number, drop: number): Column<SourceOfCalls>[] =>
    rows.every((row) => of(row) === 0)
      ? []
      : [{ title, align: "right", cell: (row) => formatCount(of(row)), drop }];
  const text = (
    title: string,
    of: (row: SourceOfCalls) => string | null,
    drop: number,
  ): Column<SourceOfCalls>[] =>
    rows.every((row) => of(row) === null)
      ? []
      : [{ title, cell: (row) => of(row) ?? "", cutTo: 8, ...drop > 0 && { drop } }];
  const minute = (time: string | null) => time && formatTime(time).slice(0, 16);
  const table = renderTable(rows, [
    { title: "SOURCE", cell: ({ source }) => source ?? "(no source)" },
    ...text("AGENT", ({ agent_id }) => agent_id, 0),
    ...text("MACHINE", ({ machine }) => machine, 0),
    { title: "CALLS", align: "right", cell: ({ model_calls }) => formatCount(model_calls) },
    {
      title: "COST",
      align: "right",
      cell: (row) => row.cost_usd === null ? "no price" : amounts[rows.indexOf(row)]!,
    },
    ...planColumn(rows, planOf),
    ...count("ALONE", ({ seen_alone }) => seen_alone, 3),
    ...count("WITH OTHERS", ({ seen_with_others }) => seen_with_others, 2),
    ...count("CONFLICTS", ({ conflicts }) => conflicts, 2),
    ...count("AMENDED", ({ amended_calls }) => amended_calls, 4),
    ...text("FIRST CALL", ({ first_at }) => first_at && first_at.slice(0, 10), 5),
    ...text("LAST CALL (UTC)", ({ last_at }) => minute(last_at), 1),
    ...count("FILES", ({ files }) => files, 6).map((column) => ({
      ...column,
      cell: (row: SourceOfCalls) => row.source === "log" ? formatCount(row.files) : "",
    })),
    ...text("LAST IMPORT", ({ imported_at }) => minute(imported_at), 4),
    ...count("UNMETERED", ({ unmetered }) => unmetered, 3),
    ...count("SUMS ALONE", ({ rollups }) => rollups, 3),
    ...count("MALFORMED", ({ malformed }) => malformed, 3),
    ...count("REPEATED", ({ duplicates }) => duplicates, 4),
    {
      title: "STATE",
      cell: ({ state }) => state,
      paint: ({ state }, style) =>
        state === "active"
          ? style.green
          : state === "unreadable"
          ? style.red
          : state === "incomplete"
          ? style.yellow
          : undefined,
    },
  ], layout);
  const { columns = Infinity } = terminal.stdout;
  // Those of a log are the same on each machine.
  const lines = [
    ...new Set(
      rows.flatMap(({ source, agent_id, holes }) =>
        source === "otlp"
          ? holes.map((hole) => `${agent_id}: ${hole}`)
          : holes.length > 0
          ? [`${agent_id}: ${holes.join(" ")}`]
          : []
      ),
    ),
  ];
  if (lines.length > 0) lines.unshift("What is left out, so that these costs are lower bounds:");
  return [table, ...lines.flatMap((line) => wrapText(escapeText(line), columns)).map(style.dim)].join("\n");
}

const describeFault = ({ agent_id, machine, unreadable_files: files, fault }: SourceOfCalls) =>
  `the last import of ${agent_id} on ${machine} could not read ${countOf(files, "file")}, such as ${fault}`;
