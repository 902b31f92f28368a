import { PAGE_SIZES } from "../../../contract/limits.ts";
import { SUBJECT_TAGS } from "../../../contract/tags/tags.ts";
import { KEY_STATUSES, SCOPES } from "../../../contract/values.ts";
import { DAY_MS } from "../../../kernel/clock.ts";
import type { ApiKey } from "../../../keys/mod.ts";
import { arg, type Command, type CommandContext, flag, option } from "../../command.ts";
import { checkId, idInPath } from "../../parse/command_id.ts";
import { orNone } from "../../parse/given_fields.ts";
import { Options } from "../../parse/options.ts";
import { parseDuration, parseExpiry } from "../../parse/parse_time.ts";
import { readTags } from "../../parse/parse_tags.ts";
import { UsageError } from "../../parse/usage_error.ts";
import { formatTime } from "../../render/format_values.ts";
import { earlierName, findId, type Kind } from "../authored_commands.ts";

/** API keys, as their commands know them. */
const KEYS: Kind = {
  group: "keys",
  noun: "key",
  one: "an API key",
  arg: arg("KEY", { live: "key" }),
  isId: (text) => /^key_[0-9a-z]{1,64}$/.test(text),
  /** A name is that of the active key that has it, if there is one. */
  async listNamed(api, name) {
    const list = async (query: { name?: string }) =>
      (await (await api.keys.$get({ query: { ...query, limit: String(PAGE_SIZES.keys.max) } })).json())
        .map(({ key_id, name, status }) => ({ id: key_id, name, status }));
    const named = await list({ name });
    const active = named.filter(({ status }) => status === "active");
    return active.length > 0 ? active : named.length > 0 ? named : await list({});
  },
  remove: (api, id) => api.keys[":key_id"].$delete({ param: { key_id: idInPath(id) } }),
};

/** Returns the id of the key that a command has as its argument. An error doesn't quote a key that was typed by mistake. */
async function findKeyId(ctx: CommandContext): Promise<string> {
  const { command } = ctx.options;
  if (!ctx.args[0]!.startsWith("psr_")) return await findId(ctx, KEYS);
  const verb = command.split(" ")[1];
  throw new UsageError(
    `Cannot ${verb} by the key itself: give its name or its id; see purser keys list`,
    command,
  );
}

/** `purser keys add NAME --scope SCOPE…`. Standard output is the key alone, for a file or a variable. */
const keysAdd: Command = {
  name: "keys add",
  args: [arg("NAME")],
  summary: "Create an API key, and show it once",
  detail:
    "Scopes: read sees everything but keys; run runs agents and reports calls; call calls models through the gateway and " +
    "nothing else; report reports calls made elsewhere and nothing else; admin does all of that, and changes settings and keys. Once a key exists, servers on this database refuse requests without one. With --agent, the ids that a client " +
    "chooses for new calls, sessions and runs have to be AGENT_ID:NAME. The calls of a key get its tags, whatever tags its holder " +
    "gives; user, team, project and customer are what cost --by knows by name. The key goes to standard output, everything else to " +
    "standard error. With --output, the key goes to that file alone.",
  options: {
    scope: option("SCOPE", "read, run, call, report, approve or admin; repeat for more", { oneOf: SCOPES }),
    agent: option("NAME", "Restrict the key to this agent; not with admin", { live: "agent" }),
    model: option(
      "NAME",
      "Restrict calls through the gateway to this model, or to claude-*; repeat for more",
    ),
    "stop-before-credits": flag(
      "Refuse its calls through the gateway that would spend a plan's paid credits",
    ),
    tag: option("KEY=VALUE", "Tag of all its calls, such as user=anna; repeat for more", { live: "tag" }),
    expires: option("WHEN", "Expiry: a duration from now (12h, 90d, 4w), a date, or an ISO time"),
    output: option("FILE", "A new file for the key, which only its user can read", { isFile: true }),
  },
  examples: [
    ["purser keys add ops --scope admin", "The first key"],
    [
      "purser keys add ci --scope run --agent researcher --expires 90d",
      "To run one agent, for 90 days",
    ],
    ["purser keys add anna --scope call --tag user=anna --tag team=search", "For a person of a team"],
    ["purser keys add dashboard --scope read --output dashboard.key", "Into a file, for api_key_file"],
  ],
  run: addKey,
};

