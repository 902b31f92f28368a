import type { Core } from "../../service/mod.ts";
import type { Config } from "../../config/mod.ts";
import { messageOf, PurserError } from "../../kernel/errors.ts";
import { readTextFile } from "../../kernel/files/read_text_file.ts";
import { isLoopback } from "../../kernel/loopback_host.ts";
import { withoutUndefined } from "../../kernel/records.ts";
import { systemCodeOf } from "../../kernel/system_errors.ts";
import { hasUsableKey } from "../../keys/mod.ts";
import type { FetchHandler } from "../app.ts";
import { withAccessCheck } from "../middleware/access_check.ts";
import type { ServerParts } from "../middleware/server_request.ts";
import { type ConnectionLimits, DEFAULT_LIMITS, maxConnections } from "./connection_limits.ts";

/** A listening server. */
export interface Listening {
  /** Its base URL, e.g. `http://127.0.0.1:8420`. */
  url: string;
  /** Rejects when the server has not been able to accept connections for a minute. */
  failed: Promise<never>;
  /**
   * Completes the requests in flight, and resolves when all are answered. Those that take longer than `graceMs` get a 503,
   * and connections that are not read are closed. For `lingerMs`, a request that arrives on a connection that is open is
   * still answered: it was on its way.
   */
  shutdown(options?: { graceMs?: number; lingerMs?: number }): Promise<void>;
}

const SHUTDOWN_MS = 5_000;

/** Answers one request. `from` is the client's address, if it is known; `server` are the parts that this process's server has read. */
export type Handler = (request: Request, from?: string, server?: ServerParts) => Response | Promise<Response>;

/** The address to listen on, and the limits on the connections to it. */
export interface ListenOptions {
  host: string;
  port: number;
  limits?: Partial<ConnectionLimits>;
  /** The networks of proxies whose headers name the client, such as `10.0.0.0/8`. */
  trustedProxies?: readonly string[];
}

/**
 * Listens. Port 0 selects a free one.
 *
 * @throws {PurserError} `unavailable` when the port is in use
 */
export async function listen(
  core: Pick<Core, "clock" | "log">,
  handle: Handler,
  { host, port, limits = {}, trustedProxies = [] }: ListenOptions,
): Promise<Listening> {
  try {
    // Lazy: other platforms don't have Node's server.
    const { startNodeServer } = await import("./node_server.ts");
    const connections = limits.connections ??
      maxConnections(await readTextFile("/proc/self/limits").catch(() => undefined));
    const perAddress = limits.perAddress ?? Math.ceil(connections / 2);
    const server = await startNodeServer(core, handle, {
      host,
      port,
      limits: { ...DEFAULT_LIMITS, ...limits, connections, perAddress },
      trustedProxies,
    });
    const shownHost = host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
    return {
      url: `http://${shownHost}:${server.port}`,
      failed: server.failed,
      shutdown: ({ graceMs = SHUTDOWN_MS, lingerMs = 0 } = {}) => server.shutdown({ graceMs, lingerMs }),
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

/** Returns the options that a configuration has for a server. */
export function listenOptionsOf({ host, port, limits, trustedProxies }: Config): ListenOptions {
  const ms = (seconds: number | undefined) => seconds === undefined ? undefined : seconds * 1_000;
  const given = withoutUndefined({
    connections: limits.connections,
    perAddress: limits.connectionsPerAddress,
    headersMs: ms(limits.headersSeconds),
    idleMs: ms(limits.idleSeconds),
    minBodyBytesPerSecond: limits.minBodyBytesPerSecond,
    unreadMs: ms(limits.unreadSeconds),
  });
  return { host, port, trustedProxies, limits: given };
}

/**
 * Listens: on a loopback address with or without API keys, on any other address only where there is a valid key.
 *
 * @throws {PurserError} `forbidden` for an address that other machines reach, while there is no valid key;
 * `unavailable` when the port is in use
 */
export async function serve(
  core: Core,
  app: FetchHandler,
  options: ListenOptions,
): Promise<Listening> {
  if (!isLoopback(options.host) && !await hasUsableKey(core)) {
    throw new PurserError(
      "forbidden",
      `Cannot listen on ${options.host}: without an API key any client that reaches it could spend your money; ` +
        "make one with purser keys add NAME --scope admin, or use --host 127.0.0.1",
    );
  }
  return await listen(core, withAccessCheck(core, app), options);
}
