import { openProfiles } from "../../../config/mod.ts";
import { messageOf, PurserError } from "../../../kernel/errors.ts";
import { arg, type BareContext, type Command, option } from "../../command.ts";
import { escapeText } from "../../terminal/escape_text.ts";
import { UsageError } from "../../parse/usage_error.ts";

/** `purser profiles add NAME --server URL [--api-key-file FILE]`, or with `--db`. */
export const profilesAdd: Command = {
  name: "profiles add",
  args: [arg("NAME")],
  summary: "Give a server or a database a name",
  detail:
    "Takes --server or --db as the place, and writes it into the config file; all else in the file stays as it is. " +
    "--profile NAME on any command, or PURSER_PROFILE, then stands for it. The key stays in a file of its own, which " +
    "is read when it is needed and shown to that server only.",
  options: {
    "api-key-file": option("FILE", "A file with the key for that server", { isFile: true }),
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
  const place = readPlace(ctx);
  const { path, add } = await openProfiles({ env, configPath: options.text("config") });
  try {
    const added = await add({ name, ...place });
    if (ctx.isJson) return ctx.print(JSON.stringify(added));
    ctx.print(
      escapeText(
        `Added profile ${name}: ${
          added.server ?? added.db
        }, in ${path}. Try it: purser doctor --profile ${name}`,
      ),
    );
  } catch (error) {
    // What can't be a name or a place is the command line's fault; a file that can't be read is not.
    if (!(error instanceof PurserError) || error.code !== "invalid" || error.message.includes(path)) {
      throw error;
    }
    throw new UsageError(messageOf(error), options.command, error);
  }
}

function readPlace({ options }: BareContext) {
  const { command } = options;
  if (options.has("api-key")) {
    throw new UsageError(
      "Cannot keep --api-key in a profile: others could read it; write the key into a file and give --api-key-file",
      command,
    );
  }
  const [server, db, apiKeyFile] = [options.text("server"), options.text("db"), options.text("api-key-file")];
  if (options.has("profile")) {
    throw new UsageError("Cannot add a profile from --profile: give --server or --db", command);
  }
  if (server === undefined && db === undefined) {
    throw new UsageError("Cannot add a profile without a place: give --server or --db", command);
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
