import type { Budget, BudgetChanges, BudgetInput } from "../../../contract/budgets/budgets.ts";
import { counterText } from "../../../contract/budgets/subjects.ts";
import { BUDGET_DEFAULTS, PAGE_SIZES } from "../../../contract/limits.ts";
import { BUDGET_ACTIONS, BUDGET_MODES, BUDGET_PERIODS } from "../../../contract/values.ts";
import { NAME_PATTERN } from "../../../kernel/ids.ts";
import { parseTotalUsd } from "../../../kernel/money.ts";
import { withoutUndefined } from "../../../kernel/records.ts";
import { arg, type Command, type CommandContext, flag, option } from "../../command.ts";
import { idInPath } from "../../parse/command_id.ts";
import { CALENDAR_OPTIONS, readCalendar } from "../../parse/calendar_options.ts";
import { anyOf, readSubjects, SUBJECT_NAMES, SUBJECT_OPTIONS } from "../../parse/subject_options.ts";
import { checkName, orNone, parseAmount, readEither } from "../../parse/given_fields.ts";
import type { Options } from "../../parse/options.ts";
import { parseExpiry, parseSince } from "../../parse/parse_time.ts";
import { UsageError } from "../../parse/usage_error.ts";
import { describeBudget, formatAmount } from "../../render/describe_budget.ts";
import { formatThreshold } from "../../render/format_spent.ts";
import { countOf, formatTime } from "../../render/format_values.ts";
import { printAnswer } from "../../render/print_answer.ts";
import { escapeText } from "../../terminal/escape_text.ts";
import { type EditableKind, editCommands, findId } from "../authored_commands.ts";

const NAMED_BY = "A budget is named by its id, or by its name if no other budget has it.";

/** The fields of a budget that an author sets, as the options of `budgets add` and `budgets set`. */
const FIELDS = {
  name: option("NAME", "Name shown in refusals and notifications"),
  limit: option("USD", "Limit in USD"),
  per: option("WINDOW", "Window to count", { oneOf: BUDGET_PERIODS }),
  ...SUBJECT_OPTIONS,
  mode: option(
    "MODE",
    `stop: no call once the limit is reached; strict: no call that could exceed it (default ${BUDGET_DEFAULTS.mode})`,
    { oneOf: BUDGET_MODES },
  ),
  action: option("ACTION", "watch: refuse nothing, only count; ask: ask a person first (default refuse)", {
    oneOf: BUDGET_ACTIONS,
  }),
  "warn-at": option("SHARES", "Shares of the limit to notify at, or the word none (default 80%,100%)", {
    some: ["50%,80%,100%", "none"],
  }),
  forecast: flag("Notify once the limit will be reached before the day, week or month ends"),
  ...CALENDAR_OPTIONS,
  "counts-from": option("DATE", "For a lifetime: ignore spending before this date (UTC), or the word none"),
  "allow-unpriced": flag("Allow models without a known price; their calls count as $0"),
};

/** Reads the given fields of a budget. Throws a `UsageError` that names the option. */
function readFields(options: Options, now: number): BudgetChanges {
  return {
    name: options.read("name", checkName),
    limit_usd: options.read("limit", parseAmount),
    per: options.oneOf("per", BUDGET_PERIODS),
    ...readSubjects(options),
    mode: options.oneOf("mode", BUDGET_MODES),
    action: options.oneOf("action", BUDGET_ACTIONS),
    warn_at: options.read("warn-at", readShares),
    forecast: readEither(options, "forecast", "no-forecast"),
    ...readCalendar(options),
    counts_from: options.read("counts-from", orNone((text) => readStart(text, now))),
    allow_unpriced: readEither(options, "allow-unpriced", "no-allow-unpriced"),
    enabled: readEither(options, "enabled", "disabled"),
  };
}

/** Parses `80%,100%`, `0.8,1` or `none`. */
function readShares(text: string): number[] {
  if (text === "none") return [];
  return text.split(",").map((part) => {
    const [, number, percent] = /^\s*(\d{1,3}(?:\.\d{1,6})?)(%?)\s*$/.exec(part) ?? [];
    const share = number === undefined
      ? NaN
      : percent
      ? Number((Number(number) / 100).toFixed(8))
      : Number(number);
    if (share > 0 && share <= 1) return share;
    throw new Error(`${part || "an empty value"} is not a share; write 80%,100% or 0.8,1`);
  });
}

