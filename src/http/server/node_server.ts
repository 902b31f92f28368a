import { getRequestListener } from "@hono/node-server";
import { AsyncLocalStorage } from "node:async_hooks";
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from "node:http";
import { Buffer } from "node:buffer";
import { BlockList, type Socket } from "node:net";
import type { Clock } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import { joinHeaders } from "../../kernel/header_fields.ts";
import type { Log } from "../../kernel/log.ts";
import { systemCodeOf } from "../../kernel/system_errors.ts";
import { problemResponse, toProblem } from "../problems/mod.ts";
import { isStreamed, readerOf, wholeOf } from "../middleware/served_body.ts";
import type { ServerParts } from "../middleware/server_request.ts";
import { startAcceptor } from "./acceptor.ts";
import { clientAddress, networkTest, plainAddress } from "./client_address.ts";
import type { ConnectionLimits } from "./connection_limits.ts";
import { type Connection, Connections, type Exchange, type Refusal } from "./connections.ts";
import type { Handler } from "./listen.ts";
import { bodyOf, passBody, ResponseWriter, streamOf } from "./node_messages.ts";

const SWEEP_MS = 1_000;
/** The time for the last responses to be read. */
const FLUSH_MS = 1_000;

/** The parts of a core that a server needs. */
export interface ServerContext {
  clock: Clock;
  log: Log;
}

/** A server that listens. */
export interface NodeServer {
  port: number;
  /** Rejects when the server can no longer accept connections. */
  failed: Promise<never>;
  shutdown(options: { graceMs: number; lingerMs: number }): Promise<void>;
}

/** Marks a response for `@hono/node-server` as one that was written. */
const SENT = new Response(null, { headers: { "x-hono-already-sent": "true" } });

/**
 * Starts a server of `node:http`, on Deno too: unlike those of `Deno.serve`, its connections can be counted, timed and
 * closed. It speaks HTTP/1.1.
 */
export async function startNodeServer(
  ctx: ServerContext,
  handle: Handler,
  at: { host: string; port: number; limits: ConnectionLimits; trustedProxies: readonly string[] },
): Promise<NodeServer> {
  const { clock } = ctx;
  const isTrusted = networkTest(at.trustedProxies, new BlockList());
  const connections = new Connections(at.limits, () => clock.monotonic(), onRefusal);
  const create = createHttp(
    ctx,
    connections,
    (request, { incoming }, parts) => handle(request, clientAddress(incoming, isTrusted), parts),
  );
  const acceptor = await startAcceptor(ctx, { ...at, connections, create }, (socket, isProbe) => {
    const isProxy = isTrusted(plainAddress(socket.remoteAddress ?? ""));
    if (connections.open(socket, { isTrusted: isProxy, isProbe })) return;
    void sendRaw(problem(503, "Cannot answer: too many connections are open; try again"), socket)
      .then(() => socket.destroySoon());
  });

  const stopped = new AbortController();
  void (async () => {
    while (!stopped.signal.aborted) {
      await clock.sleep(SWEEP_MS, stopped.signal);
      connections.sweep();
    }
  })();

  /** Resolves when no connection is open, at the latest at a time. */
  const closedBy = async (time: number) => {
    const over = new AbortController();
    const leftMs = Math.max(0, time - clock.monotonic());
    await Promise.race([connections.empty(), clock.sleep(leftMs, over.signal)]);
    over.abort();
  };
  return {
    port: acceptor.port,
    failed: acceptor.failed,
    async shutdown({ graceMs, lingerMs }) {
      const start = clock.monotonic();
      connections.isDraining = true;
      acceptor.close();
      // On the others a request may be on its way, which is answered with `Connection: close`.
      connections.closeIdle(lingerMs);
      await closedBy(start + Math.min(lingerMs, graceMs));
      connections.closeIdle();
      await closedBy(start + graceMs);
      for (const exchange of connections.exchanges()) exchange.refuse();
      await closedBy(clock.monotonic() + FLUSH_MS);
      connections.destroyAll();
      stopped.abort();
    },
  };
}

