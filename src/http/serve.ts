import type { Core } from "../core.ts";
import { messageOf, PurserError } from "../errors.ts";
import type { App } from "./app.ts";
import { type Guard, isLoopback, loopbackGuard } from "./guard.ts";
import { problemResponse, toProblem } from "./problem.ts";

/** A server that listens. */
export interface Listening {
  /** Where it listens, e.g. `http://127.0.0.1:8420`. */
  url: string;
  /**
   * Serves what is in flight, refuses the rest, and resolves when all is answered; what takes longer than
   * `graceMs`, such as a body that never comes or an answer that nobody reads, is left behind.
   */
  shutdown(options?: { graceMs?: number }): Promise<void>;
}

const SHUTDOWN_MS = 5_000;

/**
 * Listens on a loopback address, for this machine's people and programs.
 *
 * @throws {PurserError} `forbidden` for any other address: there are no keys yet that could protect it;
 * `unavailable` when the port is taken
 */
export async function serve(
  core: Core,
  app: App,
  options: { host: string; port: number },
): Promise<Listening> {
  if (!isLoopback(options.host)) {
    throw new PurserError(
      "forbidden",
      `Cannot listen on ${options.host}: without API keys anybody who reaches it could spend your money; ` +
        "use --host 127.0.0.1, and a tunnel or a proxy that asks for credentials",
    );
  }
  return await listen(core, app, { ...options, guard: loopbackGuard });
}

/** Listens with a guard in front of the app. Port 0 takes a free one. */
export async function listen(
  core: Core,
  app: { fetch(request: Request): Response | Promise<Response> },
  { host, port, guard }: { host: string; port: number; guard: Guard },
): Promise<Listening> {
  const handle = (request: Request): Response | Promise<Response> => {
    try {
      guard(request);
    } catch (error) {
      return problemResponse(toProblem(error, new URL(request.url).pathname, core.log, core.ids.next("req")));
    }
    return app.fetch(request);
  };
  try {
    const started = Promise.withResolvers<void>();
    const options = { hostname: host, port, onListen: () => started.resolve() };
    const server = Deno.serve(options, handle);
    await started.promise;
    const shownHost = host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
    return {
      url: `http://${shownHost}:${server.addr.port}`,
      async shutdown({ graceMs = SHUTDOWN_MS } = {}) {
        const over = new AbortController();
        const isDone = await Promise.race([
          server.shutdown().then(() => true),
          core.clock.sleep(graceMs, over.signal).then(() => false),
        ]);
        over.abort();
        // What is left reads a closed database next, and breaks; it must not keep the process from ending.
        if (!isDone) server.unref();
      },
    };
  } catch (error) {
    const isTaken = error instanceof Deno.errors.AddrInUse;
    throw new PurserError(
      "unavailable",
      `Cannot listen on ${host}:${port}: ${
        isTaken ? "the port is taken; choose another with --port" : messageOf(error)
      }`,
      { cause: error },
    );
  }
}
