import { type Grouping, GROUPINGS } from "../../../contract/values.ts";
import type { CommandContext } from "../../command.ts";
import { hasMore, printAnswer } from "../../render/print_answer.ts";
import { renderWhatIf } from "../../render/render_what_if.ts";

/** `purser cost --what-if MODEL`: the cost of the same usage on another model */
export async function printWhatIf(
  ctx: CommandContext,
  query: { model: string; from: string | undefined; to: string | undefined; limit: string },
): Promise<void> {
  const groupBy: Grouping = ctx.options.oneOf("by", GROUPINGS) ?? "model";
  const { api } = await ctx.connect();
  const answer = await api.costs["what-if"].$get({ query: { ...query, group_by: groupBy } });
  let notes: readonly string[] = [];
  await printAnswer(ctx, answer, (body) => {
    notes = body.notes;
    const { style, terminal: { stdout: { columns }, hasUnicode } } = ctx;
    return body.rows.length === 0 ? "No calls" : renderWhatIf(body, groupBy, { style, columns, hasUnicode });
  });
  for (const note of notes) ctx.say(note);
  if (!ctx.isJson && hasMore(answer)) ctx.say("There are more rows; --limit shows up to 1000");
}
