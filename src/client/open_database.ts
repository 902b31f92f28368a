import type { Environment } from "../config/mod.ts";
import { type Core, type CoreOptions, openCore, openLazyCore, type WholeCore } from "../service/mod.ts";
import { createLazyApp, type FetchHandler } from "../http/mod.ts";
import type { Log } from "../kernel/log.ts";

/** Options of `openDatabase`. */
export interface DatabaseOptions extends CoreOptions {
  env: Environment;
  log: Log;
}

/** An open database with the API over it. */
export interface OpenDatabase<Opened extends Core = WholeCore> {
  core: Opened;
  app: FetchHandler;
  /** Waits for the runs of this process, cancels those that take longer than `graceMs`, if given, and closes. */
  close(options?: { graceMs?: number }): Promise<void>;
}

/** Opens a database of any kind; other processes may have the same one open. */
export async function openDatabase(options: DatabaseOptions): Promise<OpenDatabase> {
  return withApp(await openCore(options));
}

/** Opens a database for a command, which loads what makes calls when it is used. */
export async function openForCommand(options: DatabaseOptions): Promise<OpenDatabase<Core>> {
  return withApp(await openLazyCore(options));
}

function withApp<Opened extends Core>(core: Opened): OpenDatabase<Opened> {
  return { core, app: createLazyApp(core), close: (closing) => core.close(closing) };
}
