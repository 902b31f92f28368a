import { checkChannels } from "../../channels/mod.ts";
import { explainBusyFile, ownDatabase, type OwnedDatabase } from "../../client/mod.ts";
import { serve, warnOfWeakServer } from "../../http/mod.ts";
import { areKeysAskedFor, hasUsableKey } from "../../keys/mod.ts";
import type { CommandContext } from "../command.ts";
import { EXIT } from "../exit_code.ts";
import { UsageError } from "../usage_error.ts";

/** How long requests and runs get to end after Ctrl-C, before they are cancelled. */
const GRACE_MS = 30_000;

/** How long another process may keep the database file: a command that is about to end. */
const PATIENCE_MS = 10_000;
const RETRY_MS = 100;

/** `purser serve`: owns the database and answers until Ctrl-C or SIGTERM. */
export async function serveCommand(ctx: CommandContext): Promise<number | void> {
  const { config, say, terminal: { interrupted } } = ctx;
  if (config.server !== undefined) {
    throw new UsageError(
      config.profile === undefined
        ? "Cannot serve with a server set: take --server or PURSER_SERVER away"
        : `Cannot serve with a server set: the profile ${config.profile} names one; take it away`,
      ctx.options.command,
    );
  }
  const stopped = Promise.withResolvers<void>();
  interrupted.addEventListener("abort", () => stopped.resolve(), { once: true });
  if (interrupted.aborted) stopped.resolve();

  const database = await Promise.race([ownWhenFree(ctx), stopped.promise]);
  if (!database) return EXIT.interrupted;
  try {
    await checkChannels(database.core.channels, config.configPath);
    await warnOfWeakServer(database.core);
    const { createApp } = await import("../../http/api.ts");
    const server = await serve(database.core, createApp(database.core), {
      host: config.host,
      port: config.port,
    });
    await tellOfKeys(ctx, database);
    say(`Purser answers at ${server.url} (docs at ${server.url}/docs, database ${config.dbUrl})`);
    await stopped.promise;
    say("Ending what is in progress; Ctrl-C again ends at once");
    database.core.stop();
    await Promise.all([
      server.shutdown({ graceMs: GRACE_MS }),
      database.core.endRuns({ graceMs: GRACE_MS - 5_000 }),
    ]);
  } finally {
    await database.close({ graceMs: GRACE_MS });
  }
}

/** That nobody can come in is no fault, keys may be on their way, but nobody should have to find out by himself. */
async function tellOfKeys({ warn }: CommandContext, { core }: OwnedDatabase): Promise<void> {
  if (!await areKeysAskedFor(core) || await hasUsableKey(core)) return;
  warn(
    "No API key is active, so nobody is answered until there is one: purser keys create NAME --scope admin",
  );
}

async function ownWhenFree(
  { config, env, log, say, clock, terminal }: CommandContext,
): Promise<OwnedDatabase> {
  const deadline = clock.monotonic() + PATIENCE_MS;
  for (;;) {
    try {
      return await ownDatabase({ config, env, log, say });
    } catch (error) {
      if ((error as Error)?.name !== "StoreBusyError") throw error;
      if (clock.monotonic() >= deadline) throw await explainBusyFile(config.dbUrl, PATIENCE_MS);
      await clock.sleep(RETRY_MS, terminal.interrupted);
    }
  }
}
