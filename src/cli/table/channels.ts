import { arg, type CommandSpec } from "./command_spec.ts";

/** `purser channels …` */
export const channels: readonly CommandSpec[] = [
  {
    name: "channels list",
    args: [],
    summary: "List the channels that alerts go to",
    detail:
      "They are set up in the config file, and checked here without sending. FROM is the mildest severity that a channel is told of.",
    options: {},
    examples: [["purser channels list", ""]],
    isReadOnly: true,
    load: async () => (await import("../commands/channels/channels_list.ts")).channelsList,
  },
  {
    name: "channels test",
    args: [arg("NAME", { live: "channel" })],
    summary: "Send one test notification through a channel",
    detail: "Exit code 1 if it failed.",
    options: {},
    examples: [["purser channels test slack", ""]],
    load: async () => (await import("../commands/channels/channels_try.ts")).channelsTest,
  },
];
