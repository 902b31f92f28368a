import type { Connection } from "../../client/mod.ts";
import { PurserError } from "../../kernel/errors.ts";
import type { Anomaly } from "../../monitor/mod.ts";
import { formatTime } from "./format_values.ts";
import type { CostLayout } from "./render_costs.ts";
import { renderTable } from "./render_table.ts";

/** How many the overview of costs shows. */
const SHOWN = "5";

/** The newest anomalies since a time; none where the server is older than they are. */
export async function readNewestAnomalies(
  api: Connection["api"],
  from: string | undefined,
): Promise<Anomaly[]> {
  try {
    return await (await api.anomalies.$get({ query: { from, limit: SHOWN } })).json();
  } catch (error) {
    if (error instanceof PurserError && error.code === "not_found") return [];
    throw error;
  }
}

/** Anomalies, one a line. */
export function renderAnomalies(anomalies: readonly Anomaly[], layout: CostLayout): string {
  return renderTable(anomalies, [
    {
      title: "SEVERITY",
      cell: ({ severity }) => severity,
      paint: ({ severity }, style) => (severity === "critical" ? style.red : style.yellow),
    },
    { title: "WHEN (UTC)", cell: ({ detected_at: at }) => formatTime(at).slice(0, 16), drop: 0 },
    // It may go first: the message names the agent too.
    { title: "AGENT", cell: ({ agent_id: agentId }) => agentId, cutTo: 12, drop: 1 },
    { title: "WHAT", cell: ({ message }) => message, cutTo: 20 },
  ], layout);
}
