import { arg, type Command, type CommandContext } from "../../command.ts";
import { idInPath, readId } from "../../parse/command_id.ts";
import { applyToEnd, printRepricing } from "./print_repricing.ts";

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
