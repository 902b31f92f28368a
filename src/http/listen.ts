import type { Core } from "../core.ts";
import { messageOf, PurserError } from "../errors.ts";

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

/** Answers one request; `from` is the address that it came from, where that is known. */
export type Handler = (request: Request, from?: string) => Response | Promise<Response>;

/**
 * Listens. Port 0 takes a free one.
 *
 * @throws {PurserError} `unavailable` when the port is taken
 */
export async function listen(
  core: Pick<Core, "clock">,
  handle: Handler,
  { host, port }: { host: string; port: number },
): Promise<Listening> {
  try {
    const started = Promise.withResolvers<void>();
    const options = { hostname: host, port, onListen: () => started.resolve() };
    const server = Deno.serve(
      options,
      (request, { remoteAddr }) => handle(request, remoteAddr.hostname),
    );
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
