import { openProfiles } from "../../../config/mod.ts";
import type { BareContext } from "../../command.ts";
import { escapeText } from "../../terminal/escape_text.ts";

/** `purser profiles remove NAME`. With `--json` it prints nothing, as all that removes. */
export async function profilesRemove(ctx: BareContext): Promise<void> {
  const [name] = ctx.args as [string];
  const { path, remove } = await openProfiles({ env: ctx.env, configPath: ctx.options.text("config") });
  await remove(name);
  if (!ctx.isJson) ctx.print(escapeText(`Removed profile ${name} from ${path}`));
}
