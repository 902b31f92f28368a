import type { TestResult } from "../../../delivery/mod.ts";
import { type Command, type CommandContext, flag, option } from "../../command.ts";
import { idInPath } from "../../parse/command_id.ts";
import { printAnswer } from "../../render/print_answer.ts";
import { renderTable } from "../../render/render_table.ts";

/** `purser digest [--weekly] [--send NAME]` */
export const digest: Command = {
  name: "digest",
  args: [],
  summary: "Show or send the digest of the last day or week",
  detail:
    "Channels whose setting digest is daily or weekly get it at 7:00 of the server's time zone. --send sends it now, through " +
    "any channel; exit code 1 if that fails.",
  options: {
    weekly: flag("The last whole week instead of the last day"),
    send: option("NAME", "Send it through this channel", { live: "channel" }),
  },
  examples: [["purser digest --weekly", ""], ["purser digest --send slack", ""]],
  run: showDigest,
};

async function showDigest(ctx: CommandContext): Promise<number | void> {
  const query = { period: ctx.options.has("weekly") ? "weekly" : "daily" } as const;
  const name = ctx.options.text("send");
  const connection = await ctx.connect();
  if (name !== undefined) {
    const url = connection.api.channels[":name"].digest.$url({ param: { name: idInPath(name) }, query });
    const { postTest } = await import("./post_notification.ts");
    return await postTest<TestResult>(ctx, connection, url, (result) => [result]);
  }
  await printAnswer(
    ctx,
    await connection.api.digest.$get({ query }),
    ({ title, facts }) =>
      `${ctx.style.bold(title)}\n${
        renderTable(facts, [
          { title: "", cell: ({ label }) => label, cutTo: 12 },
          { title: "", cell: ({ value }) => value, align: "right" },
        ], ctx.layout)
      }`,
  );
}
