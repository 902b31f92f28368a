import { type Config, loadConfig, readEnvironment } from "./src/config/mod.ts";
import { parseDatabaseUrl } from "./src/kernel/database_url.ts";
import { createEdgeHandler, type EdgeBindings, type EdgeContext, type EdgeHandler } from "./src/edge/mod.ts";
import { messageOf } from "./src/kernel/errors.ts";

/**
 * The server entry. `deno serve main.ts` over a local file is a server as `purser serve` is; over a libSQL server it is an
 * edge: request handlers without state between requests. On other runtimes it is always an edge, with settings from the
 * environment that the runtime passes in.
 */

/** Time for runs to end after SIGTERM, before they are cancelled. */
const GRACE_MS = 30_000;

const write = (line: string) => console.error(line);

interface Server {
  fetch(request: Request, info?: Deno.ServeHandlerInfo): Response | Promise<Response>;
  scheduled?: (bindings: EdgeBindings) => Promise<void>;
}

/** Starts a server over a local file, or an edge over a libSQL server. */
async function startOnDeno(): Promise<Server> {
  const env = readEnvironment();
  const config = await loadConfig({ env, defaults: { logLevel: "info" } });
  const { surviveFaults } = await import("./src/kernel/this_process.ts");
  const { createJsonLog, neverThrowing } = await import("./src/kernel/log.ts");
  const { createSecrets, scrubbedLog } = await import("./src/redaction/values/mod.ts");
  const secrets = createSecrets(); // filled by the database, as it opens
  const log = scrubbedLog(neverThrowing(createJsonLog({ level: config.logLevel, write })), secrets);
  surviveFaults((message) => log.error(message));
  if (parseDatabaseUrl(config.dbUrl).kind === "remote") return startEdgeOnDeno(config, env);

  // Lazy, as everything that the bundle for other runtimes leaves out.
  const [{ openDatabase }, { checkChannels }, { withAccessCheck }, { keepPricesCurrent }] = await Promise.all(
    [
      import("./src/client/mod.ts"),
      import("./src/delivery/channels/mod.ts"),
      import("./src/http/server/mod.ts"),
      import("./src/service/mod.ts"),
    ],
  );
  const { core, app, close } = await openDatabase({ config, env, log, secrets, isServer: true });
  try {
    await checkChannels(core.channels, config.configPath);
  } catch (error) {
    console.error(`error: ${messageOf(error)}`);
    await close({ graceMs: GRACE_MS });
    Deno.exit(1);
  }
  keepPricesCurrent(core, config);
  endOnSignals(() => close({ graceMs: GRACE_MS }));
  // `deno serve` binds to all addresses by default; the access check decides which requests are answered.
  const handle = withAccessCheck(core, app);
  return {
    fetch(request, info) {
      const address = info?.remoteAddr;
      const isSocketFile = address?.transport === "unix" || address?.transport === "unixpacket";
      return handle(
        request,
        address?.transport === "tcp" ? address.hostname : isSocketFile ? "127.0.0.1" : undefined,
      );
    },
  };
}

/** Starts an edge on Deno; before it exits, the process waits for the work that requests started. */
function startEdgeOnDeno(config: Config, env: EdgeBindings): Server {
  const edge = createEdgeHandler({ config, write });
  const pending = new Set<Promise<unknown>>();
  const context: EdgeContext = {
    waitUntil(work) {
      const ended = work.finally(() => pending.delete(ended));
      pending.add(ended);
    },
  };
  endOnSignals(async () => {
    const { systemClock } = await import("./src/kernel/clock.ts");
    await Promise.race([Promise.all(pending), systemClock.sleep(GRACE_MS)]);
  });
  return {
    fetch: (request) => edge.fetch(request, env, context),
    scheduled: () => edge.scheduled(env),
  };
}

function endOnSignals(close: () => Promise<void>): void {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    Deno.addSignalListener(signal, async () => {
      await close();
      Deno.exit(signal === "SIGTERM" ? 0 : 130);
    });
  }
}

const server = globalThis.Deno ? await startOnDeno() : undefined;
const edge: EdgeHandler | undefined = server ? undefined : createEdgeHandler({ write });

export default {
  /** Answers a request: on Deno with its connection's address, elsewhere with bindings and a context. */
  fetch(
    request: Request,
    infoOrBindings?: Deno.ServeHandlerInfo | EdgeBindings,
    context?: EdgeContext,
  ): Response | Promise<Response> {
    if (server) return server.fetch(request, infoOrBindings as Deno.ServeHandlerInfo | undefined);
    return edge!.fetch(request, infoOrBindings as EdgeBindings, context!);
  },
  /** Makes the due deliveries and ends lost runs; to be triggered every minute. */
  async scheduled(_event?: unknown, bindings: EdgeBindings = {}): Promise<void> {
    await (edge ?? server)?.scheduled?.(bindings);
  },
};
