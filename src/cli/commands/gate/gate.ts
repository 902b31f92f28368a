import { arg, type Command, flag, option } from "../../command.ts";

/** The agents whose hooks are known, for completion: their contracts are loaded by the commands' bodies. */
const AGENTS = ["claude-code", "codex", "copilot", "gemini"];

/** The two ways to go where the budgets can't be checked: the agent goes on, or is stopped. */
const ON_ERROR = ["open", "closed"] as const;

const stopBeforeCredits = flag(
  "Also stop before the calls spend paid credits, once the plan's quota has ended",
);

const onError = option("HOW", "Without an answer of the ledger: open (the agent goes on) or closed", {
  oneOf: ON_ERROR,
});

/** `purser gate` */
const gate: Command = {
  name: "gate",
  args: [],
  summary: "Stop a coding agent at its budgets, as its hook",
  detail:
    "For an agent that doesn't go through the gateway. The agent runs it; purser gate install sets it. It reads the hook's JSON " +
    "on standard input, imports what is new of the session's logs, and prints the answer that stops the agent if a budget " +
    "refuses its calls; else nothing. The calls in progress are finished. Its exit code is 0, and 2 where it stops an agent " +
    "whose event is unknown.",
  options: {
    agent: option("NAME", `The agent that runs it: ${AGENTS.join(", ")}`, { some: AGENTS, live: "agent" }),
    "on-error": onError,
    "stop-before-credits": stopBeforeCredits,
  },
  examples: [["purser gate --agent claude-code --on-error closed", ""]],
  async runWithoutConfig(ctx, open) {
    const { runGate } = await import("./run_gate.ts");
    return await runGate(ctx, open, { isClosed: ctx.options.oneOf("on-error", ON_ERROR) === "closed" });
  },
};

const NAME = arg("NAME", { oneOf: AGENTS });
const settings = {
  project: flag("The settings of the project in this folder"),
  user: flag("The settings of the user (default)"),
  yes: flag("Don't ask"),
};

/** `purser gate install NAME` */
const gateInstall: Command = {
  name: "gate install",
  args: [NAME],
  summary: "Set the gate as a hook in an agent's settings",
  detail:
    "Shows what changes, and asks. The other settings stay as they are written; a copy of the file is kept beside it.",
  options: { ...settings, "on-error": onError, "stop-before-credits": stopBeforeCredits },
  examples: [
    ["purser gate install claude-code", ""],
    ["purser gate install codex --on-error closed --yes", ""],
  ],
  async run(ctx) {
    const { installGate } = await import("./install_gate.ts");
    return await installGate(ctx, { onError: ctx.options.oneOf("on-error", ON_ERROR) ?? "open" });
  },
};

/** `purser gate uninstall NAME` */
const gateUninstall: Command = {
  name: "gate uninstall",
  args: [NAME],
  summary: "Remove the gate from an agent's settings",
  options: settings,
  examples: [["purser gate uninstall claude-code", ""]],
  async run(ctx) {
    const { uninstallGate } = await import("./install_gate.ts");
    return await uninstallGate(ctx);
  },
};

/** The commands of the gate, in the order of the help. */
export const GATE_COMMANDS: readonly Command[] = [gate, gateInstall, gateUninstall];

/** `purser statusline` */
const statusline: Command = {
  name: "statusline",
  args: [],
  summary: "Print a status line for Claude Code",
  detail:
    "Reads the JSON that Claude Code gives its status line on standard input, and prints one line from the ledger. Whatever is " +
    "wrong, it is one line, and the exit code is 0; --check says what is wrong. The calls of the session are imported in the " +
    "background. The template may name {session}, {today}, {budget}, {plan}, {model} and {project}; a part between two · that has " +
    "nothing to say is left out.",
  options: {
    template: option("TEXT", "Form of the line (default: statusline_template of the config file)"),
    check: flag("Check the template, the settings and the ledger"),
    refresh: option(
      "LOG",
      "Import the session of this log, read its figures, and print nothing: what is done in the background",
      { isFile: true },
    ),
  },
  examples: [
    ['purser statusline --template "{session} · {budget}" --check', ""],
  ],
  async runWithoutConfig(ctx, open) {
    if (ctx.options.has("check")) {
      return await (await import("../statusline/check_status_line.ts")).checkStatusLine(ctx);
    }
    const log = ctx.options.text("refresh");
    if (log !== undefined) {
      return await (await import("../statusline/refresh_figures.ts")).refreshFigures(ctx, open, log);
    }
    const { runStatusLine } = await import("../statusline/run_status_line.ts");
    return await runStatusLine(ctx, (await import("../../../budgets/summary/mod.ts")).readSummary);
  },
};

const yes = { yes: flag("Don't ask") };

/** `purser statusline install` */
const statuslineInstall: Command = {
  name: "statusline install",
  args: [],
  summary: "Set the status line in Claude Code's settings",
  detail: "Shows what changes in the user's settings, and asks. Another status line is left as it is.",
  options: yes,
  examples: [["purser statusline install", ""]],
  async run(ctx) {
    const { installStatusLine } = await import("../statusline/install_status_line.ts");
    await installStatusLine(ctx);
  },
};

/** `purser statusline uninstall` */
const statuslineUninstall: Command = {
  name: "statusline uninstall",
  args: [],
  summary: "Remove it from Claude Code's settings",
  options: yes,
  examples: [["purser statusline uninstall", ""]],
  async run(ctx) {
    const { uninstallStatusLine } = await import("../statusline/install_status_line.ts");
    await uninstallStatusLine(ctx);
  },
};

/** The commands of the status line. */
export const STATUSLINE_COMMANDS: readonly Command[] = [statusline, statuslineInstall, statuslineUninstall];
