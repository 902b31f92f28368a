import { BASH_SCRIPT, FISH_SCRIPT, ZSH_SCRIPT } from "../../completion/mod.ts";
import type { BareContext } from "../../command.ts";
import { UsageError } from "../../parse/usage_error.ts";
import { nearestName } from "../../../kernel/text.ts";

const SCRIPTS: Readonly<Record<string, string>> = { bash: BASH_SCRIPT, zsh: ZSH_SCRIPT, fish: FISH_SCRIPT };

/** `purser completions SHELL`. With `--json` too it is the script: shells read it. */
export function completions(ctx: BareContext): void {
  const [shell] = ctx.args as [string];
  const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined;
  if (script === undefined) {
    const near = nearestName(shell, Object.keys(SCRIPTS));
    throw new UsageError(
      `Cannot complete in ${shell}: it is not one of ${Object.keys(SCRIPTS).join(", ")}${
        near ? `; did you mean ${near}?` : ""
      }`,
      ctx.options.command,
    );
  }
  ctx.terminal.stdout.write(script);
}
