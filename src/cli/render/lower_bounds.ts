import type { CommandContext } from "../command.ts";
import { escapeText } from "../terminal/escape_text.ts";
import { wrapText } from "../terminal/wrap_text.ts";
import { countOf } from "./format_values.ts";
import type { CostQuery } from "./render_costs.ts";

/** The most agents that are named below a report, and of which it tells what is missing. */
const MAX_NAMED = 6;
const MAX_TOLD = 2;

/**
 * Returns the lines below a report that has calls of logs or telemetry alone: how many of which agents, and what logs are known to
 * leave out; none for other reports, and from servers of versions without logs.
 */
export async function describeLowerBounds(
  ctx: Pick<CommandContext, "connect" | "style" | "terminal">,
  query: Omit<CostQuery, "group_by">,
  { lower_bound_calls }: { lower_bound_calls?: number },
): Promise<string[]> {
  if (!lower_bound_calls) return [];
  const { api } = await ctx.connect();
  const read = async (group: Pick<CostQuery, "group_by"> & Partial<CostQuery>) =>
    await (await api.costs.$get({ query: { ...group, limit: "1000" } })).json();
  const hasTelemetryIn = (sources: Awaited<ReturnType<typeof read>>) =>
    sources.some(({ source, lower_bound_calls }) => source === "otlp" && lower_bound_calls > 0);
  const rows = await read({ ...query, group_by: "agent" });
  // What an agent's log leaves out, its telemetry may have. All calls are a rollup, those of a span are read one by one.
  const hasTelemetry = hasTelemetryIn(await read({ group_by: "source" })) &&
    hasTelemetryIn(await read({ ...query, group_by: "source" }));
  const { IMPORTERS } = await import("../../ingest/logs/mod.ts");
  const agents = await Promise.all(
    rows.filter((row) => row.lower_bound_calls > 0).map(
      async ({ agent_id: name = "", lower_bound_calls: calls }) => {
        const importer = Object.hasOwn(IMPORTERS, name) ? (await IMPORTERS[name]!()).default : undefined;
        return { calls, title: importer?.title ?? name, holes: importer?.holes ?? [] };
      },
    ),
  );
  const counts = agents.slice(0, MAX_NAMED).map(({ calls, title }) =>
    `${countOf(calls, "call")} of ${title}`
  );
  if (agents.length > MAX_NAMED) counts.push(countOf(agents.length - MAX_NAMED, "more agent"));
  const isLong = agents.length > MAX_TOLD || hasTelemetry;
  const lines = [
    `From logs or telemetry alone, so that the cost is a lower bound: ${counts.join(", ")}` +
    (isLong ? "; purser sources says what they leave out" : ""),
    ...isLong
      ? []
      : agents.filter(({ holes }) => holes.length > 0).map(({ title, holes }) =>
        `${title}: ${holes.join(" ")}`
      ),
  ];
  const { columns = Infinity } = ctx.terminal.stdout;
  return lines.flatMap((line) => wrapText(escapeText(line), columns)).map(ctx.style.dim);
}
