import type { ApiKey } from "../../../keys/mod.ts";
import { SCOPES } from "../../../contract/values.ts";
import { arg, type Command, type CommandContext, option } from "../../command.ts";
import { checkId } from "../../parse/command_id.ts";
import { formatTime } from "../../render/format_values.ts";
import { escapeText } from "../../terminal/escape_text.ts";
import { Options } from "../../parse/options.ts";
import { parseExpiry } from "../../parse/parse_time.ts";
import { printAnswer } from "../../render/print_answer.ts";
import { UsageError } from "../../parse/usage_error.ts";

/** `purser keys create NAME --scope SCOPE…`. The key alone is the result: it may go into a file or a variable. */
export const keysCreate: Command = {
  name: "keys create",
  args: [arg("NAME")],
  summary: "Make an API key, and show it once",
  detail:
    "From the first key on, a server over this database answers nobody without one. read: see everything; run: run " +
    "agents and report calls; admin: both, and change settings. The key goes to standard output, all else to " +
    "standard error.",
  options: {
    scope: option("SCOPE", "What it may do; repeat for more", { oneOf: ["read", "run", "admin"] }),
    "agent-id": option("NAME", "Only what is this agent's; not with admin", { live: "agent" }),
    expires: option("WHEN", "A span from now (12h, 90d, 4w), a date, or an ISO time"),
  },
  examples: [
    ["purser keys create ops --scope admin", "The first one"],
    [
      "purser keys create ci --scope run --agent-id researcher --expires 90d",
      "To run one agent, for a while",
    ],
    ["purser keys create dashboard --scope read > dashboard.key", "Into a file"],
  ],
  run: createKey,
};

async function createKey(ctx: CommandContext): Promise<void> {
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

/** `run, agent researcher only, until 2027-01-31 00:00:00 UTC`. */
function describeKey(
  { scopes, agent_id, expires_at }: Pick<ApiKey, "scopes" | "agent_id" | "expires_at">,
): string {
  return [
    scopes.join(" and "),
    ...(agent_id === null ? [] : [`agent ${agent_id} only`]),
    expires_at === null ? "until it is revoked" : `until ${formatTime(expires_at)} UTC`,
  ].join(", ");
}
