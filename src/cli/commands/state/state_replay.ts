import { arg, type Command, option } from "../../command.ts";

/** `purser state replay SESSION|FILE [--from SEQ] [--until SEQ]` */
export const stateReplay: Command = {
  name: "state replay",
  args: [arg("SESSION|FILE", { live: "session", isFile: true })],
  summary: "Step through a session's event log",
  detail:
    "On a terminal, use the keys → next, ← back, ↑↓ scroll, g first, G last, q quit. Piped, or with --json, prints " +
    "every step. A FILE is a snapshot: - for standard input, a path, or a name that ends with .json or .gz.",
  options: {
    from: option("SEQ", "First event to show; totals include the events before it"),
    until: option("SEQ", "Last event to show"),
  },
  examples: [
    ["purser state replay ses_42", ""],
    ["purser state replay ses_42 --from 10 --until 20 --json", "For another program"],
    ["purser state replay ./ses_42.json", "From a snapshot"],
  ],
  isReadOnly: true,
  run: async (ctx) => {
    const { replaySession } = await import("../../replay/replay_session.ts");
    return await replaySession(ctx);
  },
};
