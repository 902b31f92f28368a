import { SCOPES } from "../../../contract/values.ts";
import type { CommandContext } from "../../command.ts";
import { checkId } from "../../parse/command_id.ts";
import { describeKey } from "../../render/describe_key.ts";
import { escapeText } from "../../terminal/escape_text.ts";
import { Options } from "../../parse/options.ts";
import { parseExpiry } from "../../parse/parse_expiry.ts";
import { printAnswer } from "../../render/print_answer.ts";
import { UsageError } from "../../parse/usage_error.ts";

/** `purser keys create NAME --scope SCOPE…`. The key alone is the result: it may go into a file or a variable. */
export async function keysCreate(ctx: CommandContext): Promise<void> {
  const { options, clock } = ctx;
  const name = ctx.args[0]!;
  if (name.trim() === "") {
    throw new UsageError("Cannot make a key without a name that can be seen", options.command);
  }
  const scopes = readScopes(ctx);
  const agentId = options.read("agent-id", checkId);
  const expiresAt = options.read("expires", (text) => parseExpiry(text, clock.now()));
  if (agentId !== undefined && scopes.includes("admin")) {
    throw new UsageError(
      "Cannot use --agent-id with the scope admin, which is about all agents",
      options.command,
    );
  }
  const { api } = await ctx.connect();
  const [before] = await (await api.keys.$get({ query: { limit: "1" } })).json();
  const answer = await api.keys.$post({ json: { name, scopes, agent_id: agentId, expires_at: expiresAt } });
  let told = "";
  await printAnswer(ctx, answer, (key) => {
    told = `Made key ${key.key_id} ${key.name}: ${describeKey(key)}. It is shown this once; keep it safe`;
    return key.key;
  });
  if (ctx.isJson) return;
  ctx.say(escapeText(told));
  if (before) return;
  ctx.warn(
    "This is the first key: from now on a server over this database answers nobody without one, not this machine " +
      "either. Commands that work on the database itself need none",
  );
}

function readScopes({ options }: CommandContext) {
  const scopes = options.texts("scope");
  if (scopes.length === 0) {
    throw new UsageError(`Cannot make a key without --scope: ${SCOPES.join(", ")}`, options.command);
  }
  return scopes.map((text) => {
    const one = new Options(new Map([["scope", [text]]]), options.command);
    return one.oneOf("scope", SCOPES)!;
  });
}
