import { listBudgets } from "../../budgets/mod.ts";
import type { Budget } from "../../contract/budgets.ts";
import { formatUsd, type NanoUsd, parseTotalUsd } from "../../kernel/money.ts";
import type { Core } from "../core.ts";
import type { Family, Sample } from "./mod.ts";

/** The number of budgets of which there are metrics: the oldest enabled ones. */
const MEASURED = 100;

const SHARED = `From the database: the same from every instance. The oldest ${MEASURED} enabled budgets.`;
const MEANT = `Of a budget with many counters, the one with the most spending. ${SHARED}`;

/** Reads the budgets of which there are metrics. */
export function readMeasuredBudgets(
  ctx: Pick<Core, "store" | "query" | "clock" | "turns">,
): Promise<Budget[]> {
  return listBudgets(ctx, { isEnabled: true, limit: MEASURED });
}

/** Returns the metric families of budgets: limits, spending, reservations and refusals. */
export function budgetFamilies(budgets: readonly Budget[]): Family[] {
  const gauge = (name: string, help: string, value: (budget: Budget) => NanoUsd): Family => ({
    name,
    type: "gauge",
    help: `${help} ${MEANT}`,
    samples: each(budgets, (budget) => formatUsd(value(budget))),
  });
  return [
    gauge(
      "purser_budget_limit_usd",
      "Limit in USD, with the raises that hold.",
      ({ limit_usd, extra_usd }) => parseTotalUsd(limit_usd) + parseTotalUsd(extra_usd),
    ),
    gauge(
      "purser_budget_spent_usd",
      "USD spent in the present window.",
      ({ spent_usd }) => parseTotalUsd(spent_usd),
    ),
    gauge(
      "purser_budget_reserved_usd",
      "USD held for calls in progress.",
      ({ reserved_usd }) => parseTotalUsd(reserved_usd),
    ),
    {
      name: "purser_budget_refusals_total",
      type: "counter",
      help: `Calls that the budget refused, or with the action watch would have refused. ${SHARED}`,
      samples: each(budgets, ({ refused_calls }) => refused_calls),
    },
  ];
}

function each(budgets: readonly Budget[], value: (budget: Budget) => Sample["value"]): Sample[] {
  return budgets.map((budget) => ({
    labels: { budget_id: budget.budget_id, name: budget.name, per: budget.per },
    value: value(budget),
  }));
}
