import type { Approval } from "../../../contract/budgets/approvals.ts";
import { nameIn, nameOfValue } from "../../../contract/costs/dimensions.ts";
import { PAGE_SIZES, TICKET_SECONDS } from "../../../contract/limits.ts";
import { TICKET_STATES } from "../../../contract/values.ts";
import { arg, type Command, type CommandContext, option } from "../../command.ts";
import { idInPath, readId } from "../../parse/command_id.ts";
import { parseExpiry } from "../../parse/parse_time.ts";
import { UsageError } from "../../parse/usage_error.ts";
import { formatAmount } from "../../render/describe_budget.ts";
import { formatTime } from "../../render/format_values.ts";
import { hasMore, printAnswer } from "../../render/print_answer.ts";
import { renderFields } from "../../render/render_fields.ts";
import { renderTable } from "../../render/render_table.ts";
import { readRaise } from "../budgets/change_budgets.ts";

const DEFAULT_LIMIT = 20;
const TICKET = arg("TICKET");

/** `purser approvals list` */
const list: Command = {
  name: "approvals list",
  args: [],
  summary: "List what budgets ask people for, newest first",
  detail:
    "A budget with --action ask asks for more before it refuses a call: each request is a ticket. Without --state, those that " +
    "wait are listed.",
  options: {
    state: option("STATE", "Only tickets in this state (default waiting)", {
      oneOf: [...TICKET_STATES, "all"],
    }),
    limit: option(
      "N",
      `Maximum number of tickets, 1 to ${PAGE_SIZES.approvals.max} (default ${DEFAULT_LIMIT})`,
    ),
  },
  examples: [["purser approvals list", ""], [
    "purser approvals list --state all",
    "Also those that were answered",
  ]],
  isReadOnly: true,
  run: listApprovals,
};

async function listApprovals(ctx: CommandContext): Promise<void> {
  const { options } = ctx;
  const limit = options.wholeNumber("limit", { min: 1, max: PAGE_SIZES.approvals.max }) ?? DEFAULT_LIMIT;
  const state = options.oneOf("state", [...TICKET_STATES, "all"]) ?? "waiting";
  const { api } = await ctx.connect();
  const answer = await api.approvals.$get({
    query: { limit: String(limit), ...(state !== "all" && { state }) },
  });
  await printAnswer(ctx, answer, (tickets) => {
    if (tickets.length === 0) return state === "waiting" ? "No tickets wait" : "No tickets";
    return renderTable(tickets, [
      { title: "ASKED (UTC)", cell: ({ asked_at }) => formatTime(asked_at).slice(0, 16), drop: 2 },
      { title: "BUDGET", cell: nameCounter, paint: (_, style) => style.bold, cutTo: 8 },
      { title: "MORE", cell: ({ asked_usd }) => formatAmount(asked_usd) },
      { title: "BY", cell: nameAsker, cutTo: 8 },
      { title: "MODEL", cell: ({ model }) => model ?? "-", cutTo: 8, drop: 1 },
      { title: "STATE", cell: ({ state }) => state },
      { title: "TICKET", cell: ({ ticket_id }) => ticket_id },
    ], ctx.layout);
  });
  if (!ctx.isJson && hasMore(answer)) ctx.say("There are more tickets; --limit shows up to 1000");
}

/** Names the budget of a ticket, and its counter: `Day, key laptop`. */
function nameCounter({ budget_name, counter, ...ticket }: Approval): string {
  return counter === null ? budget_name : `${budget_name}, ${counter.kind} ${nameOfValue(counter, ticket)}`;
}

/** Names who asks: the key, or the agent of a call without one. */
const nameAsker = (ticket: Approval): string => nameIn(ticket, "key") ?? ticket.agent_id;

/** `purser approvals show TICKET` */
const show: Command = {
  name: "approvals show",
  args: [TICKET],
  summary: "Show what a ticket asks for, and its answer",
  options: {},
  examples: [["purser approvals show tkt_01k9qv3v8d8f0h2k4n6q8s0v2x", ""]],
  isReadOnly: true,
  async run(ctx) {
    const { api } = await ctx.connect();
    const answer = await api.approvals[":ticket_id"].$get({ param: { ticket_id: ticketIn(ctx) } });
    await printAnswer(ctx, answer, (ticket) => renderFields(fieldsOf(ticket), ctx.layout));
  },
};