/** Refuses a connection whose headers or body take too long, or that sends bytes of neither. */
function onRefusal(connection: Connection, reason: Refusal): void {
  const { socket, exchanges } = connection;
  const hasBegun = [...exchanges].some(({ outgoing }) => outgoing.headersSent);
  // Browsers open connections in advance: one on which nothing was sent is closed without a word.
  if (hasBegun || socket.bytesRead === 0) return void socket.destroy();
  connection.isClosing = true;
  if (reason === "framing") {
    const text = "Cannot read the request: more was received than its headers and its body";
    return void sendRaw(problem(400, text), socket).then(() => socket.destroySoon());
  }
  const what = reason === "headers" ? "its headers" : "its body";
  void sendRaw(problem(408, `Cannot read the request: ${what} arrived too slowly; send it again`), socket)
    .then(() => socket.destroySoon());
}

/** Returns a function that creates servers of `node:http`, over the same connections. */
function createHttp(
  { clock, log }: ServerContext,
  connections: Connections,
  handle: (request: Request, exchange: Exchange, parts: ServerParts) => Response | Promise<Response>,
): () => Server {
  const inContextOfServer = AsyncLocalStorage.snapshot();

  const listener = getRequestListener(async (request, { incoming }) => {
    const exchange = connections.exchangeOf(incoming as IncomingMessage);
    if (!exchange) return SENT;
    if (!hasOneHost(exchange.incoming)) {
      const text = "Cannot read the request: its address and its Host header name different hosts";
      await send(problem(400, text), exchange);
      return SENT;
    }
    const body = bodyOf(exchange.incoming);
    // The library's own body passes on each chunk as it comes, and is there for requests without one too.
    Object.defineProperty(request, "body", { get: () => body ? streamOf(body.chunks()) : null });
    exchange.breakBody = () => body?.break();
    exchange.bodyBytes = () => body?.received() ?? 0;
    try {
      const response = await new Promise<Response>((resolve, reject) => {
        let isRefused = false;
        exchange.refuse = () => {
          isRefused = true;
          resolve(problem(503, "Cannot finish: the server is shutting down; try again"));
        };
        const headers = joinHeaders(exchange.incoming.rawHeaders);
        const parts = { body, headers, delivery: exchange.writer };
        Promise.resolve(handle(request, exchange, parts)).then((response) => {
          if (!isRefused) return resolve(response);
          // Nothing reads it: a stream has to end, so that its call is booked.
          readerOf(response)?.cancel().catch(() => {});
        }, reject);
      });
      await send(response, exchange);
    } catch (error) {
      await send(problemResponse(toProblem(error, "/", { log }, "")), exchange);
    }
    return SENT;
  }, {
    overrideGlobalObjects: false, // they belong to the embedding program
    autoCleanupIncoming: false,
    errorHandler(error) {
      const { message, cause } = error as Error;
      const isPath = /path|absolute/.test(message) || (message === "Invalid URL" && cause === undefined);
      const reason = isPath ? "its path is not a valid one" : "its Host header names no host";
      return problem(400, `Cannot read the request: ${reason}`);
    },
  });

  async function send(response: Response, exchange: Exchange): Promise<void> {
    const { incoming, outgoing, writer } = exchange;
    // A streamed response may have no end, so it can't be sent as a whole while the request is still arriving.
    if (!incoming.complete && isStreamed(response) && !await passBody(exchange)) {
      incoming.socket.destroy();
    }
    const connection = connections.of(incoming.socket);
    if (!connection || incoming.socket.destroyed) return void await readerOf(response)?.cancel();
    if (incoming.complete) {
      const { isClosing, isRetired } = connection;
      if (connections.isDraining || isClosing || isRetired) outgoing.shouldKeepAlive = false;
      return await writer.send(response);
    }
    connections.linger(connection);
    await sendRaw(response, incoming.socket);
  }

  const answer = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const connection = connections.of(incoming.socket);
    const writer = new ResponseWriter(outgoing, connections.now);
    const exchange: Exchange = {
      incoming,
      outgoing,
      writer,
      refuse() {},
      breakBody() {},
      bodyBytes: () => 0,
    };
    if (!connection) return void incoming.resume(); // refused: it is getting its 503
    const previous = [...connection.exchanges].at(-1);
    if (!connections.begin(connection, exchange)) return void incoming.socket.destroy();
    outgoing.once("close", () => connections.end(connection, exchange));
    // Without this, a later request on the connection would run in the context, and the span, of the first one.
    const start = () => void inContextOfServer(() => listener(incoming, outgoing));
    // One at a time: the responses of a client that pipelines and doesn't read would pile up.
    // Each in a turn of its own, so that other connections are answered between them.
    if (previous) previous.outgoing.once("close", () => void clock.sleep(0).then(start));
    else start();
  };
  return () => {
    // Times are measured by `Connections`.
    const options = { keepAliveTimeout: 0, headersTimeout: 0, requestTimeout: 0, requireHostHeader: false };
    const server = createServer(options, answer);
    server.on("clientError", (error, socket) => onClientError(error, socket as Socket, connections));
    return server;
  };
}

