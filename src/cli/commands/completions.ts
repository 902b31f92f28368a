import { nearestName } from "../../kernel/text.ts";
import { arg, type BareContext, type Command } from "../command.ts";
import { UsageError } from "../parse/usage_error.ts";

const SHELLS = ["bash", "zsh", "fish"] as const;

/** `purser completions SHELL`. Shells read the script, so it is the output with `--json` too. */
export const completions: Command = {
  name: "completions",
  args: [arg("SHELL", { oneOf: SHELLS })],
  summary: "Print the completion script of a shell",
  detail:
    "Completes commands, options and their values. Agents, sessions, rules, channels and keys are read from the " +
    "database or server that the line names, within a second.",
  options: {},
  examples: [
    ["source <(purser completions bash)", "In ~/.bashrc"],
    ["source <(purser completions zsh)", "In ~/.zshrc, after compinit"],
    ["purser completions fish > ~/.config/fish/completions/purser.fish", ""],
  ],
  runWithoutConfig: printCompletions,
};

async function printCompletions(ctx: BareContext): Promise<void> {
  const [typed] = ctx.args as [string];
  const shell = SHELLS.find((name) => name === typed);
  if (shell === undefined) {
    const near = nearestName(typed, SHELLS);
    throw new UsageError(
      `Cannot complete in ${typed}: it is not one of ${SHELLS.join(", ")}${
        near ? `; did you mean ${near}?` : ""
      }`,
      ctx.options.command,
    );
  }
  const { SCRIPTS } = await import("../completion/scripts.ts");
  ctx.terminal.stdout.write(SCRIPTS[shell]);
}
