import type { BudgetCheck } from "../../../contract/budgets/budget_checks.ts";
import { type NameFields, nameOfValue } from "../../../contract/costs/dimensions.ts";
import { describeScope } from "../../../contract/budgets/subjects.ts";
import { formatUsd, type NanoUsd, parseTotalUsd } from "../../../kernel/money.ts";
import type { CommandContext } from "../../command.ts";
import { formatAmounts } from "../../render/format_cost.ts";
import { describeWindow, formatBudgetSpent, formatReset } from "../../render/describe_budget.ts";
import { quoteForShell } from "../../../kernel/quote_for_shell.ts";
import { ledgerOptions } from "../ledger_options.ts";

type Reached = Pick<
  BudgetCheck,
  | keyof NameFields
  | "budget_id"
  | "name"
  | "per"
  | "scope"
  | "counter"
  | "limit_usd"
  | "extra_usd"
  | "spent_usd"
  | "reserved_usd"
  | "resets_at"
  | "time_zone"
  | "ticket_id"
  | "ticket_state"
>;

/** Tells the user which budgets stop the agent, by how much they are exceeded, and how to go on; undefined if none does. */
export async function describeReached(
  reached: readonly BudgetCheck[],
  ctx: CommandContext,
): Promise<string | undefined> {
  if (reached.length === 0) return undefined;
  const options = await ledgerOptions(ctx);
  const raises = reached.flatMap((check) => raiseOf(check, options));
  return [
    ...reached.map(describe),
    ...raises.length > 0 ? ["To go on now:", ...raises.map((line) => `  ${line}`)] : [],
  ].join("\n");
}

function describe(check: Reached): string {
  const { name, resets_at, ticket_id, ticket_state } = check;
  const over = check.spent_usd === undefined ? 0n : parseTotalUsd(check.spent_usd) - ceilingOf(check);
  return [
    `Purser: the budget ${name ?? "cost_budget_usd"} is reached: ${formatBudgetSpent(check)} per ${
      describeWindow(check)
    } of ${describeScope(check)}`,
    ...over > 0n ? [`, ${formatAmounts([over])[0]} over`] : [],
    ...resets_at === null ? [] : [`; it resets at ${formatReset(check)}`],
    ".",
    ...ticket_id
      ? [` Ticket ${ticket_id} ${ticket_state === "waiting" ? "asks" : "asked"} for more: ${ticket_state}.`]
      : [],
  ].join("");
}

/** Returns the command that approves the ticket of a budget, or raises it; none for one whose amounts are hidden, which the same key can't raise either. */
function raiseOf(check: Reached, options: readonly string[]): string[] {
  const { name, budget_id, spent_usd, ticket_id, ticket_state } = check;
  if (budget_id === null || spent_usd === undefined) return [];
  if (ticket_id && ticket_state === "waiting") {
    return [
      `purser approvals approve ${[ticket_id, "--reason", "TEXT", ...options].map(quoteForShell).join(" ")}`,
    ];
  }
  // The command takes a name that begins with a dash for an option.
  const named = name === null || name.startsWith("-") ? budget_id : name;
  const amount = ["--usd", formatUsd(raiseFor(check))];
  const counter = check.counter
    ? ["--counter", nameOfValue(check.counter, { ...check, key_user: undefined })]
    : [];
  const words = ["purser", "budgets", "raise", named, ...amount, ...counter, ...options];
  return [words.map(quoteForShell).join(" ")];
}

/** Returns the spending over the limit and a tenth of the limit, rounded up to two digits. */
function raiseFor(check: Reached): NanoUsd {
  const limit = parseTotalUsd(check.limit_usd);
  const used = parseTotalUsd(check.spent_usd ?? 0) + parseTotalUsd(check.reserved_usd ?? 0);
  const over = used - ceilingOf(check);
  const least = (over > 0n ? over : 0n) + limit / 10n + 1n;
  const unit = 10n ** BigInt(Math.max(0, least.toString().length - 2));
  return (least + unit - 1n) / unit * unit;
}

const ceilingOf = ({ limit_usd, extra_usd }: Reached) =>
  parseTotalUsd(limit_usd) + parseTotalUsd(extra_usd ?? 0);
