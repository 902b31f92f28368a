import { formatCost } from "../../render/format_cost.ts";
import { countOf } from "../../render/format_values.ts";
import { renderCosts, toSpend } from "../../render/render_costs.ts";
import type { CommandContext } from "../../command.ts";
import { createStyle } from "../../terminal/style.ts";
import { escapeText } from "../../terminal/escape_text.ts";
import type { Captured } from "./run_capture.ts";

/** Renders the cost of a command: a table by model, and the total. */
export function renderCapture(
  { terminal: { stderr, hasUnicode } }: Pick<CommandContext, "terminal">,
  { name, total, by_model, budget_usd, budget_reached }: Captured,
): string {
  const style = createStyle(stderr.hasColour);
  if (total.model_calls === 0) {
    return `${
      escapeText(name)
    } made no model call that was seen: see docs/agents.md for the variables that a program has to read`;
  }
  const layout = { columns: stderr.columns, style, hasUnicode };
  const table = renderCosts(by_model, { groupBy: "model", total: toSpend(total).costNanoUsd }, layout);
  const plan = total.plan_usd ? `, beside a plan value of ${formatCost(total.plan_usd)},` : "";
  const budget = budget_usd === null
    ? ""
    : ` of a budget of ${formatCost(budget_usd)}${budget_reached ? ", which was reached" : ""}`;
  const sum = `${escapeText(name)} cost ${formatCost(total.cost_usd)}${plan} in ${
    countOf(total.model_calls, "call")
  }${budget}`;
  return `${table}\n${style.bold(sum)}`;
}
