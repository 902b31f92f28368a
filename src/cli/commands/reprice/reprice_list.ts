import { PAGE_SIZES } from "../../../contract/limits.ts";
import { type Command, type CommandContext, option } from "../../command.ts";
import { hasMore, printAnswer } from "../../render/print_answer.ts";
import { renderRepricings } from "../../render/render_repricing.ts";

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
