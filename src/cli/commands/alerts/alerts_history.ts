import { MAX_ALERT_HISTORY } from "../../../contract/limits.ts";
import type { CommandContext } from "../../command.ts";
import {
  describeDeliveries,
  failureWarnings,
  measureDeliveries,
  paintDeliveries,
} from "../../render/describe_deliveries.ts";
import { formatSpent, paintSeverity } from "../../render/describe_rule.ts";
import { formatTime } from "../../render/format_values.ts";
import { printAnswer } from "../../render/print_answer.ts";
import { renderTable } from "../../render/render_table.ts";

const DEFAULT_LIMIT = 20;
/** Below this, seconds give way to what became of the alerts. */
const NARROW_COLUMNS = 100;
/** From there on, a rule's long name gives way to it: `10 failed, 10 pending, 10 ok`. */
const ROOM_FOR_CHANNELS = 28;

/** `purser alerts history [--limit N]` */
export async function alertsHistory(ctx: CommandContext): Promise<void> {
  const limit = ctx.options.wholeNumber("limit", { min: 1, max: MAX_ALERT_HISTORY }) ?? DEFAULT_LIMIT;
  const { api } = await ctx.connect();
  const answer = await api.alerts.history.$get({ query: { limit: String(limit) } });
  let warnings: string[] = [];
  await printAnswer(ctx, answer, (alerts) => {
    if (alerts.length === 0) return "No alerts yet";
    warnings = failureWarnings(alerts);
    const { columns } = ctx.terminal.stdout;
    const isNarrow = columns !== undefined && columns < NARROW_COLUMNS;
    const { shortest, longest } = measureDeliveries(alerts);
    return renderTable(alerts, [
      {
        title: "WHEN (UTC)",
        cell: (alert) =>
          formatTime(alert.triggered_at).slice(0, isNarrow ? "2026-11-21 09:30".length : undefined),
      },
      { title: "SEVERITY", cell: (alert) => alert.severity, paint: paintSeverity, drop: 2 },
      // In front, where cutting a long name leaves it.
      { title: "RULE", cell: (alert) => (alert.test ? "[test] " : "") + alert.rule_name, cutTo: 12 },
      {
        title: "SPENT",
        cell: (alert) => formatSpent(alert.test ? null : alert.value_usd, alert.threshold_usd),
        drop: 0,
      },
      { title: "WHERE", cell: placeOf, cutTo: 8, drop: 1 },
      {
        title: "CHANNELS",
        cell: (alert) => describeDeliveries(alert),
        paint: paintDeliveries,
        stretch: {
          min: isNarrow ? Math.min(shortest, "1 failed, 10 ok".length) : Math.min(longest, ROOM_FOR_CHANNELS),
          max: longest,
          draw: describeDeliveries,
        },
      },
    ], { columns, style: ctx.style, hasUnicode: ctx.terminal.hasUnicode });
  });
  for (const warning of warnings) ctx.warn(warning);
}

/** `researcher run_42`: the agent of the call, and the run or session that the rule is about. */
function placeOf(alert: {
  threshold_type: string;
  agent_id: string | null;
  session_id: string | null;
  run_id: string | null;
}): string {
  const place = alert.threshold_type === "per_run_usd"
    ? alert.run_id
    : alert.threshold_type === "per_session_usd"
    ? alert.session_id
    : null;
  return [alert.agent_id, place].filter((part) => part !== null).join(" ") || "-";
}
