import type { Core } from "../../service/mod.ts";
import { messageOf, PurserError } from "../../kernel/errors.ts";
import { systemCodeOf } from "../../kernel/system_errors.ts";
import { hasUsableKey } from "../../keys/mod.ts";
import type { FetchHandler } from "../app.ts";
import { withAccessCheck } from "../middleware/access_check.ts";
import { isLoopback } from "../middleware/loopback.ts";

/** A listening server. */
export interface Listening {
  /** Its base URL, e.g. `http://127.0.0.1:8420`. */
  url: string;
  /**
   * Completes the requests in flight, refuses new ones, and resolves when all are answered. Requests that take longer than
   * `graceMs`, such as one whose body never arrives or whose response is not read, are abandoned.
   */
  shutdown(options?: { graceMs?: number }): Promise<void>;
}

const SHUTDOWN_MS = 5_000;

/** Answers one request; `from` is the client's address, where it is known. */
export type Handler = (request: Request, from?: string) => Response | Promise<Response>;

/** A server of the platform. */
export interface Server {
  port: number;
  /** Accepts no further connections; resolves when all requests in flight are answered. */
  drain(): Promise<void>;
  /** Abandons the requests in flight: they no longer keep the process alive. */
  leave(): void;
}

/** Starts a platform's server; resolves when it listens, rejects with the system's error. */
export type StartServer = (handle: Handler, at: { host: string; port: number }) => Promise<Server>;

/**
 * Listens, on Deno's own server or Node's. Port 0 selects a free one.
 *
 * @throws {PurserError} `unavailable` when the port is in use
 */
export async function listen(
  core: Pick<Core, "clock">,
  handle: Handler,
  { host, port, startServer }: { host: string; port: number; startServer?: StartServer },
): Promise<Listening> {
  try {
    const server = await (startServer ?? await findServer())(handle, { host, port });
    const shownHost = host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
    return {
      url: `http://${shownHost}:${server.port}`,
      async shutdown({ graceMs = SHUTDOWN_MS } = {}) {
        const over = new AbortController();
        const isDone = await Promise.race([
          server.drain().then(() => true),
          core.clock.sleep(graceMs, over.signal).then(() => false),
        ]);
        over.abort();
        // The remaining requests fail on the closed database; they must not keep the process alive.
        if (!isDone) server.leave();
      },
    };
  } catch (error) {
    const isTaken = systemCodeOf(error) === "EADDRINUSE";
    throw new PurserError(
      "unavailable",
      `Cannot listen on ${host}:${port}: ${
        isTaken ? "the port is in use; choose another with --port" : messageOf(error)
      }`,
      { cause: error },
    );
  }
}

/** Node's server is loaded only on Node: other platforms don't have it. */
async function findServer(): Promise<StartServer> {
  if (globalThis.Deno !== undefined) return startDenoServer;
  return (await import("./node_server.ts")).startNodeServer;
}

/** Starts Deno's own server. */
export const startDenoServer: StartServer = async (handle, { host, port }) => {
  const started = Promise.withResolvers<void>();
  const server = Deno.serve(
    { hostname: host, port, onListen: () => started.resolve() },
    (request, { remoteAddr }) => handle(request, remoteAddr.hostname),
  );
  await started.promise;
  return {
    port: server.addr.port,
    drain: () => server.shutdown(),
    leave: () => server.unref(),
  };
};

/**
 * Listens: on a loopback address with or without API keys, on any other address only where there is a valid key.
 *
 * @throws {PurserError} `forbidden` for an address that other machines reach, while there is no valid key;
 * `unavailable` when the port is in use
 */
export async function serve(
  core: Core,
  app: FetchHandler,
  options: { host: string; port: number },
): Promise<Listening> {
  if (!isLoopback(options.host) && !await hasUsableKey(core)) {
    throw new PurserError(
      "forbidden",
      `Cannot listen on ${options.host}: without an API key any client that reaches it could spend your money; ` +
        "make one with purser keys create NAME --scope admin, or use --host 127.0.0.1",
    );
  }
  return await listen(core, withAccessCheck(core, app), options);
}
