import { type AddressInfo, connect, Server, type Socket } from "node:net";
import { once } from "node:events";
import { PurserError } from "../../kernel/errors.ts";
import { systemCodeOf, systemReason } from "../../kernel/system_errors.ts";
import type { Connections } from "./connections.ts";
import type { ServerContext } from "./node_server.ts";

/**
 * The interval of checking that connections are accepted, while none arrives. With the three checks that follow, a listener
 * that died unnoticed is replaced within five seconds.
 */
const PROBE_MS = 1_000;
const PROBE_TIMEOUT_MS = 500;
/** The turns of the event loop that a probe waits after its time: other work may have blocked the process. */
const PROBE_TURNS = 50;
/** The interval of checking again after a failure. */
const RETRY_MS = 500;
/** The delay of timers from which on the process is too busy for a probe to prove anything. */
const MAX_LAG_MS = 200;
/** The failed probes in a row after which the listener is replaced. That resets the connections that wait for it. */
const MIN_FAILURES = 3;
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
export type Probe = "accepted" | "not accepted" | "refused" | "no descriptor" | "unknown";

/**
 * Creates a function that decides what follows a probe. `lagMs` is the time by which timers were late while it waited. A
 * listener is dead after several failed probes in a row, or after one if descriptors had run out before. A probe that failed
 * while the process was busy proves nothing, and doesn't count.
 */
export function createProbeJudge(): (
  outcome: Probe,
  at: { now: number; lagMs: number },
) => { action: "none" | "shed" | "listen" | "give up"; isFirst: boolean } {
  let failures = 0;
  let failingSince = 0;
  let hasRunOut = false;
  return (outcome, { now, lagMs }) => {
    if (outcome === "accepted" || outcome === "unknown") {
      failures = 0;
      hasRunOut = false;
      return { action: "none", isFirst: false };
    }
    if (outcome === "not accepted" && lagMs > MAX_LAG_MS) return { action: "none", isFirst: false };
    if (++failures === 1) failingSince = now;
    const isFirst = outcome === "no descriptor" && !hasRunOut;
    hasRunOut ||= outcome === "no descriptor";
    if (now - failingSince >= GIVE_UP_MS) return { action: "give up", isFirst };
    if (outcome === "no descriptor") return { action: "shed", isFirst };
    const isDead = outcome === "refused" || hasRunOut || failures >= MIN_FAILURES;
    return { action: isDead ? "listen" : "none", isFirst };
  };
}

/**
 * Listens, and notices when connections are no longer accepted: after an error of `accept`, such as that no file
 * descriptor is free, Deno's listener never accepts again, without an event. Then idle connections are closed, and a new
 * listener takes the place of the old one, while established connections continue.
 *
 * `accept` is told whether the connection may be a probe.
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

  // First the address itself: the process may not be allowed to connect to another one.
  let target = address.address;
  let isChecked = true;

  const probe = () => {
    const over = new AbortController();
    const socket = connect({ port: address.port, host: target });
    return new Promise<Probe>((resolve) => {
      onAccepted = () => resolve("accepted");
      socket.on("error", (error) => resolve(PROBE_ERRORS[systemCodeOf(error) ?? ""] ?? "unknown"));
      void clock.sleep(PROBE_TIMEOUT_MS, over.signal).then(async () => {
        // In a process that was blocked, timers end before connections are accepted.
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
      if (closed.signal.aborted) return stopListening(server);
      log.warn("Connections were no longer accepted; listening again", { port: address.port });
    } catch (error) {
      log.warn("Cannot listen again", { port: address.port, reason: systemReason(error) });
    }
  };

  const watch = async () => {
    const judge = createProbeJudge();
    let seen = accepted;
    let delayMs = PROBE_MS;
    for (;;) {
      const start = clock.monotonic();
      await clock.sleep(delayMs, closed.signal);
      if (closed.signal.aborted) return;
      const sleptAt = clock.monotonic();
      const outcome = accepted === seen ? await probe() : "accepted";
      if (outcome === "unknown" && target !== reachable(address.address)) target = reachable(address.address);
      else if (outcome === "unknown" && isChecked) {
        isChecked = false;
        log.warn("Cannot check that connections are accepted: connecting to the own port fails", {
          host: target,
          port: address.port,
        });
      }
      if (outcome === "accepted" || outcome === "unknown") connections.recover();
      const now = clock.monotonic();
      const lagMs = Math.max(sleptAt - start - delayMs, now - sleptAt - PROBE_TIMEOUT_MS);
      seen = accepted;
      const { action, isFirst } = judge(outcome, { now, lagMs });
      delayMs = outcome === "accepted" || outcome === "unknown" ? PROBE_MS : RETRY_MS;
      if (isFirst) log.warn("Cannot accept connections: no file descriptor is free; closing idle ones");
      if (action === "shed") connections.shed();
      if (action === "listen") await listenAgain();
      if (action !== "give up") continue;
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
