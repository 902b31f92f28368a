import { PAGE_SIZES } from "../../../contract/limits.ts";
import { KEY_STATUSES, SCOPES } from "../../../contract/values.ts";
import { messageOf, PurserError } from "../../../kernel/errors.ts";
import { files } from "../../../kernel/files/files.ts";
import { systemReason } from "../../../kernel/system_errors.ts";
import type { ApiKey } from "../../../keys/mod.ts";
import { arg, type Command, type CommandContext, option } from "../../command.ts";
import { checkId, idInPath } from "../../parse/command_id.ts";
import { Options } from "../../parse/options.ts";
import { parseExpiry } from "../../parse/parse_time.ts";
import { UsageError } from "../../parse/usage_error.ts";
import { formatTime } from "../../render/format_values.ts";
import { hasMore, printAnswer } from "../../render/print_answer.ts";
import { putIdsBelow, renderTable } from "../../render/render_table.ts";
import { escapeText } from "../../terminal/escape_text.ts";
import type { Paint, Style } from "../../terminal/style.ts";

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

const NONE =
  "No keys yet: servers answer this machine only. Create one: purser keys create ops --scope admin";

/** The width of the narrowest name, the status and all scopes beside an id. */
const ROOM_BESIDE_ID = 37;

/** `purser keys list [--status STATUS] [--limit N]` */
export const keysList: Command = {
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
  run: listKeys,
};

async function listKeys(ctx: CommandContext): Promise<void> {
  const status = ctx.options.oneOf("status", KEY_STATUSES);
  const limit = ctx.options.wholeNumber("limit", { min: 1, max: PAGE_SIZES.keys.max }) ?? 100;
  const { api } = await ctx.connect();
  const answer = await api.keys.$get({ query: { status, limit: String(limit) } });
  await printAnswer(ctx, answer, (keys) => {
    if (keys.length === 0) return status === undefined ? NONE : `No ${status} keys`;
    const minute = (time: string | null, none: string) =>
      time === null ? none : formatTime(time).slice(0, 16);
    const { columns } = ctx.terminal.stdout;
    const widestId = Math.max(...keys.map(({ key_id }) => key_id.length));
    // Revoking a key needs the whole id, so it is never cut.
    const isBeside = columns === undefined || widestId + ROOM_BESIDE_ID <= columns;
    const table = renderTable(keys, [
      { title: "NAME", cell: (key) => key.name, paint: (_, style) => style.bold, cutTo: 8 },
      ...isBeside ? [{ title: "ID", cell: (key: typeof keys[number]) => key.key_id }] : [],
      { title: "STATUS", cell: (key) => key.status, paint: paintKeyStatus },
      { title: "SCOPES", cell: (key) => key.scopes.join(", ") },
      { title: "AGENT", cell: (key) => key.agent_id ?? "all", cutTo: 8, drop: 3 },
      { title: "EXPIRES (UTC)", cell: (key) => minute(key.expires_at, "never"), drop: 2 },
      ...keys.some(({ web_sessions }) => web_sessions > 0)
        ? [{ title: "SESSIONS", cell: (key: typeof keys[number]) => String(key.web_sessions), drop: 4 }]
        : [],
      { title: "LAST USED (UTC)", cell: (key) => minute(key.last_used_at, "never"), drop: 1 },
    ], { columns, style: ctx.style, hasUnicode: ctx.terminal.hasUnicode });
    return isBeside ? table : putIdsBelow(table, keys.map(({ key_id }) => ctx.style.dim(escapeText(key_id))));
  });
  if (!ctx.isJson && hasMore(answer)) ctx.say("There are more keys; --limit shows up to 1000");
}

/** The colour of a key's status. */
function paintKeyStatus({ status }: Pick<ApiKey, "status">, style: Style): Paint {
  return { active: style.green, expired: style.yellow, revoked: style.dim }[status];
}

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