const ticketIn = (ctx: CommandContext): string => idInPath(readId(ctx));

function fieldsOf(ticket: Approval) {
  const { decided_at, decided_by, reason } = ticket;
  return {
    "Ticket": ticket.ticket_id,
    "State": ticket.state,
    "Budget": nameCounter(ticket),
    "Asks for": `${formatAmount(ticket.asked_usd)} more`,
    "Call costs": `up to ${formatAmount(ticket.cost_usd)}`,
    "Asked by": nameAsker(ticket),
    "Agent": ticket.agent_id,
    "Session": ticket.session_id ?? undefined,
    "Run": ticket.run_id ?? undefined,
    "Model": ticket.model === null ? undefined : `${ticket.provider}:${ticket.model}`,
    "Tags": Object.entries(ticket.tags).map(([key, value]) => `${key}=${value}`).join(", ") || undefined,
    "Asked": `${formatTime(ticket.asked_at)} UTC`,
    "Expires": `${formatTime(ticket.expires_at)} UTC`,
    "Answered": decided_at === null
      ? undefined
      : `${formatTime(decided_at)} UTC by ${decided_by ?? "unknown"}: ${reason}`,
    "Raise": ticket.raise_id ?? undefined,
  };
}

const REASON = option("TEXT", "Reason, which is kept with the answer");

/** `purser approvals approve TICKET --reason TEXT` */
const approve: Command = {
  name: "approvals approve",
  args: [TICKET],
  summary: "Approve a ticket: raise the limit it asks for",
  detail:
    "The raise is for the counter that asks. Without --by it is what the ticket asks for, and without --for it ends as a raise does. " +
    "The key of a call that asks, and other keys of the same person, can't approve.",
  options: {
    by: option("USD", "Amount of the raise"),
    for: option("WHEN", "End: a duration from now (12h, 2d), a date, or an ISO time"),
    reason: REASON,
  },
  examples: [['purser approvals approve tkt_01k9qv3v8d8f0h2k4n6q8s0v2x --by 5 --reason "release"', ""]],
  needsDatabase: true,
  async run(ctx) {
    const { options, clock } = ctx;
    const json = {
      extra_usd: options.read("by", readRaise),
      until: options.read("for", (text) => parseExpiry(text, clock.now())),
      reason: reasonOf(ctx, "approve"),
    };
    const { api } = await ctx.connect();
    const param = { ticket_id: ticketIn(ctx) };
    const answer = await api.approvals[":ticket_id"].approve.$post({ param, json });
    await printAnswer(
      ctx,
      answer,
      (ticket) =>
        `Approved: budget ${nameCounter(ticket)} is raised by ${
          formatAmount(json.extra_usd ?? ticket.asked_usd)
        }`,
    );
  },
};

/** `purser approvals deny TICKET --reason TEXT` */
const deny: Command = {
  name: "approvals deny",
  args: [TICKET],
  summary: "Deny a ticket: the calls that wait are refused",
  detail: `The budget doesn't ask for the same counter again for ${TICKET_SECONDS.deniedFor / 60} minutes.`,
  options: { reason: REASON },
  examples: [['purser approvals deny tkt_01k9qv3v8d8f0h2k4n6q8s0v2x --reason "wait for tomorrow"', ""]],
  needsDatabase: true,
  async run(ctx) {
    const json = { reason: reasonOf(ctx, "deny") };
    const { api } = await ctx.connect();
    const answer = await api.approvals[":ticket_id"].deny.$post({
      param: { ticket_id: ticketIn(ctx) },
      json,
    });
    await printAnswer(
      ctx,
      answer,
      (ticket) => `Denied: the calls that wait for budget ${nameCounter(ticket)} are refused`,
    );
  },
};

function reasonOf({ options }: CommandContext, action: string): string {
  const reason = options.text("reason");
  if (reason === undefined) {
    throw new UsageError(`Cannot ${action} a ticket without --reason`, options.command);
  }
  return reason;
}

/** The commands of tickets, in the order of the help. */
export const APPROVAL_COMMANDS: readonly Command[] = [list, show, approve, deny];
