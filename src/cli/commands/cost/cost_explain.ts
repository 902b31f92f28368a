import { arg, type Command, type CommandContext } from "../../command.ts";
import { EXIT } from "../../exit_code.ts";
import { idInPath, readCallId } from "../../parse/command_id.ts";
import { renderExplanation } from "../../render/render_explanation.ts";

/** `purser cost explain CALL_ID` */
export const costExplain: Command = {
  name: "cost explain",
  args: [arg("CALL_ID")],
  summary: "Explain the cost of a call",
  detail:
    "Shows its tokens by their rates, and computes the cost again from what the ledger keeps. The exit code is 1 if the result is " +
    "not the cost that is stored.",
  options: {},
  examples: [["purser cost explain call_42", ""]],
  isReadOnly: true,
  run: explain,
};

async function explain(ctx: CommandContext): Promise<number> {
  const param = { call_id: idInPath(readCallId(ctx)) };
  const { api } = await ctx.connect();
  const answer = await api.costs.calls[":call_id"].$get({ param });
  const text = await answer.text();
  const explained: Awaited<ReturnType<typeof answer.json>> = JSON.parse(text);
  const { style, terminal: { stdout: { columns }, hasUnicode } } = ctx;
  ctx.print(ctx.isJson ? text : renderExplanation(explained, { style, columns, hasUnicode }));
  const prices = [explained.booked, ...explained.adjustments.map(({ price }) => price)];
  if (prices.every(({ difference_usd }) => !difference_usd)) return EXIT.done;
  ctx.warn(
    "The stored cost is not the one that its rates give: the ledger was changed from outside, or is damaged",
  );
  return EXIT.failed;
}
