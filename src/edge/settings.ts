import { type Config, type Environment, loadConfig } from "../config/mod.ts";
import { parseDatabaseUrl } from "../kernel/database_url.ts";
import { unsupportedAtEdge } from "./limits.ts";

/** The bindings that a runtime passes to its handlers: variables, secrets and others. */
export type EdgeBindings = Readonly<Record<string, unknown>>;

/** Returns the bindings that are strings. The config document may also be an object. */
export function environmentOf(bindings: EdgeBindings): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(bindings)) {
    if (typeof value === "string") env[name] = value;
    else if (name === "PURSER_CONFIG_JSON") env[name] = JSON.stringify(value);
  }
  return env;
}

/**
 * Loads the settings from the environment that the runtime passes in.
 *
 * @throws {PurserError} `unsupported` for settings that an edge can't have; `invalid` for wrong ones
 */
export async function loadEdgeConfig(env: Environment): Promise<Config> {
  if (env.PURSER_CONFIG) throw unsupportedAtEdge("read a config file", "config_file");
  const config = await loadConfig({ env, defaults: { logLevel: "info" }, readTextFile: findNoFile });
  checkEdgeConfig(config);
  return config;
}

/** Throws `unsupported` for settings that an edge can't have. */
export function checkEdgeConfig(config: Pick<Config, "dbUrl" | "tools">): void {
  const { kind } = parseDatabaseUrl(config.dbUrl);
  if (kind !== "remote") throw unsupportedAtEdge("use a local database", "local_database");
  if (config.tools.length > 0) throw unsupportedAtEdge("load tools from disk", "tools");
}

/** The edge has no files, even where the variables name a home directory. */
function findNoFile(): Promise<never> {
  return Promise.reject(Object.assign(new Error("there are no files"), { code: "ENOENT" }));
}