/** Returns whether the Host header is that of an absolute address, which takes precedence over it (RFC 9112, 3.2.2). */
function hasOneHost({ url = "", headers }: IncomingMessage): boolean {
  return url.startsWith("/") || URL.parse(url)?.host === headers.host?.toLowerCase();
}

/** Answers bytes that aren't a request, or ends a body that breaks off. */
function onClientError(error: Error, socket: Socket, connections: Connections): void {
  const connection = connections.of(socket);
  if (!connection) return; // refused: it is getting its 503
  if (!socket.writable) return void socket.destroy();
  if (connection.isClosing) return;
  connection.isClosing = true;
  const exchange = [...connection.exchanges].at(-1);
  if (exchange) {
    // Its answer is the last one; with a broken body it is a 400.
    if (!exchange.incoming.complete) exchange.breakBody();
    return;
  }
  const [status, reason] = MALFORMED[systemCodeOf(error) ?? ""] ?? [400, "it is not valid HTTP/1.1"];
  connections.linger(connection);
  void sendRaw(problem(status, `Cannot read the request: ${reason}`), socket);
}

const MALFORMED: Readonly<Record<string, [status: number, reason: string]>> = {
  HPE_HEADER_OVERFLOW: [431, "its headers are over 16 KiB"],
  HPE_PAUSED_H2_UPGRADE: [505, "this server speaks HTTP/1.1, not HTTP/2"],
};

/** Returns the problem document of a request that no route has seen. */
function problem(status: number, detail: string): Response {
  const code = status === 503 ? "unavailable" : status === 431 ? "too_large" : "invalid";
  const document = toProblem(
    new PurserError(code, detail),
    "/",
    { log: { error() {} } as unknown as Log },
    "",
  );
  return problemResponse({ ...document, status }, {
    connection: "close",
    ...(status === 503 && { "retry-after": "1" }),
  });
}

/**
 * Writes a response to a connection whose request was not read to its end, past Node's server, which would close it with
 * that request still arriving: the client would get a reset instead of the response. The connection is closed for writing.
 */
async function sendRaw(response: Response, socket: Socket): Promise<void> {
  const whole = wholeOf(response) ?? new Uint8Array(await response.arrayBuffer());
  const body = typeof whole === "string" ? Buffer.from(whole) : whole;
  if (!socket.writable) return;
  const fields = {
    ...Object.fromEntries(response.headers),
    "content-length": body.length,
    connection: "close",
  };
  const head = [
    `HTTP/1.1 ${response.status} ${STATUS_CODES[response.status] ?? "Error"}`,
    ...Object.entries(fields).map(([name, value]) => `${name}: ${value}`),
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n`);
  socket.end(body);
}
