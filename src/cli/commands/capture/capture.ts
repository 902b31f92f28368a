import { type Command, option, repeatedArg } from "../../command.ts";

/** `purser capture -- COMMAND…` */
export const capture: Command = {
  name: "capture",
  args: [{ ...repeatedArg("COMMAND"), isCommand: true }],
  summary: "Run a command and print what it has cost",
  detail:
    "Starts a server for the command on a free port, over the database of these settings; with --server, that one is used. The " +
    "command gets an API key of its own, and the variables by which its calls go through the gateway of that server, for each " +
    "provider with a key in the environment, and by which it exports telemetry. Its input, output and exit code are the " +
    "command's own (128 and the number of a signal that has ended it; 5 if it was stopped at the budget); the cost is on " +
    "standard error. Write -- before a command with options.",
  options: {
    budget: option(
      "USD",
      "Limit of the command: the gateway refuses calls, and what telemetry tells stops it",
    ),
    "budget-mode": option("MODE", "When the gateway refuses a call (default strict)", {
      oneOf: ["strict", "stop"],
    }),
    name: option("NAME", "Name of its API key, and of the agent of its calls (default: of the command)"),
    output: option("FILE", "File to write the cost to, as JSON", { isFile: true }),
  },
  examples: [
    ['purser capture -- claude -p "Fix the failing test"', ""],
    ["purser capture --budget 2 --output cost.json -- npm run evaluate", "Stopped at $2"],
  ],
  handlesInterrupt: true,
  async run(ctx) {
    const { runCapture } = await import("./run_capture.ts");
    return await runCapture(ctx);
  },
};
