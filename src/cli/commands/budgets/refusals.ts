import type { BudgetRefusal } from "../../../contract/budgets/budget_refusals.ts";
import { nameIn } from "../../../contract/costs/dimensions.ts";
import { PAGE_SIZES } from "../../../contract/limits.ts";
import { REFUSAL_REASONS } from "../../../contract/values.ts";
import { type Command, type CommandContext, option } from "../../command.ts";
import { checkScope } from "../../parse/check_scope.ts";
import { checkId } from "../../parse/command_id.ts";
import { readFilters } from "../../parse/dimension_options.ts";
import { checkName } from "../../parse/given_fields.ts";
import { parseSince } from "../../parse/parse_time.ts";
import { formatSpent } from "../../render/format_spent.ts";
import { formatTime } from "../../render/format_values.ts";
import { hasMore, printAnswer } from "../../render/print_answer.ts";
import { renderTable } from "../../render/render_table.ts";

const DEFAULT_LIMIT = 20;

/** `purser budgets refusals` */
export const budgetsRefusals: Command = {
  name: "budgets refusals",
  args: [],
  summary: "List refused calls, newest first",
  detail:
    "SPENT is the spending of the budget that refused first, and its limit with its raises, when it refused the call. A " +
    "budget whose action is watch refuses nothing; purser budgets show has the number of calls that it would have " +
    "refused. WHEN is as in purser cost.",
  options: {
    budget: option("BUDGET", "Only calls that this budget refused, by its name or id", { live: "budget" }),
    agent: option("NAME", "Only calls of this agent", { live: "agent" }),
    key: option("KEY", "Only calls with this API key, by its name or id", { live: "key" }),
    session: option("ID", "Only calls of this session", { live: "session" }),
    model: option("MODEL", "Only calls of this model", { live: "model" }),
    reason: option("REASON", "Only calls that a budget refused for this reason", { oneOf: REFUSAL_REASONS }),
    since: option("WHEN", "Only calls since WHEN", { some: ["24h", "today", "yesterday", "week"] }),
    until: option("WHEN", "Only calls before WHEN"),
    limit: option("N", `Maximum number of calls, 1 to ${PAGE_SIZES.refusals.max} (default ${DEFAULT_LIMIT})`),
  },
  examples: [
    ["purser budgets refusals", ""],
    ["purser budgets refusals --reason unpriced", "Models without a price"],
    ["purser budgets refusals --key laptop --since yesterday", "Of one API key"],
  ],
  isReadOnly: true,
  run: listRefusals,
};

async function listRefusals(ctx: CommandContext): Promise<void> {
  const { options, clock } = ctx;
  const when = (name: string) => options.read(name, (text) => parseSince(text, clock.now(), ctx.config));
  const limit = options.wholeNumber("limit", { min: 1, max: PAGE_SIZES.refusals.max }) ?? DEFAULT_LIMIT;
  const query = {
    budget_id: options.read("budget", checkName),
    ...readFilters(options),
    agent_id: options.read("agent", checkId),
    reason: options.oneOf("reason", REFUSAL_REASONS),
    from: when("since"),
    to: when("until"),
    limit: String(limit),
  };
  const { api } = await ctx.connect();
  const answer = await api.budgets.refusals.$get({ query });
  const { columns } = ctx.layout;
  await printAnswer(ctx, answer, async (refusals) => {
    if (refusals.length === 0) {
      await checkScope(ctx, query);
      return "No refused calls";
    }
    return renderTable(refusals, [
      { title: "WHEN (UTC)", cell: ({ at }) => formatTime(at).slice(0, columns ? 16 : undefined) },
      { title: "BUDGET", cell: nameBudgets, paint: (_, style) => style.bold, cutTo: 8 },
      { title: "REASON", cell: reasonOf },
      { title: "SPENT", cell: spentOf, drop: 1 },
      { title: "AGENT", cell: ({ agent_id }) => agent_id, cutTo: 6, drop: 3 },
      ...refusals.every((refusal) => nameIn(refusal, "key") === undefined)
        ? []
        : [{ title: "KEY", cell: nameKey, cutTo: 6, drop: 0 }],
      {
        title: "MODEL",
        cell: ({ provider, model }) => model === null ? "-" : `${provider}:${model}`,
        cutTo: 10,
        drop: 4,
      },
      { title: "SESSION", cell: ({ session_id }) => session_id ?? "-", cutTo: 8, drop: 5 },
    ], ctx.layout);
  });
  if (!ctx.isJson && hasMore(answer)) ctx.say("There are more refused calls; --limit shows up to 1000");
}

const nameKey = (refusal: BudgetRefusal) => nameIn(refusal, "key") ?? "-";

/** Names the budgets that refused a call: `Day`, `Day and 1 more`, or `cost_budget_usd` for that of an agent. */
function nameBudgets({ refused_by }: BudgetRefusal): string {
  const [first, ...others] = refused_by;
  const name = first?.name ?? "cost_budget_usd";
  return others.length === 0 ? name : `${name} and ${others.length} more`;
}

/** Names the reason of a refusal, and for a model without a price the nearest one that has one. */
function reasonOf({ reason, nearest_model }: BudgetRefusal): string {
  return nearest_model === null ? reason ?? "-" : `${reason}, nearest ${nearest_model}`;
}

function spentOf({ cost_usd_so_far, budget_usd }: BudgetRefusal): string {
  if (budget_usd === null) return "-";
  return cost_usd_so_far === null ? `hidden, of $${budget_usd}` : formatSpent(cost_usd_so_far, budget_usd);
}
