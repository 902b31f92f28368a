import { checkChannels } from "../../../delivery/channels/mod.ts";
import { type OpenDatabase, openDatabase } from "../../../client/mod.ts";
import { createApp, serve } from "../../../http/mod.ts";
import { watchServerDurability } from "../../../service/mod.ts";
import { endLiveRuns } from "../../../sessions/mod.ts";
import { hasUsableKey, isAuthRequired } from "../../../keys/mod.ts";
import type { CommandContext } from "../../command.ts";
import { EXIT } from "../../exit_code.ts";
import { UsageError } from "../../parse/usage_error.ts";

/** How long requests and runs get to end after Ctrl-C, before they are cancelled. */
const GRACE_MS = 30_000;

/** `purser serve`: answers until Ctrl-C or SIGTERM. */
export async function serveCommand(ctx: CommandContext): Promise<number | void> {
  const { config, env, log, say, terminal: { interrupted } } = ctx;
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

  const database = await Promise.race([openDatabase({ config, env, log }), stopped.promise]);
  if (!database) return EXIT.interrupted;
  try {
    await checkChannels(database.core.channels, config.configPath);
    await watchServerDurability(database.core);
    const server = await serve(database.core, await createApp(database.core), {
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
      endLiveRuns(database.core, GRACE_MS - 5_000),
    ]);
  } finally {
    await database.close({ graceMs: GRACE_MS });
  }
}

/** That nobody can come in is no fault, keys may be on their way, but nobody should have to find out by himself. */
async function tellOfKeys({ warn }: CommandContext, { core }: OpenDatabase): Promise<void> {
  if (!await isAuthRequired(core) || await hasUsableKey(core)) return;
  warn(
    "No API key is active, so nobody is answered until there is one: purser keys create NAME --scope admin",
  );
}
