import type { OpenDatabase } from "../../client/mod.ts";
import { type Command, type CommandContext, option } from "../command.ts";
import { findOwnAddress, SETTING_ROWS, withNames } from "../../config/mod.ts";
import type { Listening } from "../../http/server/mod.ts";
import { PurserError } from "../../kernel/errors.ts";
import { EXIT } from "../exit_code.ts";
import { UsageError } from "../parse/usage_error.ts";

/** `purser serve` */
export const serve: Command = {
  name: "serve",
  args: [],
  summary: "Serve the API until Ctrl-C",
  detail:
    "Without an API key the server answers this machine only, and refuses to listen on other addresses; see purser " +
    "keys. After Ctrl-C, requests and runs in progress get 8 seconds to end, or as long as " +
    "limits.shutdown_seconds of the config file allows. A second Ctrl-C exits at once.",
  options: Object.fromEntries(
    SETTING_ROWS.flatMap((row) =>
      row.option ? [[row.optionName, option(...row.option, row.oneOf && { oneOf: row.oneOf })]] : []
    ),
  ),
  examples: [
    ["purser serve", "On http://127.0.0.1:8420, with the dashboard at /ui/"],
    ["purser serve --host 0.0.0.0", "For other machines, once there is a key"],
    ["purser serve --db libsql://books.example.com --port 9000", "Over a shared database"],
  ],
  handlesInterrupt: true,
  run: serveApi,
};

async function serveApi(ctx: CommandContext): Promise<number | void> {
  const { config, env, log, say, terminal: { interrupted } } = ctx;
  if (config.server !== undefined) {
    throw new UsageError(
      config.profile === undefined
        ? "Cannot serve while a server is set: remove --server or PURSER_SERVER"
        : `Cannot serve while a server is set: the profile ${config.profile} names one; use another profile`,
      ctx.options.command,
    );
  }
  await checkProviders(ctx);
  const shutdownMs = config.limits.shutdownSeconds * 1_000;
  const stopped = Promise.withResolvers<void>();
  interrupted.addEventListener("abort", () => stopped.resolve(), { once: true });
  if (interrupted.aborted) stopped.resolve();

  const { openDatabase } = await import("../../client/mod.ts");
  const { checkChannels } = await import("../../delivery/channels/mod.ts");
  const { createApp } = await import("../../http/mod.ts");
  const { listenOptionsOf, serve: listen } = await import("../../http/server/mod.ts");
  const { keepPricesCurrent, watchServerDurability } = await import("../../service/mod.ts");
  const database = await Promise.race([openDatabase({ config, env, log, isServer: true }), stopped.promise]);
  if (!database) return EXIT.interrupted;
  ctx.terminal.beforeForcedExit?.(() => database.core.abandonRuns());
  try {
    await checkChannels(database.core.channels, config.configPath);
    await watchServerDurability(database.core);
    keepPricesCurrent(database.core, config);
    const server = await listen(database.core, await createApp(database.core), listenOptionsOf(config));
    await serveUntil(stopped.promise, {
      server,
      core: database.core,
      shutdownMs,
      say,
      onStart: async () => {
        await warnOfMissingKey(ctx, database);
        say(
          `Purser answers at ${server.url} (dashboard at ${server.url}/ui/, docs at ${server.url}/docs, ` +
            `database ${config.dbUrl})`,
        );
      },
    });
  } finally {
    await database.close({ graceMs: shutdownMs * 0.05 });
  }
}

/**
 * Waits until a server is stopped, and shuts it down. Throws the reason of one that can no longer accept connections, so that
 * the process ends with an error, and a supervisor starts it again.
 */
export async function serveUntil(stopped: Promise<void>, { server, core, shutdownMs, say, onStart }: {
  server: Pick<Listening, "failed" | "shutdown">;
  core: OpenDatabase["core"];
  shutdownMs: number;
  say: (line: string) => void;
  onStart: () => Promise<void>;
}): Promise<void> {
  const { endLiveRuns } = await import("../../sessions/mod.ts");
  try {
    await onStart();
    await Promise.race([stopped, server.failed]);
    say("Shutting down; Ctrl-C again exits at once");
  } finally {
    core.stop();
    // Runs first, then the requests that wait for them, then the database.
    await Promise.all([
      server.shutdown({ graceMs: shutdownMs * 0.7, lingerMs: shutdownMs * 0.1 }),
      endLiveRuns(core, shutdownMs * 0.6),
    ]);
  }
}

/** Refuses to serve where a provider's address is that of the server: each call would call itself. */
async function checkProviders({ config, env }: CommandContext): Promise<void> {
  const own = findOwnAddress(await withNames(config), { providers: config.providers, env });
  if (own === undefined) return;
  throw new PurserError(
    "invalid",
    `Cannot serve: ${own.setting} is the address of this server, so that each call to ${own.provider} would call itself; ` +
      own.remedy,
  );
}

/** Warns if keys exist and all are invalid: every request is refused, which may be intended. */
async function warnOfMissingKey({ warn }: CommandContext, { core }: OpenDatabase): Promise<void> {
  const { isAuthRequired, hasUsableKey } = await import("../../keys/mod.ts");
  if (!await isAuthRequired(core) || await hasUsableKey(core)) return;
  warn(
    "No API key is active, so every request is refused until there is one: purser keys add NAME --scope admin",
  );
}