function readStart(text: string, now: number): string {
  const time = text === "all" ? undefined : parseSince(text, now);
  if (time === undefined || !time.endsWith("T00:00:00.000Z")) {
    throw new Error(`${text} is not a midnight in UTC; write a date, such as 2026-11-01, or none`);
  }
  return time;
}

/** Budgets, as their commands know them. */
export const BUDGETS: EditableKind<Budget, BudgetInput> = {
  group: "budgets",
  noun: "budget",
  one: "a budget",
  arg: arg("BUDGET", { live: "budget" }),
  isId: (text) => text.startsWith("bud_") && NAME_PATTERN.test(text),
  async listNamed(api, name) {
    const limit = String(PAGE_SIZES.budgets.max);
    const list = async (query: { name?: string; limit: string }) =>
      (await (await api.budgets.$get({ query })).json()).map(({ budget_id, name }) => ({
        id: budget_id,
        name,
      }));
    const named = await list({ name, limit });
    return named.length > 0 ? named : await list({ limit });
  },
  fields: FIELDS,
  undo: {
    "no-forecast": flag("Undo --forecast"),
    "no-allow-unpriced": flag("Undo --allow-unpriced"),
  },
  required: () => ["name", "limit", "per"],
  suchAs: "--limit or --disabled",
  readFields,
  add: (api, json) => api.budgets.$post({ json }),
  change: (api, id, json) => api.budgets[":budget_id"].$patch({ param: { budget_id: idInPath(id) }, json }),
  remove: (api, id) => api.budgets[":budget_id"].$delete({ param: { budget_id: idInPath(id) } }),
  idOf: ({ budget_id }) => budget_id,
  describe: describeBudget,
};

/** `purser budgets raise BUDGET --usd USD` */
const budgetsRaise: Command = {
  name: "budgets raise",
  args: [BUDGETS.arg],
  summary: "Raise the limit of a budget for a while",
  detail:
    "Without --for, the raise ends with the present window, or after an hour or 30 days if the budget is per hour or " +
    "30d; if it is per run, session, tree or lifetime, the raise has no end. Raises add up, and are kept with the API " +
    "key that made them.",
  options: {
    usd: option("USD", "Amount to add to the limit"),
    counter: option(
      "NAME",
      "Only this counter of a budget with many, such as an agent, a key or the value of a tag",
    ),
    for: option("WHEN", "End: a duration from now (12h, 2d), a date, or an ISO time"),
    reason: option("TEXT", "Reason, which is shown with the raise"),
  },
  examples: [
    ["purser budgets raise Day --usd 20", "For the rest of the day"],
    ["purser budgets raise Customers --usd 50 --counter acme", "Only one of its counters"],
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
    counter: options.text("counter"),
  };
  const budgetId = await findId(ctx, BUDGETS);
  const { api } = await ctx.connect();
  const param = { budget_id: idInPath(budgetId) };
  const answer = await api.budgets[":budget_id"].raises.$post({ param, json });
  if (ctx.isJson) return ctx.print(await answer.text());
  const { extra_usd, until, counter } = await answer.json();
  const budget = await (await api.budgets[":budget_id"].$get({ param })).json();
  const limit = parseTotalUsd(budget.limit_usd) + parseTotalUsd(budget.extra_usd ?? 0);
  const end = until === null ? "without an end" : `until ${formatTime(until)} UTC`;
  if (counter) {
    return ctx.print(escapeText(
      `Raised ${counterText(counter, {})} of budget ${budget.name} by ${formatAmount(extra_usd)} ${end}`,
    ));
  }
  ctx.print(escapeText(
    `Raised budget ${budget.name} by ${formatAmount(extra_usd)} ${end}: its limit is ${
      formatThreshold(limit)
    } now, of which ${formatAmount(budget.left_usd)} is left`,
  ));
}

export function readRaise(text: string): number {
  const amount = parseAmount(text);
  if (amount === 0) throw new Error(`${text} is not greater than 0`);
  return amount;
}

