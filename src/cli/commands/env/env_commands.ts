import { arg, type Command, option, repeatedArg } from "../../command.ts";

/* The settings of programs are loaded when a command prints them. */

/** The variable with the key for the server. */
export const KEY_VARIABLE = "PURSER_API_KEY";

/** The clients of the gateway. */
export const CLIENT_NAMES = [
  "openai",
  "anthropic",
  "gemini",
  "ai-sdk",
  "claude-code",
  "codex",
  "curl",
] as const;

/** The programs that export. */
export const PROGRAM_NAMES = ["claude-code", "codex", "gemini", "node", "python"] as const;

const SERVER =
  "The server is that of --server or a profile, or the one that purser serve starts with these settings. The " +
  "command itself sends no request.";

/** `purser gateway env CLIENT`. Standard output is for the shell's `eval`, everything else is on standard error. */
export const gatewayEnv: Command = {
  name: "gateway env",
  args: [arg("CLIENT", { oneOf: CLIENT_NAMES })],
  summary: "Print a client's variables for the gateway",
  detail:
    `Prints lines for a POSIX shell. The key is the value of ${KEY_VARIABLE} in the shell that runs them, and needs the ` +
    `scope call. ${SERVER}`,
  options: {},
  examples: [
    ['eval "$(purser gateway env openai)"', "In the shell that starts the client"],
    ["purser gateway env claude-code --server https://purser.example.com", "For another machine's server"],
  ],
  async run(ctx) {
    const [{ GATEWAY_CLIENTS }, { printClient }] = await Promise.all([
      import("./gateway_clients.ts"),
      import("./print_client.ts"),
    ]);
    printClient(ctx, GATEWAY_CLIENTS, "call");
  },
};

/** `purser otlp env PROGRAM`, likewise. */
export const otlpEnv: Command = {
  name: "otlp env",
  args: [arg("PROGRAM", { oneOf: PROGRAM_NAMES })],
  summary: "Print a program's variables to export telemetry",
  detail:
    "Prints lines for a POSIX shell, by which a program sends its OpenTelemetry to the server: every call with all its counts, " +
    `no prompts. The key is the value of ${KEY_VARIABLE} in the shell that runs them, and needs the scope report. ${SERVER}`,
  options: {},
  examples: [
    ['eval "$(purser otlp env claude-code)"', "In the shell that starts the program"],
    ["purser otlp env python --server https://purser.example.com", "For another machine's server"],
  ],
  async run(ctx) {
    const [{ OTLP_PROGRAMS }, { printClient }] = await Promise.all([
      import("./otlp_programs.ts"),
      import("./print_client.ts"),
    ]);
    printClient(ctx, OTLP_PROGRAMS, "report");
  },
};

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
    tag: option("KEY=VALUE", "Tag of all its calls; repeat for more", { live: "tag" }),
    output: option("FILE", "File to write the cost to, as JSON", { isFile: true }),
  },
  examples: [
    ['purser capture -- claude -p "Fix the failing test"', ""],
    ["purser capture --budget 2 --output cost.json -- npm run evaluate", "Stopped at $2"],
  ],
  handlesInterrupt: true,
  async run(ctx) {
    const { runCapture } = await import("../capture/run_capture.ts");
    return await runCapture(ctx);
  },
};
