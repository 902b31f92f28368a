import { readEnvironment } from "../../src/config/mod.ts";
import { said } from "./node.ts";

/** Returns the variables by which Deno finds its cache, for a process that gets no other variables: it need not be below HOME. */
export function denoCacheVariables(): Record<string, string> {
  const { DENO_DIR, XDG_CACHE_HOME } = readEnvironment();
  return { ...(DENO_DIR && { DENO_DIR }), ...(XDG_CACHE_HOME && { XDG_CACHE_HOME }) };
}

/** Returns the variable by which npm finds its cache, whichever variable or file has set it. */
export async function npmCacheVariables(): Promise<Record<string, string>> {
  return { npm_config_cache: await said("npm", ["config", "get", "cache"]) };
}
