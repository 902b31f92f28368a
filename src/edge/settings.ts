import { type Config, type Environment, loadConfig } from "../config/mod.ts";
import { parseDatabaseUrl } from "../kernel/database_url.ts";
import { unsupportedAtEdge } from "./limits.ts";

/** What a runtime hands to its handlers: variables and secrets, and bindings of other kinds. */
export type EdgeBindings = Readonly<Record<string, unknown>>;

/** Takes the texts out of the bindings. The config document may also be given as an object. */
export function environmentOf(bindings: EdgeBindings): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(bindings)) {
    if (typeof value === "string") env[name] = value;
    else if (name === "PURSER_CONFIG_JSON") env[name] = JSON.stringify(value);
  }
  return env;
}

/**
 * Settles every setting from the environment that the runtime has passed in.
 *
 * @throws {PurserError} `unsupported` for what an edge can't do; `invalid` for what is wrong
 */
export async function loadEdgeConfig(env: Environment): Promise<Config> {
  if (env.PURSER_CONFIG) throw unsupportedAtEdge("read a config file", "config_file");
  const config = await loadConfig({ env, defaults: { logLevel: "info" }, readTextFile: findNoFile });
  checkEdgeConfig(config);
  return config;
}

/** Throws `unsupported` where settings ask for what an edge can't do. */
export function checkEdgeConfig(config: Pick<Config, "dbUrl" | "tools">): void {
  const { kind } = parseDatabaseUrl(config.dbUrl);
  if (kind !== "remote") throw unsupportedAtEdge("use a local database", "local_database");
  if (config.tools.length > 0) throw unsupportedAtEdge("load tools from disk", "tools");
}

/** A home directory among the variables is none here. */
function findNoFile(): Promise<never> {
  return Promise.reject(Object.assign(new Error("there are no files"), { code: "ENOENT" }));
}
