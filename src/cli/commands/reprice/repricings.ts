import { PAGE_SIZES } from "../../../contract/limits.ts";
import { arg, type Command, type CommandContext, option } from "../../command.ts";
import { idInPath, readId } from "../../parse/command_id.ts";
import { hasMore, printAnswer } from "../../render/print_answer.ts";
import { renderRepricings } from "../../render/render_repricing.ts";
import { applyToEnd, printRepricing } from "./print_repricing.ts";

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
  const { style, terminal: { stdout: { columns }, hasUnicode } } = ctx;
  await printAnswer(
    ctx,
    answer,
    (rows) =>
      rows.length === 0 ? "No repricings yet" : renderRepricings(rows, { style, columns, hasUnicode }),
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

/** Applies or undoes what is left of a repricing. */
async function finish(ctx: CommandContext, verb: "apply" | "undo"): Promise<void> {
  const param = { repricing_id: idInPath(readId(ctx)) };
  const connection = await ctx.connect();
  const answer = await connection.api.repricings[":repricing_id"][verb].$post({ param });
  printRepricing(ctx, await applyToEnd(connection, answer, verb));
}
