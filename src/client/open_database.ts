import type { Environment } from "../config/mod.ts";
import { type Core, type CoreOptions, openCore } from "../service/mod.ts";
import { createLazyApp, type FetchHandler } from "../http/mod.ts";
import type { Log } from "../kernel/log.ts";

/** Options of `openDatabase`. */
export interface DatabaseOptions extends CoreOptions {
  env: Environment;
  log: Log;
}

/** An open database with the API over it. */
export interface OpenDatabase {
  core: Core;
  app: FetchHandler;
  /** Waits for the runs of this process, cancels those that take longer than `graceMs`, if given, and closes. */
  close(options?: { graceMs?: number }): Promise<void>;
}

/** Opens a database of any kind; other processes may have the same one open. */
export async function openDatabase(options: DatabaseOptions): Promise<OpenDatabase> {
  const core = await openCore(options);
  return { core, app: createLazyApp(core), close: (closing) => core.close(closing) };
}
