import { parseDatabaseUrl } from "../../kernel/database_url.ts";
import { files } from "../../kernel/files/files.ts";
import type { CommandContext } from "../command.ts";

/** Returns the options that name the ledger of this command to another one, which has neither its environment nor its folder. */
export async function ledgerOptions(
  { config, options, env }: Pick<CommandContext, "config" | "options" | "env">,
): Promise<string[]> {
  const { profile, server, dbUrl, dbSource } = config;
  const configFile = options.text("config") ?? env.PURSER_CONFIG;
  return [
    ...configFile ? ["--config", await files.realPath(configFile)] : [],
    ...profile !== undefined
      ? ["--profile", profile]
      : server !== undefined
      ? ["--server", server]
      : dbSource === undefined
      ? []
      : ["--db", await absoluteDatabase(dbUrl)],
  ];
}

async function absoluteDatabase(dbUrl: string): Promise<string> {
  const address = parseDatabaseUrl(dbUrl);
  if (address.kind !== "file") return dbUrl;
  const { resolve } = await import("node:path");
  return resolve(address.path);
}
