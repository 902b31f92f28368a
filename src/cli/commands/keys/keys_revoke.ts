import { arg, type Command, type CommandContext } from "../../command.ts";
import { idInPath } from "../../parse/command_id.ts";
import { UsageError } from "../../parse/usage_error.ts";

/** `purser keys revoke KEY_ID`. The API's response has no body, so `--json` prints nothing. */
export const keysRevoke: Command = {
  name: "keys revoke",
  args: [arg("KEY_ID", { live: "key" })],
  summary: "Revoke an API key permanently",
  detail: "purser keys list shows the ids. Servers on the same database refuse the key within 5 seconds.",
  options: {},
  examples: [["purser keys revoke key_42", ""]],
  needsDatabase: true,
  run: revokeKey,
};

async function revokeKey(ctx: CommandContext): Promise<void> {
  const keyId = readKeyId(ctx);
  const { api } = await ctx.connect();
  // Read before the key is revoked: it may be the key that this command uses.
  const active = await (await api.keys.$get({ query: { status: "active", limit: "2" } })).json();
  await api.keys[":key_id"].$delete({ param: { key_id: idInPath(keyId) } });
  if (ctx.isJson) return;
  ctx.print(`Revoked key ${keyId}; this can't be undone`);
  if (active.some((key) => key.key_id !== keyId)) return;
  ctx.warn(
    "There is no active key left: servers on this database refuse all requests until there is one. On the database " +
      "itself: purser keys create NAME --scope admin",
  );
}

/** Returns a key's id. An error doesn't quote the argument: it may be a key, typed by mistake. */
function readKeyId({ args: [text = ""], options }: CommandContext): string {
  if (/^key_[0-9a-z]{1,64}$/.test(text)) return text;
  const what = text.startsWith("psr_") ? "the key itself" : "that text";
  throw new UsageError(
    `Cannot revoke by ${what}: give its id, key_…; see purser keys list`,
    options.command,
  );
}
