import { parseTotalUsd } from "../../../kernel/money.ts";
import { type Command, type CommandContext, option } from "../../command.ts";
import { idInPath } from "../../parse/command_id.ts";
import { parseAmount } from "../../parse/parse_amount.ts";
import { parseExpiry } from "../../parse/parse_time.ts";
import { UsageError } from "../../parse/usage_error.ts";
import { formatAmount } from "../../render/describe_budget.ts";
import { formatThreshold } from "../../render/format_spent.ts";
import { formatTime } from "../../render/format_values.ts";
import { escapeText } from "../../terminal/escape_text.ts";
import { BUDGET_ARG, findBudgetId } from "./find_budget.ts";

/** `purser budgets raise BUDGET --usd USD` */
export const budgetsRaise: Command = {
  name: "budgets raise",
  args: [BUDGET_ARG],
  summary: "Raise the limit of a budget for a while",
  detail:
    "Without --for, the raise ends with the present hour, day, week or month; of a budget per run, session or lifetime it " +
    "has no end. Raises add up, and are kept with the API key that made them.",
  options: {
    usd: option("USD", "Amount to add to the limit"),
    for: option("WHEN", "End: a duration from now (12h, 2d), a date, or an ISO time"),
    reason: option("TEXT", "Reason, for those that read it later"),
  },
  examples: [
    ["purser budgets raise Day --usd 20", "For the rest of the day"],
    ['purser budgets raise Day --usd 20 --for 24h --reason "release"', ""],
  ],
  needsDatabase: true,
  run: raiseBudget,
};

async function raiseBudget(ctx: CommandContext): Promise<void> {
  const { options, clock } = ctx;
  if (!options.has("usd")) {
    throw new UsageError("Cannot raise a budget without --usd, the amount to add", options.command);
  }
  const json = {
    extra_usd: options.read("usd", readRaise)!,
    until: options.read("for", (text) => parseExpiry(text, clock.now())),
    reason: options.text("reason"),
  };
  const budgetId = await findBudgetId(ctx);
  const { api } = await ctx.connect();
  const param = { budget_id: idInPath(budgetId) };
  const answer = await api.budgets[":budget_id"].raises.$post({ param, json });
  if (ctx.isJson) return ctx.print(await answer.text());
  const { extra_usd, until } = await answer.json();
  const budget = await (await api.budgets[":budget_id"].$get({ param })).json();
  const limit = parseTotalUsd(budget.limit_usd) + parseTotalUsd(budget.extra_usd);
  const end = until === null ? "without an end" : `until ${formatTime(until)} UTC`;
  ctx.print(escapeText(
    `Raised budget ${budget.name} by ${formatAmount(extra_usd)} ${end}: its limit is ${
      formatThreshold(limit)
    } now, of which ${formatAmount(budget.left_usd)} is left`,
  ));
}

function readRaise(text: string): number {
  const amount = parseAmount(text);
  if (amount === 0) throw new Error(`${text} is not greater than 0`);
  return amount;
}
