import type { ApiKey } from "../../../keys/mod.ts";
import { messageOf, PurserError } from "../../../kernel/errors.ts";
import { files } from "../../../kernel/files/files.ts";
import { systemReason } from "../../../kernel/system_errors.ts";
import { SCOPES } from "../../../contract/values.ts";
import { arg, type Command, type CommandContext, option } from "../../command.ts";
import { checkId } from "../../parse/command_id.ts";
import { formatTime } from "../../render/format_values.ts";
import { escapeText } from "../../terminal/escape_text.ts";
import { Options } from "../../parse/options.ts";
import { parseExpiry } from "../../parse/parse_time.ts";
import { UsageError } from "../../parse/usage_error.ts";

/** `purser keys create NAME --scope SCOPE…`. Standard output is the key alone, for a file or a variable. */
export const keysCreate: Command = {
  name: "keys create",
  args: [arg("NAME")],
  summary: "Create an API key, and show it once",
  detail:
    "Scopes: read sees everything but keys; run runs agents and reports calls; call calls models through the gateway and " +
    "nothing else; admin does all of that, and changes settings and keys. Once a key exists, servers on this database refuse requests without one. With --agent, the ids that a client " +
    "chooses for new calls, sessions and runs have to be AGENT_ID:NAME. The key goes to standard output, everything else to " +
    "standard error. With --output, the key goes to that file alone.",
  options: {
    scope: option("SCOPE", "read, run, call or admin; repeat for more", { oneOf: SCOPES }),
    agent: option("NAME", "Restrict the key to this agent; not with admin", { live: "agent" }),
    model: option(
      "NAME",
      "Restrict calls through the gateway to this model, or to claude-*; repeat for more",
    ),
    expires: option("WHEN", "Expiry: a duration from now (12h, 90d, 4w), a date, or an ISO time"),
    output: option("FILE", "A new file for the key, which only its user can read", { isFile: true }),
  },
  examples: [
    ["purser keys create ops --scope admin", "The first key"],
    [
      "purser keys create ci --scope run --agent researcher --expires 90d",
      "To run one agent, for 90 days",
    ],
    ["purser keys create dashboard --scope read --output dashboard.key", "Into a file, for api_key_file"],
  ],
  run: createKey,
};

async function createKey(ctx: CommandContext): Promise<void> {
  const { options, clock } = ctx;
  const name = ctx.args[0]!;
  if (name.trim() === "") {
    throw new UsageError("Cannot create a key with a blank name", options.command);
  }
  const scopes = readScopes(ctx);
  const agentId = options.read("agent", checkId);
  const given = options.texts("model");
  const models = given.length === 0 ? undefined : [...given];
  const expiresAt = options.read("expires", (text) => parseExpiry(text, clock.now()));
  if (agentId !== undefined && scopes.includes("admin")) {
    throw new UsageError(
      "Cannot use --agent with the scope admin, which covers all agents",
      options.command,
    );
  }
  const { api } = await ctx.connect();
  const [before] = await (await api.keys.$get({ query: { limit: "1" } })).json();
  const path = options.text("output");
  if (path !== undefined) await reserveFile(path);
  let created: ApiKey & { key: string };
  try {
    const json = { name, scopes, agent_id: agentId, models, expires_at: expiresAt };
    created = await (await api.keys.$post({ json })).json();
  } catch (error) {
    if (path !== undefined) await files.remove(path).catch(() => {});
    throw error;
  }
  const { key, ...rest } = created;
  if (path === undefined) ctx.print(ctx.isJson ? JSON.stringify(created) : escapeText(key));
  else {
    await writeKey(ctx, path, created);
    if (ctx.isJson) ctx.print(JSON.stringify({ ...rest, file: path }));
  }
  if (ctx.isJson) return;
  const where = path === undefined ? "It is shown only once; store it safely" : `It is in ${path} alone`;
  ctx.say(`Created key ${created.key_id} ${created.name}: ${describeKey(created)}. ${where}`);
  if (before) return;
  ctx.warn(
    "This is the first key: from now on, servers on this database refuse requests without one, from this machine too. " +
      "Commands that open the database themselves need no key",
  );
}

/** Creates the file before the key: a key that can't be kept must not be made. */
async function reserveFile(path: string): Promise<void> {
  try {
    await files.writeNew(path, "");
  } catch (error) {
    const reason = systemReason(error);
    throw new PurserError("conflict", `Cannot write the key to ${path}: ${reason}; no key was created`, {
      cause: error,
    });
  }
}

/** Writes a key to its file, or revokes it. */
async function writeKey(ctx: CommandContext, path: string, created: { key_id: string; key: string }) {
  const { replaceFile } = await import("../../../kernel/files/replace_file.ts");
  try {
    await replaceFile(path, `${created.key}\n`);
  } catch (error) {
    const { api } = await ctx.connect();
    const { key_id } = created;
    await api.keys[":key_id"].$delete({ param: { key_id } });
    throw new PurserError("unavailable", `${messageOf(error)}; key ${key_id} was revoked`, { cause: error });
  }
}

function readScopes({ options }: CommandContext) {
  const scopes = options.texts("scope");
  if (scopes.length === 0) {
    throw new UsageError(`Cannot create a key without --scope: ${SCOPES.join(", ")}`, options.command);
  }
  return scopes.map((text) => {
    const one = new Options(new Map([["scope", [text]]]), options.command);
    return one.oneOf("scope", SCOPES)!;
  });
}

/** Describes a key: `run, agent researcher only, until 2027-01-31 00:00:00 UTC`. */
function describeKey(
  { scopes, agent_id, models, expires_at }: Pick<ApiKey, "scopes" | "agent_id" | "models" | "expires_at">,
): string {
  return [
    scopes.join(" and "),
    ...(agent_id === null ? [] : [`agent ${agent_id} only`]),
    ...(models === null ? [] : [`${models.join(" and ")} only`]),
    expires_at === null ? "until it is revoked" : `until ${formatTime(expires_at)} UTC`,
  ].join(", ");
}
