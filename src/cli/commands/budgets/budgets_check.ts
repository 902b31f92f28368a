import type { BudgetCheck } from "../../../contract/budgets.ts";
import { type Command, type CommandContext, option } from "../../command.ts";
import { EXIT } from "../../exit_code.ts";
import { checkId } from "../../parse/command_id.ts";
import { formatAmount, formatBudgetSpent, formatState, paintState } from "../../render/describe_budget.ts";
import { formatTime } from "../../render/format_values.ts";
import { renderTable } from "../../render/render_table.ts";

/** `purser budgets check` */
export const budgetsCheck: Command = {
  name: "budgets check",
  args: [],
  summary: "List the budgets of a call, the tightest first",
  detail:
    "Exits with 5 if one of them is reached and refuses calls. Reserves nothing: another call may take what is left.",
  options: {
    agent: option("NAME", "Agent that makes the call", { live: "agent" }),
    session: option("ID", "Session of the call", { live: "session" }),
  },
  examples: [
    ["purser budgets check --agent researcher", ""],
    ["purser budgets check --agent researcher --session ses_42", "The session's budgets too"],
  ],
  isReadOnly: true,
  run: checkBudgets,
};

async function checkBudgets(ctx: CommandContext): Promise<number> {
  const { options, style, terminal: { stdout: { columns }, hasUnicode } } = ctx;
  const query = { agent_id: options.read("agent", checkId), session_id: options.read("session", checkId) };
  const { api } = await ctx.connect();
  const text = await (await api.budgets.check.$get({ query })).text();
  const checks: BudgetCheck[] = JSON.parse(text);
  const refusing = checks.filter(({ state, action }) => state === "reached" && action === "refuse");
  if (ctx.isJson) ctx.print(text);
  else if (checks.length === 0) ctx.print("No budget applies");
  else {
    ctx.print(renderTable(checks, [
      {
        title: "BUDGET",
        cell: ({ name }) => name ?? "cost_budget_usd",
        paint: (_, style) => style.bold,
        cutTo: 12,
      },
      {
        title: "LEFT",
        cell: ({ left_usd }) => left_usd === undefined ? "hidden" : formatAmount(left_usd),
        align: "right",
      },
      { title: "SPENT", cell: formatBudgetSpent, paint: paintState, drop: 1 },
      {
        title: "COUNTS",
        cell: ({ per, scope }) => `${per} of ${scope === "all" ? "all agents" : scope}`,
        cutTo: 7,
        drop: 2,
      },
      { title: "MODE", cell: ({ mode }) => mode, drop: 4 },
      { title: "STATE", cell: formatState, paint: paintState },
      { title: "RESETS (UTC)", cell: ({ resets_at }) => formatTime(resets_at).slice(0, 16), drop: 3 },
    ], { columns, style, hasUnicode }));
  }
  return refusing.length > 0 ? EXIT.budgetExceeded : EXIT.done;
}
