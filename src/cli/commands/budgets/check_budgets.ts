import type { BudgetCheck } from "../../../contract/budgets/budget_checks.ts";
import { describeScope } from "../../../contract/budgets/subjects.ts";
import { BILLINGS, CALL_SOURCES } from "../../../contract/values.ts";
import type { Connection } from "../../../client/mod.ts";
import { type Command, type CommandContext, option } from "../../command.ts";
import { EXIT } from "../../exit_code.ts";
import { checkId } from "../../parse/command_id.ts";
import { readFilters } from "../../parse/dimension_options.ts";
import { readTags } from "../../parse/parse_tags.ts";
import {
  describeWindow,
  formatAmount,
  formatBudgetSpent,
  formatState,
  paintState,
  resetsColumn,
} from "../../render/describe_budget.ts";
import { formatTime } from "../../render/format_values.ts";
import { renderTable } from "../../render/render_table.ts";
import { escapeText } from "../../terminal/escape_text.ts";

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
  const { options } = ctx;
  const query = { agent_id: options.read("agent", checkId), session_id: options.read("session", checkId) };
  const checks = await printChecks(ctx, query);
  const isRefused = checks.some(({ state, action }) => state === "reached" && action !== "watch");
  return isRefused ? EXIT.budgetExceeded : EXIT.done;
}

/** `purser budgets explain` */
export const budgetsExplain: Command = {
  name: "budgets explain",
  args: [],
  summary: "List the limits that a call would meet",
  detail:
    "Name the call by what is known of it: limits that need more are left out. The calls of a key bear its tags. It reserves " +
    "nothing.",
  options: {
    key: option("KEY", "API key of the call, by its name or id", { live: "key" }),
    agent: option("NAME", "Agent that makes the call", { live: "agent" }),
    session: option("ID", "Session of the call", { live: "session" }),
    model: option("MODEL", "Model of the call", { live: "model" }),
    provider: option("PROVIDER", "Provider of the call"),
    source: option("SOURCE", "Source of the call", { oneOf: CALL_SOURCES }),
    billing: option("WHO", "Who will pay for the call", { oneOf: BILLINGS }),
    tag: option("KEY=VALUE", "Tag of the call; repeat for more"),
  },
  examples: [
    ["purser budgets explain --agent researcher", ""],
    ["purser budgets explain --model claude-opus-5 --provider anthropic --tag customer=acme", ""],
  ],
  isReadOnly: true,
  run: explainBudgets,
};

async function explainBudgets(ctx: CommandContext): Promise<void> {
  const { options } = ctx;
  const tags = Object.entries(readTags(options) ?? {});
  await printChecks(ctx, {
    ...readFilters(options),
    agent_id: options.read("agent", checkId),
    provider: options.text("provider"),
    source: options.oneOf("source", CALL_SOURCES),
    billing: options.oneOf("billing", BILLINGS),
    tag: tags.length === 0 ? undefined : tags.map(([key, value]) => `${key}:${value}`),
  });
}

type CheckQuery = Parameters<Connection["api"]["budgets"]["check"]["$get"]>[0]["query"];

/** Prints the budgets that a call would meet, and returns them. */
async function printChecks(ctx: CommandContext, query: CheckQuery): Promise<BudgetCheck[]> {
  const { api } = await ctx.connect();
  const text = await (await api.budgets.check.$get({ query })).text();
  const checks: BudgetCheck[] = JSON.parse(text);
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
        cell: ({ left_usd }) => formatAmount(left_usd),
        align: "right",
      },
      { title: "SPENT", cell: formatBudgetSpent, paint: paintState, drop: 1 },
      {
        title: "COUNTS",
        cell: (check) => `${describeWindow(check)} of ${describeScope(check)}`,
        cutTo: 7,
        drop: 2,
      },
      { title: "MODE", cell: ({ mode }) => mode, drop: 4 },
      { title: "STATE", cell: formatState, paint: paintState },
      resetsColumn(checks, 3),
    ], ctx.layout));
    for (const check of checks) if (check.ticket_id !== undefined) ctx.print(describeTicket(check));
  }
  return checks;
}

/** Says which ticket of a reached budget asks for more, or that the next call opens one. */
function describeTicket({ name, ticket_id, ticket_state, asks_again_at }: BudgetCheck): string {
  const budget = escapeText(name ?? "");
  if (ticket_id === null) return `${budget} asks a person: the next call opens a ticket`;
  return ticket_state === "denied"
    ? `${budget}: ticket ${ticket_id} was denied; it asks again from ${formatTime(asks_again_at!)} UTC on`
    : `${budget}: ticket ${ticket_id} is ${ticket_state}; see purser approvals list`;
}
