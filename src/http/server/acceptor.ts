import { type AddressInfo, connect, Server, type Socket } from "node:net";
import { once } from "node:events";
import { PurserError } from "../../kernel/errors.ts";
import { systemCodeOf, systemReason } from "../../kernel/system_errors.ts";
import type { Connections } from "./connections.ts";
import type { ServerContext } from "./node_server.ts";

/** The interval of checking that connections are accepted, while none arrives. */
const PROBE_MS = 2_000;
const PROBE_TIMEOUT_MS = 500;
/** The turns of the event loop that it gets besides. */
const PROBE_TURNS = 50;
/** The interval of trying to accept again. */
const RETRY_MS = 250;
/** The time after which a server that can't accept connections gives up. */
const GIVE_UP_MS = 60_000;

/** Accepts connections. */
export interface Acceptor {
  port: number;
  /** Rejects when it has not been able to accept connections for a minute. */
  failed: Promise<never>;
  /** Accepts no further connections. */
  close(): void;
}

/** The outcome of connecting to the own port. */
type Probe = "accepted" | "not accepted" | "refused" | "no descriptor" | "unknown";

/**
 * Listens, and notices when connections are no longer accepted: after an error of `accept`, such as that no file
 * descriptor is free, Deno's listener never accepts again, without an event. Then idle connections are closed, and a new
 * listener takes the place of the old one, while established connections continue.
 *
 * `accept` is passed whether the connection may be its own probe.
 */
export async function startAcceptor(
  { clock, log }: ServerContext,
  { host, port, connections, create }: {
    host: string;
    port: number;
    connections: Connections;
    /** Creates a server that doesn't listen yet. */
    create: () => Server;
  },
  accept: (socket: Socket, isProbe: boolean) => void,
): Promise<Acceptor> {
  const closed = new AbortController();
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => {}); // it may have no listener yet
  let accepted = 0;
  let onAccepted: (() => void) | undefined;

  const bind = async (at: number): Promise<Server> => {
    const server = create();
    server.on("connection", (socket: Socket) => {
      accepted++;
      const isProbe = onAccepted !== undefined;
      onAccepted?.();
      accept(socket, isProbe);
    });
    server.listen(at, host.replace(/^\[(.*)\]$/, "$1"));
    await once(server, "listening");
    server.on("error", (error) => log.warn("Accepting a connection failed", { reason: systemReason(error) }));
    return server;
  };
  let server = await bind(port);
  const address = server.address() as AddressInfo;

  // The address itself where it can be connected to: the process may be allowed no other.
  let target = address.address;
  let isChecked = true;

  const probe = () => {
    const over = new AbortController();
    const socket = connect({ port: address.port, host: target });
    return new Promise<Probe>((resolve) => {
      onAccepted = () => resolve("accepted");
      socket.on("error", (error) => resolve(PROBE_ERRORS[systemCodeOf(error) ?? ""] ?? "unknown"));
      void clock.sleep(PROBE_TIMEOUT_MS, over.signal).then(async () => {
        // After other work has blocked the process, its timers end before its connections are accepted.
        for (let turn = 0; turn < PROBE_TURNS; turn++) await new Promise<void>((next) => setImmediate(next));
        resolve("not accepted");
      });
    }).finally(() => {
      onAccepted = undefined;
      over.abort();
      socket.destroy();
    });
  };

  /** Replaces the listener. Where that fails, the next probe is refused, and it is tried again. */
  const listenAgain = async () => {
    stopListening(server);
    connections.retire();
    try {
      server = await bind(address.port);
      log.warn("Connections were no longer accepted; listening again", { port: address.port });
    } catch (error) {
      log.warn("Cannot listen again", { port: address.port, reason: systemReason(error) });
    }
  };

  const watch = async () => {
    let seen = accepted;
    let failures = 0;
    let failingSince = 0;
    for (;;) {
      await clock.sleep(failures === 0 ? PROBE_MS : RETRY_MS, closed.signal);
      if (closed.signal.aborted) return;
      const outcome = accepted === seen ? await probe() : "accepted";
      if (outcome === "unknown" && target !== reachable(address.address)) target = reachable(address.address);
      else if (outcome === "unknown" && isChecked) {
        isChecked = false;
        log.warn("Cannot check that connections are accepted: connecting to the own port fails", {
          host: target,
          port: address.port,
        });
      }
      seen = accepted;
      if (outcome === "accepted" || outcome === "unknown") {
        failures = 0;
        connections.recover();
        continue;
      }
      const now = clock.monotonic();
      if (++failures === 1) failingSince = now;
      if (outcome === "no descriptor") {
        if (failures === 1) {
          log.warn("Cannot accept connections: no file descriptor is free; closing idle ones");
        }
        connections.shed();
      } else if (outcome === "refused" || failures > 1) await listenAgain();
      if (now - failingSince < GIVE_UP_MS) continue;
      return failed.reject(
        new PurserError(
          "unavailable",
          `Cannot accept connections on ${host}:${address.port}: none was accepted for a minute; raise the limit on open ` +
            "files, or lower limits.connections",
        ),
      );
    }
  };
  void watch();

  return {
    port: address.port,
    failed: failed.promise,
    close() {
      closed.abort();
      stopListening(server);
    },
  };
}

/** Stops listening. `close()` of an HTTP server would also close idle connections, on which a request may be on its way. */
function stopListening(server: Server): void {
  Server.prototype.close.call(server);
}

/** Returns an address at which a server that listens on `address` can be reached from here. */
function reachable(address: string): string {
  return address === "0.0.0.0" ? "127.0.0.1" : address === "::" ? "::1" : address;
}

const PROBE_ERRORS: Readonly<Record<string, Probe>> = {
  ECONNREFUSED: "refused",
  EMFILE: "no descriptor",
  ENFILE: "no descriptor",
};
