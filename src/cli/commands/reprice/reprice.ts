import { PAGE_SIZES } from "../../../contract/limits.ts";
import { HOUR_MS, toIso } from "../../../kernel/clock.ts";
import { arg, type Command, type CommandContext, flag, option } from "../../command.ts";
import { idInPath, readId } from "../../parse/command_id.ts";
import { parseSince } from "../../parse/parse_time.ts";
import { UsageError } from "../../parse/usage_error.ts";
import { hasMore, printAnswer } from "../../render/print_answer.ts";

/** `purser reprice`: a dry run unless `--apply` */
export const reprice: Command = {
  name: "reprice",
  args: [],
  summary: "Price booked calls again by today's prices",
  detail:
    "Prices each call at its own time, and books the difference as an adjustment; no row is changed, and the " +
    "totals include it. Without --apply it only shows what would change; where no cost would change, nothing is booked. " +
    "Calls without a known price today keep their cost. WHEN is as in purser cost; --since all is every call.",
  options: {
    unpriced: flag("Only calls whose price is unknown so far, or known only in part"),
    since: option("WHEN", "Only calls since WHEN", { some: ["7d", "month", "last-month", "all"] }),
    until: option("WHEN", "Only calls before WHEN; up to now if not given"),
    provider: option("NAME", "Only calls to this provider"),
    model: option("MODEL", "Only calls to this model, such as gpt-6-luna or openai:gpt-6-luna", {
      live: "model",
    }),
    agent: option("AGENT", "Only calls of this agent", { live: "agent" }),
    estimated: flag("Only calls whose tokens are an estimate"),
    "include-reported": flag("Also calls whose cost was reported, or stated by the provider"),
    apply: flag("Book the differences"),
  },
  examples: [
    ["purser reprice --unpriced", "What calls without a price would cost now"],
    ["purser reprice --unpriced --apply", ""],
    ["purser reprice --since 2026-11-01 --until 2026-11-08 --model openai:gpt-6-luna", ""],
    ["purser reprice --since all", ""],
  ],
  needsDatabase: true,
  run: repriceCalls,
};

async function repriceCalls(ctx: CommandContext): Promise<void> {
  const filter = readFilter(ctx);
  const connection = await ctx.connect();
  const apply = ctx.options.has("apply");
  const answer = await connection.api.repricings.$post({ json: { ...filter, apply } });
  const { applyToEnd, printRepricing } = await import("./print_repricing.ts");
  printRepricing(ctx, await applyToEnd(connection, answer, "apply"), { isApplied: apply });
}

function readFilter({ options, clock }: CommandContext) {
  const now = clock.now();
  const from = options.read("since", (text) => parseSince(text, now) ?? toIso(0));
  const until = options.read("until", (text) => {
    const at = parseSince(text, now);
    if (at !== undefined) return at;
    throw new Error("it needs a time");
  });
  const filter = {
    ...options.has("unpriced") && { unpriced: true },
    from,
    // Calls may be ahead of the clock.
    to: until ?? (from === undefined ? undefined : toIso(now + HOUR_MS)),
    provider: options.text("provider"),
    model: options.text("model"),
    agent_id: options.text("agent"),
    ...options.has("estimated") && { estimated: true },
    ...options.has("include-reported") && { include_reported: true },
  };
  if (filter.unpriced || filter.from !== undefined) return filter;
  throw new UsageError(
    "Cannot reprice without --unpriced or --since; --since all is every call",
    options.command,
  );
}

/** `purser reprice list` */
export const repriceList: Command = {
  name: "reprice list",
  args: [],
  summary: "List repricings, latest first",
  options: { limit: option("N", `Maximum number of rows, 1 to ${PAGE_SIZES.repricings.max} (default 100)`) },
  examples: [["purser reprice list", ""]],
  isReadOnly: true,
  run: list,
};

async function list(ctx: CommandContext): Promise<void> {
  const limit = ctx.options.wholeNumber("limit", { min: 1, max: PAGE_SIZES.repricings.max }) ?? 100;
  const { api } = await ctx.connect();
  const answer = await api.repricings.$get({ query: { limit: String(limit) } });
  const { renderRepricings } = await import("../../render/render_repricing.ts");
  await printAnswer(
    ctx,
    answer,
    (rows) => rows.length === 0 ? "No repricings yet" : renderRepricings(rows, ctx.layout),
  );
  if (!ctx.isJson && hasMore(answer)) ctx.say("There are more rows; --limit shows up to 500");
}

/** `purser reprice undo REP_ID` */
export const repriceUndo: Command = {
  name: "reprice undo",
  args: [arg("REP_ID")],
  summary: "Undo a repricing",
  detail:
    "Books the opposite of its adjustments. Later repricings must be undone first. One that was interrupted is continued.",
  options: {},
  examples: [["purser reprice undo rep_42", ""]],
  needsDatabase: true,
  run: (ctx) => finish(ctx, "undo"),
};

/** `purser reprice apply REP_ID` */
export const repriceApply: Command = {
  name: "reprice apply",
  args: [arg("REP_ID")],
  summary: "Finish a repricing that was interrupted",
  options: {},
  examples: [["purser reprice apply rep_42", ""]],
  needsDatabase: true,
  run: (ctx) => finish(ctx, "apply"),
};

/** Applies or undoes the rest of a repricing. */
async function finish(ctx: CommandContext, verb: "apply" | "undo"): Promise<void> {
  const param = { repricing_id: idInPath(readId(ctx)) };
  const connection = await ctx.connect();
  const answer = await connection.api.repricings[":repricing_id"][verb].$post({ param });
  const { applyToEnd, printRepricing } = await import("./print_repricing.ts");
  printRepricing(ctx, await applyToEnd(connection, answer, verb), { isApplied: true });
}
