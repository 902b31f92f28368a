import type { Config, Environment } from "../config/mod.ts";
import { newSharedKeys } from "../keys/mod.ts";
import type { RequestCoreOptions } from "../service/mod.ts";
import { createJsonLog, type Log, neverThrowing } from "../kernel/log.ts";
import { createLazyPriceBook } from "../pricing/mod.ts";
import { newSharedStore } from "../store/mod.ts";
import { MAX_EDGE_SNAPSHOT_CHARACTERS, unsupportedAtEdge } from "./limits.ts";

/**
 * The state that the requests of one isolate share: settings, prices, and cached facts about the database. It has no
 * connection, and nothing that other instances would need.
 */
export interface Isolate {
  config: Config;
  env: Environment;
  log: Log;
  runtime: RequestCoreOptions["runtime"];
  /** When this isolate last looked for due work of other instances, in epoch milliseconds. */
  lookedAt: number;
}

/** Creates the state that requests share. */
export function createIsolate(
  { config, env, write }: { config: Config; env: Environment; write: (line: string) => void },
): Isolate {
  const log = neverThrowing(createJsonLog({ level: config.logLevel, write }));
  return {
    config,
    env,
    log,
    lookedAt: -Infinity,
    runtime: {
      store: newSharedStore(),
      keys: newSharedKeys(),
      prices: createLazyPriceBook({ overrides: config.prices, log }),
      plugins: { smtp: () => Promise.reject(unsupportedAtEdge("send mail", "mail")) },
      channels: {
        readTextFile: () => Promise.reject(unsupportedAtEdge("read a secret from a file", "secret_files")),
        loadModule: () => Promise.reject(unsupportedAtEdge("load a plugin from disk", "plugins")),
        reachOut: "fetch",
      },
      spool: {
        memoryCharacters: MAX_EDGE_SNAPSHOT_CHARACTERS,
        refuse: () => unsupportedAtEdge("restore a snapshot of this size", "large_snapshots"),
      },
    },
  };
}
