import type { TestResult } from "../../../delivery/mod.ts";
import { arg, type Command, type CommandContext, flag, option } from "../../command.ts";
import { idInPath, readId } from "../../parse/command_id.ts";
import { printAnswer } from "../../render/print_answer.ts";
import { renderTable } from "../../render/render_table.ts";
import { escapeText } from "../../terminal/escape_text.ts";

/** `purser channels list` */
export const channelsList: Command = {
  name: "channels list",
  args: [],
  summary: "List the channels that alerts are sent to",
  detail:
    "Channels are set up in the config file. Their settings are checked without sending anything; purser channels test " +
    "sends a test.",
  options: {},
  examples: [["purser channels list", ""]],
  needsNoDatabase: true,
  run: listChannels,
};

async function listChannels(ctx: CommandContext): Promise<void> {
  const { api } = await ctx.connect();
  let problems: string[] = [];
  await printAnswer(ctx, await api.channels.$get({ query: {} }), (channels) => {
    problems = channels.filter(({ problem }) => problem !== null)
      .map(({ name, problem }) => `Channel ${name} can't be used: ${problem}`);
    return renderTable(channels, [
      { title: "NAME", cell: (channel) => channel.name, paint: (_, style) => style.bold },
      { title: "KIND", cell: (channel) => channel.kind },
      {
        title: "STATUS",
        cell: (channel) => channel.status,
        paint: (channel, style) => channel.status === "ok" ? style.green : style.red,
      },
      { title: "MIN SEVERITY", cell: (channel) => channel.min_severity },
      { title: "TIMEOUT", align: "right", cell: (channel) => `${channel.timeout_ms / 1000} s`, drop: 2 },
      { title: "SETTINGS", cell: ({ settings }) => describeSettings(settings), cutTo: 20, drop: 1 },
    ], ctx.layout);
  });
  for (const problem of problems) ctx.warn(problem);
}

/** Renders settings: `url=***, headers={"x-team":"ops"}`. */
function describeSettings(settings: Record<string, unknown>): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ");
}

/** `purser channels test NAME`. */
export const channelsTry: Command = {
  name: "channels test",
  args: [arg("NAME", { live: "channel" })],
  summary: "Send a test notification through one channel",
  detail: "Exit code 1 if it fails.",
  options: {},
  examples: [["purser channels test slack", ""]],
  needsNoDatabase: true,
  run: tryChannel,
};

async function tryChannel(ctx: CommandContext): Promise<number> {
  const name = readId(ctx);
  const connection = await ctx.connect();
  const url = connection.api.channels[":name"].test.$url({ param: { name: idInPath(name) } });
  const { postTest } = await import("./post_notification.ts");
  return await postTest<TestResult>(ctx, connection, url, (result) => [result]);
}

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
      `${ctx.style.bold(escapeText(title))}\n${
        renderTable(facts, [
          { title: "", cell: ({ label }) => label, cutTo: 12 },
          { title: "", cell: ({ value }) => value, align: "right" },
        ], ctx.layout)
      }`,
  );
}
