import { type ListedProfile, openProfiles } from "../../../config/mod.ts";
import { messageOf, PurserError } from "../../../kernel/errors.ts";
import { arg, type BareContext, type Command, option } from "../../command.ts";
import { UsageError } from "../../parse/usage_error.ts";
import { renderTable } from "../../render/render_table.ts";
import { escapeText } from "../../terminal/escape_text.ts";

/** `purser profiles list` */
export const profilesList: Command = {
  name: "profiles list",
  args: [],
  summary: "List the profiles of the config file",
  options: {},
  examples: [["purser profiles list", ""]],
  runWithoutConfig: listProfiles,
};

async function listProfiles(ctx: BareContext): Promise<void> {
  const { path, list } = await openProfiles({ env: ctx.env, configPath: ctx.options.text("config") });
  const profiles = await list();
  if (ctx.isJson) return ctx.print(JSON.stringify(profiles));
  if (profiles.length === 0) {
    return ctx.print(
      `No profiles in ${
        escapeText(path)
      }. Add one: purser profiles add prod --server https://purser.example.com`,
    );
  }
  ctx.print(renderTable(profiles, [
    { title: "NAME", cell: ({ name }) => name, paint: (_, style) => style.bold, cutTo: 8 },
    { title: "KIND", cell: ({ server }) => server === null ? "db" : "server", drop: 2 },
    { title: "TARGET", cell: ({ server, db }) => server ?? db ?? "", cutTo: 16 },
    { title: "SECRET", cell: describeSecret, cutTo: 10, drop: 1 },
  ], ctx.layout));
}

function describeSecret({ api_key_file, has_secret }: ListedProfile): string {
  return api_key_file ?? (has_secret ? "in the config file" : "none");
}

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

/** `purser profiles add NAME --server URL [--api-key-file FILE]`, or with `--db` */
export const profilesAdd: Command = {
  name: "profiles add",
  args: [arg("NAME")],
  summary: "Add a profile for a server or a database",
  detail:
    "Writes --server or --db to the config file under this name; the rest of the file stays as it is. --profile NAME or " +
    "PURSER_PROFILE then selects it for any command. The API key stays in a file of its own, and is sent to that server " +
    "only.",
  options: {
    "api-key-file": option("FILE", "File with the API key for that server", { isFile: true }),
  },
  examples: [
    ["purser profiles add prod --server https://purser.example.com --api-key-file ~/.purser_prod", ""],
    [
      "purser profiles add books --db libsql://books.example.com",
      "A database, its token in PURSER_DB_TOKEN",
    ],
  ],
  runWithoutConfig: addProfile,
};

async function addProfile(ctx: BareContext): Promise<void> {
  const { options, env } = ctx;
  const [name] = ctx.args as [string];
  const target = readTarget(ctx);
  const { path, add } = await openProfiles({ env, configPath: options.text("config") });
  try {
    const added = await add({ name, ...target });
    if (ctx.isJson) return ctx.print(JSON.stringify(added));
    ctx.print(
      escapeText(
        `Added profile ${name}: ${
          added.server ?? added.db
        }, in ${path}. Try it: purser doctor --profile ${name}`,
      ),
    );
  } catch (error) {
    // An invalid name or target is a usage error; a config file that can't be read is not.
    if (!(error instanceof PurserError) || error.code !== "invalid" || error.message.includes(path)) {
      throw error;
    }
    throw new UsageError(messageOf(error), options.command, error);
  }
}

function readTarget({ options }: BareContext) {
  const { command } = options;
  if (options.has("api-key")) {
    throw new UsageError(
      "Cannot store --api-key in a profile: others could read it; write the key to a file and give --api-key-file",
      command,
    );
  }
  const [server, db, apiKeyFile] = [options.text("server"), options.text("db"), options.text("api-key-file")];
  if (options.has("profile")) {
    throw new UsageError("Cannot add a profile from --profile: give --server or --db", command);
  }
  if (server === undefined && db === undefined) {
    throw new UsageError("Cannot add a profile without a target: give --server or --db", command);
  }
  if (apiKeyFile === "") throw new UsageError("Cannot use --api-key-file: it is empty", command);
  if (db !== undefined && apiKeyFile !== undefined) {
    throw new UsageError(
      "Cannot use --api-key-file with --db: a database takes no API key; set PURSER_DB_TOKEN",
      command,
    );
  }
  return { server, db, apiKeyFile };
}