async function addKey(ctx: CommandContext): Promise<void> {
  const { options, clock } = ctx;
  const name = ctx.args[0]!;
  if (name.trim() === "") {
    throw new UsageError("Cannot create a key with a blank name", options.command);
  }
  const scopes = readScopes(ctx);
  const agentId = options.read("agent", checkId);
  const given = options.texts("model");
  const models = given.length === 0 ? undefined : [...given];
  const stop_before_credits = options.has("stop-before-credits") || undefined;
  const tags = readTags(options);
  const expiresAt = options.read("expires", (text) => parseExpiry(text, clock.now()));
  if (agentId !== undefined && scopes.includes("admin")) {
    throw new UsageError(
      "Cannot use --agent with the scope admin, which covers all agents",
      options.command,
    );
  }
  const { api } = await ctx.connect();
  const [before] = await (await api.keys.$get({ query: { limit: "1" } })).json();
  const { printKey } = await import("./print_key.ts");
  const { created, where } = await printKey(ctx, "no key was created", async () => {
    const json = {
      name,
      scopes,
      agent_id: agentId,
      models,
      stop_before_credits,
      tags,
      expires_at: expiresAt,
    };
    return await (await api.keys.$post({ json })).json();
  });
  if (ctx.isJson) return;
  ctx.say(`Created key ${created.key_id} ${created.name}: ${describeKey(created)}. ${where}`);
  if (before) return;
  ctx.warn(
    "This is the first key: from now on, servers on this database refuse requests without one, from this machine too. " +
      "Commands that open the database themselves need no key",
  );
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
  { scopes, agent_id, models, stop_before_credits, tags, expires_at }: Pick<
    ApiKey,
    "scopes" | "agent_id" | "models" | "stop_before_credits" | "tags" | "expires_at"
  >,
): string {
  return [
    scopes.join(" and "),
    ...(agent_id === null ? [] : [`agent ${agent_id} only`]),
    ...(models === null ? [] : [`${models.join(" and ")} only`]),
    ...(stop_before_credits ? ["before paid credits"] : []),
    ...describeTags(tags),
    expires_at === null ? "until it is revoked" : `until ${formatTime(expires_at)} UTC`,
  ].join(", ");
}

/** Describes tags: `user=anna`, `team=search`. */
export const describeTags = (tags: ApiKey["tags"]) =>
  Object.entries(tags).map(([name, value]) => `${name}=${value}`);

/** `purser keys list [--status STATUS] [--limit N]` */
const keysList: Command = {
  name: "keys list",
  args: [],
  summary: "List API keys, newest first",
  detail:
    "Includes expired and revoked keys, unless --status is given, and the number of browsers that are signed in to the " +
    "dashboard with a key. The keys themselves are never shown.",
  options: {
    status: option("STATUS", "Only keys of this status", { oneOf: KEY_STATUSES }),
    limit: option("N", "Maximum number of keys, 1 to 1000 (default 100)"),
  },
  examples: [["purser keys list --status active", ""]],
  isReadOnly: true,
  async run(ctx) {
    const { listKeys } = await import("./show_keys.ts");
    await listKeys(ctx);
  },
};

/** `purser keys show KEY` */
const keysShow: Command = {
  name: "keys show",
  args: [KEYS.arg],
  summary: "Show an API key, but not its secret",
  options: {},
  examples: [["purser keys show laptop", ""]],
  isReadOnly: true,
  async run(ctx) {
    const { showKey } = await import("./show_keys.ts");
    await showKey(ctx, await findKeyId(ctx));
  },
};

/** `purser keys set KEY` */
const keysSet: Command = {
  name: "keys set",
  args: [KEYS.arg],
  summary: "Change the tags, expiry or guard of an API key",
  detail:
    "Tags are of the calls that the key makes from then on; --tag replaces the value of a tag that it has. " +
    "With --stop-before-credits, its calls through the gateway are refused once the provider has said that the quota of the " +
    "plan has ended, until its window resets; purser plans shows the windows. Other servers on the same database know it within 5 seconds.",
  options: {
    tag: option("KEY=VALUE", "Tag of all its calls, such as user=anna; repeat for more", { live: "tag" }),
    untag: option("KEY", "Name of a tag to remove; repeat for more", { some: SUBJECT_TAGS }),
    expires: option("WHEN", "A new expiry: a duration from now, a date, an ISO time, or none", {
      some: ["90d", "none"],
    }),
    "stop-before-credits": flag(
      "Refuse its calls through the gateway that would spend a plan's paid credits",
    ),
    "allow-credits": flag("Let its calls spend paid credits"),
  },
  examples: [
    ["purser keys set anna --tag team=billing --untag project", "She has changed teams"],
    ["purser keys set laptop --stop-before-credits", ""],
  ],
  needsDatabase: true,
  run: setKey,
};

