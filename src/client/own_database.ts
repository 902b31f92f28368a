import { type Config, type Environment, parseDatabaseUrl } from "../config.ts";
import { type Core, openCore } from "../core.ts";
import { type App, createApp, listen, tokenGuard } from "../http/mod.ts";
import type { Log } from "../log.ts";
import { newOwnerToken, removeOwner, writeOwner } from "./owner_file.ts";

/** What opening a database from an entry needs. */
export interface OwnOptions {
  config: Config;
  env: Environment;
  log: Log;
  /** Tells the person at the terminal something, on stderr. */
  say: (line: string) => void;
}

/** A database that this process works on itself. */
export interface OwnedDatabase {
  core: Core;
  app: App;
  /**
   * Lets what others have in flight end, says so where there is some, and closes. With `graceMs`, runs that
   * take longer are cancelled.
   */
  close(options?: { graceMs?: number }): Promise<void>;
}

/**
 * Opens the database. The owner of a local file answers on loopback for as long, so that commands started
 * beside it go through it; a file beside the database tells them where.
 *
 * @throws {StoreBusyError} another process owns the file
 */
export async function ownDatabase({ config, env, log, say }: OwnOptions): Promise<OwnedDatabase> {
  const address = parseDatabaseUrl(config.dbUrl);
  const core = await openCore({ config, env, log });
  const app = createApp(core);
  if (address.kind !== "file") return { core, app, close: (options) => core.close(options) };

  let isOpen = true;
  let requests = 0;
  const counted = {
    async fetch(request: Request) {
      requests++;
      try {
        return await app.fetch(request);
      } finally {
        requests--;
      }
    },
  } as Pick<App, "fetch"> as App;
  const token = newOwnerToken();
  try {
    const server = await listen(core, counted, { host: "127.0.0.1", port: 0, guard: tokenGuard(token) });
    const owner = { pid: Deno.pid, url: server.url, token };
    await writeOwner(address.path, owner);
    return {
      core,
      app,
      async close(options) {
        if (!isOpen) return;
        isOpen = false;
        // First: who comes now has to wait for the next owner, which may be itself.
        await removeOwner(address.path, owner);
        const waiting = Math.max(requests, core.liveRuns.size);
        if (waiting > 0) {
          say(`Waiting for ${waiting} ${waiting === 1 ? "request" : "requests"} of other commands to end`);
        }
        core.stop();
        await Promise.all([server.shutdown(), core.endRuns(options)]);
        await core.close(options);
      },
    };
  } catch (error) {
    await core.close();
    throw error;
  }
}
