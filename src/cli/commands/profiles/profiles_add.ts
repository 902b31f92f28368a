import { openProfiles } from "../../../config/mod.ts";
import { messageOf, PurserError } from "../../../kernel/errors.ts";
import { arg, type BareContext, type Command, option } from "../../command.ts";
import { escapeText } from "../../terminal/escape_text.ts";
import { UsageError } from "../../parse/usage_error.ts";

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