async function setKey(ctx: CommandContext): Promise<void> {
  const { changeKey } = await import("./change_key.ts");
  await changeKey(ctx, () => findKeyId(ctx), describeKey);
}

/** `purser whoami` */
const whoami: Command = {
  name: "whoami",
  args: [],
  summary: "Show what your API key has spent and may spend",
  detail:
    "For the holder of a key of any scope, with its server and the key: of a profile, of the environment, or --server and " +
    "--api-key. Also lists its newest sessions and refused calls.",
  options: {},
  examples: [["purser whoami", "With PURSER_SERVER and PURSER_API_KEY"]],
  isReadOnly: true,
  async run(ctx) {
    const { showOwnView } = await import("./show_own_view.ts");
    await showOwnView(ctx);
  },
};

/** The longest time for which the secret before is accepted. */
const MAX_GRACE_MS = 30 * DAY_MS;

/** `purser keys rotate KEY` */
const keysRotate: Command = {
  name: "keys rotate",
  args: [KEYS.arg],
  summary: "Give an API key a new secret, and show it once",
  detail:
    "The key keeps its id, name, permissions, costs and budgets. The old secret ends at once (on other servers of the " +
    "same database within 5 seconds), or with --grace after a time; browsers that are signed in with the key have to " +
    "sign in again. The new key goes to standard output, or with --output to that file alone.",
  options: {
    grace: option("DURATION", "How long the present secret is accepted too: 30m, 12h, 7d, at most 30d"),
    expires: option(
      "WHEN",
      "A new expiry: a duration from now, a date, an ISO time, or none (deprecated: never)",
      {
        some: ["90d", "none"],
      },
    ),
    output: option("FILE", "A new file for the key, which only its user can read", { isFile: true }),
  },
  examples: [
    ["purser keys rotate laptop", ""],
    ["purser keys rotate ci --grace 24h --expires 90d", "While it is replaced everywhere"],
  ],
  needsDatabase: true,
  run: rotateKey,
};

async function rotateKey(ctx: CommandContext): Promise<void> {
  const { options, clock } = ctx;
  const json = {
    grace_seconds: options.read("grace", (text) => parseDuration(text, MAX_GRACE_MS) / 1_000),
    expires_at: options.read(
      "expires",
      orNone((text) => text === "never" ? null : parseExpiry(text, clock.now())),
    ),
  };
  const keyId = await findKeyId(ctx);
  const { api } = await ctx.connect();
  const { printKey } = await import("./print_key.ts");
  const { created, where } = await printKey(ctx, "the key is as it was", async () => {
    const param = { key_id: idInPath(keyId) };
    return await (await api.keys[":key_id"].rotate.$post({ param, json })).json();
  });
  if (ctx.isJson) return;
  const { previous_valid_until: until } = created;
  const before = until === undefined ? "is not valid any more" : `is valid until ${formatTime(until)} UTC`;
  ctx.say(
    `Key ${created.key_id} ${created.name} has a new secret: ${
      describeKey(created)
    }. ${where}. The one before ${before}`,
  );
}

/** `purser keys remove KEY`. The API's response has no body, so `--json` prints nothing. */
const keysRemove: Command = {
  name: "keys remove",
  args: [KEYS.arg],
  summary: "Revoke an API key permanently",
  detail:
    "The key is named by its id, or by its name if no other key has it. Servers on the same database refuse it within 5 " +
    "seconds; keys list and keys show still have it. To replace it, give it a new secret instead: purser keys rotate.",
  options: {},
  examples: [["purser keys remove laptop", ""], ["purser keys remove key_42", "By its id"]],
  needsDatabase: true,
  run: removeKey,
};

async function removeKey(ctx: CommandContext): Promise<void> {
  const keyId = await findKeyId(ctx);
  const { api } = await ctx.connect();
  // Read before the key is revoked: it may be the key that this command uses.
  const active = await (await api.keys.$get({ query: { status: "active", limit: "2" } })).json();
  await KEYS.remove(api, keyId);
  if (ctx.isJson) return;
  ctx.print(`Revoked key ${keyId}; this can't be undone`);
  if (active.some((key) => key.key_id !== keyId)) return;
  ctx.warn(
    "There is no active key left: servers on this database refuse all requests until there is one. On the database " +
      "itself: purser keys add NAME --scope admin",
  );
}

/** The commands of API keys, in the order of the help. */
export const KEY_COMMANDS: readonly Command[] = [
  keysList,
  keysShow,
  keysAdd,
  keysSet,
  keysRotate,
  keysRemove,
  whoami,
  earlierName("keys create", keysAdd),
  earlierName("keys revoke", keysRemove),
];
