import { arg, type Command, type CommandContext } from "../../command.ts";
import { idInPath } from "../../parse/command_id.ts";
import { UsageError } from "../../parse/usage_error.ts";

/** `purser keys revoke KEY_ID`. The API answers without a body, so `--json` prints nothing. */
export const keysRevoke: Command = {
  name: "keys revoke",
  args: [arg("KEY_ID", { live: "key" })],
  summary: "Revoke an API key, for good",
  detail: "Its id is in purser keys list. Servers on the same database notice within 5 seconds.",
  options: {},
  examples: [["purser keys revoke key_42", ""]],
  run: revokeKey,
};

async function revokeKey(ctx: CommandContext): Promise<void> {
  const keyId = readKeyId(ctx);
  const { api } = await ctx.connect();
  // Looked up before: it may be the key that this command itself shows.
  const active = await (await api.keys.$get({ query: { status: "active", limit: "2" } })).json();
  await api.keys[":key_id"].$delete({ param: { key_id: idInPath(keyId) } });
  if (ctx.isJson) return;
  ctx.print(`Revoked key ${keyId}; it can't be taken back`);
  if (active.some((key) => key.key_id !== keyId)) return;
  ctx.warn(
    "There is no active key left: a server over this database answers nobody until there is one. On the database " +
      "itself: purser keys create NAME --scope admin",
  );
}

/** A key's id. A whole key in its place by mistake is not repeated: it would stand in a log of errors. */
function readKeyId({ args: [text = ""], options }: CommandContext): string {
  if (/^key_[0-9a-z]{1,64}$/.test(text)) return text;
  const what = text.startsWith("psr_") ? "a key itself" : "that";
  throw new UsageError(
    `Cannot revoke by ${what}: give its id, key_…; purser keys list tells it`,
    options.command,
  );
}
