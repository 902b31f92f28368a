import { openProfiles } from "../../../config/mod.ts";
import { arg, type BareContext, type Command } from "../../command.ts";
import { escapeText } from "../../terminal/escape_text.ts";

/** `purser profiles remove NAME`. Prints nothing with `--json`, like every command that removes. */
export const profilesRemove: Command = {
  name: "profiles remove",
  args: [arg("NAME", { live: "profile" })],
  summary: "Remove a profile from the config file",
  options: {},
  examples: [["purser profiles remove prod", ""]],
  runWithoutConfig: removeProfile,
};

async function removeProfile(ctx: BareContext): Promise<void> {
  const [name] = ctx.args as [string];
  const { path, remove } = await openProfiles({ env: ctx.env, configPath: ctx.options.text("config") });
  await remove(name);
  if (!ctx.isJson) ctx.print(escapeText(`Removed profile ${name} from ${path}`));
}
