import { agents } from "./table/agents.ts";
import { alerts } from "./table/alerts.ts";
import { channels } from "./table/channels.ts";
import {
  type ArgSpec,
  type CommandSpec,
  flag,
  type LiveValue,
  type OptionSpec,
  text,
  type Values,
} from "./table/command_spec.ts";
import { keys } from "./table/keys.ts";
import { profiles } from "./table/profiles.ts";
import { running } from "./table/running.ts";
import { service } from "./table/service.ts";
import { sessions } from "./table/sessions.ts";
import { spending } from "./table/spending.ts";
import { state } from "./table/state.ts";

export type { ArgSpec, CommandSpec, LiveValue, OptionSpec, Values };

/** Options that every command takes. */
export const COMMON_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  db: text("PATH|URL", "The database: a file, or libsql://… of a server", { isFile: true }),
  server: text("URL", "Work through a Purser server instead of a database"),
  "api-key": text("KEY", "The key for that server"),
  profile: text("NAME", "A server or a database that the config file names", { live: "profile" }),
  config: text("FILE", "Another config file", { isFile: true }),
  json: flag("Print the API's answer as JSON, errors too"),
  help: flag("Show help"),
};

/**
 * Every command, in the order of the help. It is all that `--help` loads: nothing in `table/` may import more than
 * types. An option has one type in all commands, so that it may stand anywhere on the line.
 */
export const COMMANDS: readonly CommandSpec[] = [
  ...running,
  ...agents,
  ...sessions,
  ...state,
  ...spending,
  ...alerts,
  ...channels,
  ...keys,
  ...profiles,
  ...service,
];