/** `purser budgets release BUDGET --reason TEXT` */
const budgetsRelease: Command = {
  name: "budgets release",
  args: [BUDGETS.arg],
  summary: "Release what a strict budget holds for lost calls",
  detail:
    "A strict budget holds the possible cost of calls that were sent and never booked, or whose usage never arrived, until its " +
    "window ends; purser budgets show lists it. Release it if the provider has not billed it: then no budget counts it. " +
    "The release is kept with its reason and the API key that made it.",
  options: {
    reservation: option("ID", "Only this reservation (default: all that the budget holds)"),
    reason: option("TEXT", "Reason, which is kept with the release"),
  },
  examples: [
    ['purser budgets release Day --reason "not on the bill"', "All that it holds"],
  ],
  needsDatabase: true,
  run: releaseBudget,
};

async function releaseBudget(ctx: CommandContext): Promise<void> {
  const { options } = ctx;
  const reason = options.text("reason");
  if (reason === undefined) {
    throw new UsageError("Cannot release what a budget holds without --reason", options.command);
  }
  const budgetId = await findId(ctx, BUDGETS);
  const { api } = await ctx.connect();
  await printAnswer(
    ctx,
    await api.budgets[":budget_id"].releases.$post({
      param: { budget_id: idInPath(budgetId) },
      json: withoutUndefined({ reservation_id: options.text("reservation"), reason }) as { reason: string },
    }),
    ({ released_usd, reservation_ids: { length } }) =>
      `Released ${formatAmount(released_usd)} of ${countOf(length, "call")}; no budget holds it any more`,
  );
}

const EDIT_COMMANDS = editCommands(BUDGETS, {
  add: {
    detail:
      "Every budget that applies to a call must allow it. Days, weeks, months and quarters are those of --time-zone, UTC " +
      "unless the server has another one; hour and 30d move with the clock. With --per run, session or tree, each run, session, " +
      "or session with all its sub-agents is counted by itself; a tree is named by --session, its root. Without " +
      `${SUBJECT_NAMES} all calls count; of several, a call must be of all. ` +
      "Spending from before the budget was added counts. In mode strict, the limit is never exceeded.",
    examples: [
      ["purser budgets add --name Day --limit 50 --per day", "All agents together"],
      [
        "purser budgets add --name Research --limit 200 --per month --agent researcher --mode strict",
        "One agent, never over $200",
      ],
      ["purser budgets add --name Chats --limit 1 --per day --each session", "$1 a day for every session"],
      ["purser budgets add --name Tree --limit 20 --per tree", "$20 for every session with its sub-agents"],
      [
        'purser budgets add --name Acme --limit 500 --per month --tag customer=acme --model "claude-opus-*"',
        "The calls for one customer with the models of a pattern",
      ],
      [
        "purser budgets add --name Customers --limit 100 --per month --each tag:customer",
        "$100 a month for each customer",
      ],
      [
        "purser budgets add --name Berlin --limit 50 --per day --time-zone Europe/Berlin",
        "From midnight to midnight in Berlin",
      ],
      [
        "purser budgets add --name Trial --limit 10 --per day --action watch",
        "Only count what would be refused",
      ],
    ],
  },
  set: {
    detail: `Changes only the given settings. ${NAMED_BY} ` +
      "The word none removes " + anyOf([...Object.keys(SUBJECT_OPTIONS), "counts-from"].map((name) =>
        `--${name}`
      )) +
      ". To let agents spend more for a while, raise the limit instead: purser budgets raise.",
    examples: [
      ["purser budgets set Day --limit 80 --mode strict", ""],
      ["purser budgets set Trial --action refuse", "Enforce what was only watched"],
    ],
  },
  enable: {
    detail: "Spending while it was disabled counts.",
    examples: [["purser budgets enable Day", ""]],
  },
  disable: {
    detail: `It refuses nothing and warns of nothing until it is enabled. ${NAMED_BY}`,
    examples: [["purser budgets disable Day", ""]],
  },
  remove: {
    summary: "Remove a budget with its raises and releases",
    done: "nothing is refused for it any more",
    examples: [["purser budgets remove Day", ""]],
  },
});

/** The commands that change budgets, in the order of the help. */
export const CHANGE_COMMANDS: readonly Command[] = [
  ...EDIT_COMMANDS,
  budgetsRaise,
  budgetsRelease,
];
