import { describeScope } from "../../../contract/budgets/subjects.ts";
import { nameIn } from "../../../contract/costs/dimensions.ts";
import type { OwnView } from "../../../contract/costs/own_view.ts";
import type { CommandContext } from "../../command.ts";
import {
  describeWindow,
  formatAmount,
  formatBudgetSpent,
  formatState,
  paintState,
  resetsColumn,
} from "../../render/describe_budget.ts";
import { formatCost } from "../../render/format_cost.ts";
import { countOf, formatTime } from "../../render/format_values.ts";
import { printAnswer } from "../../render/print_answer.ts";
import { renderFields } from "../../render/render_fields.ts";
import { renderTable } from "../../render/render_table.ts";
import { describeTags } from "./keys.ts";

/** Shows what the key of the request has spent, and what limits it. */
export async function showOwnView(ctx: CommandContext): Promise<void> {
  const { api } = await ctx.connect();
  const minute = (time: string | null) => time === null ? "never" : formatTime(time).slice(0, 16);
  await printAnswer(
    ctx,
    await api.me.$get(),
    ({ key, time_zone, today, month, budgets, sessions, refusals }: OwnView) => {
      const spent = ({ cost_usd, model_calls }: OwnView["today"]) =>
        model_calls === 0 ? "nothing" : `${formatCost(cost_usd)} in ${countOf(model_calls, "call")}`;
      const parts = [
        renderFields({
          "Key": key.name,
          "Id": key.key_id,
          "Scopes": key.scopes.join(", "),
          "Agent": key.agent_id ?? "all",
          "Models": key.models?.join(", ") ?? "all",
          "Tags of its calls": describeTags(key.tags).join(", ") || undefined,
          "Expires": key.expires_at === null ? "never" : `${minute(key.expires_at)} UTC`,
          [`Today (${time_zone})`]: spent(today),
          [`This month (${time_zone})`]: spent(month),
          "Budgets": budgets.length === 0 ? "none applies" : undefined,
        }, ctx.layout),
        ...budgets.length === 0 ? [] : [renderTable(budgets, [
          {
            title: "BUDGET",
            cell: ({ name }) => name ?? "cost_budget_usd",
            paint: (_, style) => style.bold,
            cutTo: 12,
          },
          { title: "LEFT", cell: ({ left_usd }) => formatAmount(left_usd), align: "right" },
          { title: "SPENT", cell: formatBudgetSpent, paint: paintState, drop: 1 },
          {
            title: "COUNTS",
            cell: (check) => `${describeWindow(check)} of ${describeScope(check)}`,
            cutTo: 7,
            drop: 2,
          },
          { title: "STATE", cell: formatState, paint: paintState },
          resetsColumn(budgets, 3),
        ], ctx.layout)],
        ...sessions.length === 0 ? [] : [renderTable(sessions, [
          { title: "SESSION", cell: (row) => nameIn(row, "session") ?? "-", cutTo: 12 },
          { title: "CALLS", cell: ({ model_calls }) => String(model_calls), align: "right" },
          { title: "COST", cell: ({ cost_usd }) => formatCost(cost_usd), align: "right" },
          { title: "LAST CALL (UTC)", cell: ({ last_at }) => minute(last_at ?? null), drop: 1 },
        ], ctx.layout)],
        ...refusals.length === 0 ? [] : [renderTable(refusals, [
          { title: "REFUSED (UTC)", cell: ({ at }) => minute(at) },
          { title: "BUDGET", cell: ({ refused_by }) => refused_by[0]?.name ?? "cost_budget_usd", cutTo: 8 },
          { title: "REASON", cell: ({ reason }) => reason ?? "-" },
          {
            title: "MODEL",
            cell: (row) => row.model === null ? "-" : nameIn(row, "model")!,
            cutTo: 10,
            drop: 1,
          },
        ], ctx.layout)],
      ];
      return parts.join("\n\n");
    },
  );
}
