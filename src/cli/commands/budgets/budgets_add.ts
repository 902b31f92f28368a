import type { Command, CommandContext } from "../../command.ts";
import { UsageError } from "../../parse/usage_error.ts";
import { describeBudget } from "../../render/describe_budget.ts";
import { printAnswer } from "../../render/print_answer.ts";
import { escapeText } from "../../terminal/escape_text.ts";
import { BUDGET_OPTIONS, readBudgetFields } from "./budget_options.ts";

const { "no-allow-unpriced": _undo, enabled: _enabled, disabled, ...options } = BUDGET_OPTIONS;

/** `purser budgets add …` */
export const budgetsAdd: Command = {
  name: "budgets add",
  args: [],
  summary: "Add a budget",
  detail:
    "Every budget that applies to a call must allow it. Days, weeks (from Monday) and months are in UTC; an hour is the " +
    "last 60 minutes. run and session count each one by itself. Without --agent, --session or --key all calls count. " +
    "Spending from before the budget was added counts. In mode strict, the limit is never exceeded.",
  options: { ...options, disabled: disabled! },
  examples: [
    ["purser budgets add --name Day --limit 50 --per day", "All agents together"],
    [
      "purser budgets add --name Research --limit 200 --per month --agent researcher --mode strict",
      "One agent, never over $200",
    ],
    ["purser budgets add --name Chats --limit 1 --per day --each session", "$1 a day for every session"],
    [
      "purser budgets add --name Trial --limit 10 --per day --action watch",
      "Only count what would be refused",
    ],
  ],
  run: addBudget,
};

const REQUIRED = ["name", "limit", "per"] as const;

async function addBudget(ctx: CommandContext): Promise<void> {
  const missing = REQUIRED.filter((name) => !ctx.options.has(name)).map((name) => `--${name}`);
  if (missing.length > 0) {
    throw new UsageError(`Cannot add a budget without ${missing.join(", ")}`, ctx.options.command);
  }
  const { name, limit_usd, per, ...fields } = readBudgetFields(ctx.options, ctx.clock.now());
  const { api } = await ctx.connect();
  await printAnswer(
    ctx,
    await api.budgets.$post({ json: { ...fields, name: name!, limit_usd: limit_usd!, per: per! } }),
    (added) => escapeText(`Added budget ${added.budget_id} ${added.name}: ${describeBudget(added)}`),
  );
}
