import { ownDatabase } from "../../client/mod.ts";
import { PurserError } from "../../errors.ts";
import { serve } from "../../http/mod.ts";
import type { CommandContext } from "../command.ts";

/** How long requests and runs get to end after Ctrl-C, before they are cancelled. */
const GRACE_MS = 30_000;

/** `purser serve`: owns the database and answers until Ctrl-C or SIGTERM. */
export async function serveCommand(ctx: CommandContext): Promise<void> {
  const { config, env, log, say, terminal: { interrupted } } = ctx;
  if (config.server !== undefined) {
    throw new PurserError("invalid", "Cannot serve with a server set: take --server or PURSER_SERVER away");
  }
  const stopped = Promise.withResolvers<void>();
  interrupted.addEventListener("abort", () => stopped.resolve(), { once: true });
  if (interrupted.aborted) stopped.resolve();

  const database = await ownDatabase({ config, env, log, say });
  try {
    const server = await serve(database.core, database.app, { host: config.host, port: config.port });
    say(`Purser answers at ${server.url} (docs at ${server.url}/docs, database ${config.dbUrl})`);
    await stopped.promise;
    say("Ending what is in progress; Ctrl-C again ends at once");
    database.core.stop();
    await Promise.all([server.shutdown(), database.core.endRuns({ graceMs: GRACE_MS })]);
  } finally {
    await database.close({ graceMs: GRACE_MS });
  }
}
