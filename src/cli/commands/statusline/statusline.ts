import { type Command, flag, option } from "../../command.ts";

/** `purser statusline` */
export const statusline: Command = {
  name: "statusline",
  args: [],
  summary: "Print a status line for Claude Code",
  detail:
    "Reads the JSON that Claude Code gives its status line on standard input, and prints one line from the ledger. Whatever is " +
    "wrong, it is one line, and the exit code is 0; --check says what is wrong. The calls of the session are imported in the " +
    "background. The template may name {session}, {today}, {budget}, {model} and {project}; a part between two · that has " +
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
  async runWithoutConfig(ctx) {
    if (ctx.options.has("check")) return await (await import("./check_status_line.ts")).checkStatusLine(ctx);
    const log = ctx.options.text("refresh");
    if (log !== undefined) return await (await import("./refresh_figures.ts")).refreshFigures(ctx, log);
    const { runStatusLine } = await import("./run_status_line.ts");
    return await runStatusLine(ctx, (await import("../../../budgets/summary/mod.ts")).readSummary);
  },
};
