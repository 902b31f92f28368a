import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { addressKey } from "./client_address.ts";
import type { ConnectionLimits } from "./connection_limits.ts";
import type { ResponseWriter } from "./node_messages.ts";

/** The span over which the rate of a body is measured. */
const BODY_WINDOW_MS = 20_000;
/** `unreadMs` once the server is shutting down. */
const UNREAD_WHEN_DRAINING_MS = 2_000;
/** The time for which a refused body is still read, so that the client gets the refusal rather than a reset. */
const LINGER_MS = 2_000;
/** The time that a request has to arrive, before its connection may be closed in favor of a new one. */
const MIN_EVICTION_MS = 2_000;
/**
 * The most unanswered requests of one connection; clients that pipeline send a few. A connection with more is closed, since
 * pausing its socket would stop neither the parser, which has read several at once, nor Deno's reading.
 */
const MAX_PIPELINED = 32;
/**
 * The most bytes of a request that are received besides its body: headers, which are limited to 16 KiB, what is read ahead,
 * and the sizes and extensions of chunks. HTTP's parser would skip extensions, and empty lines before a request, without end.
 */
const MAX_FRAMING_BYTES = 256 * 1024;
/** The further bytes for each byte of the body: a chunk with one byte of it has five more. */
const FRAMING_BYTES_PER_BODY_BYTE = 8;

/** A request that is being answered. */
export interface Exchange {
  incoming: IncomingMessage;
  outgoing: ServerResponse;
  /** Sends the response. */
  writer: ResponseWriter;
  /** Answers 503, if no response has begun. */
  refuse(): void;
  /** Ends the body with an error. */
  breakBody(): void;
  /** Returns the bytes of the body that were taken from `incoming`. */
  bodyBytes(): number;
}

/** A number of bytes at a time. */
interface Mark {
  at: number;
  bytes: number;
}

/** An open connection. */
export interface Connection {
  readonly socket: Socket;
  readonly peer: Peer;
  readonly exchanges: Set<Exchange>;
  /** The start of its present state: of the connection, or of its idling. */
  since: number;
  /** The bytes received when it became idle. */
  readWhenIdle: number;
  /** The start of the headers that are arriving. */
  headersSince?: number;
  /** The bytes that had arrived at the start of the latest request, and at some time of its body. */
  requestMark?: Mark;
  bodyMark?: Mark;
  /** The bytes that the client had read at some time at which others waited. */
  unreadMark?: Mark;
  /** It is closed at this time, whatever it does. */
  endsAt?: number;
  /** No further request is answered. */
  isClosing?: true;
  /** It is closed after the requests in flight. */
  isRetired?: true;
}

/** The connections of one address. */
interface Peer {
  key: string;
  count: number;
  /** Those without a request, the longest idle first. */
  idle: Set<Connection>;
}

/** The reason for which a sweep refuses a connection: headers or a body that are too slow, or too much beside them. */
export type Refusal = "headers" | "body" | "framing";

/**
 * The open connections of a server. Times are of a monotonic clock, and checked by `sweep()`, which the server calls every
 * second: a timer for each connection and state would cost more than all checks.
 */
export class Connections {
  readonly #all = new Map<Socket, Connection>();
  readonly #idle = new Set<Connection>();
  readonly #peers = new Map<string, Peer>();
  readonly #most: number;
  #whenEmpty: (() => void)[] = [];
  isDraining = false;

  constructor(
    readonly limits: ConnectionLimits,
    readonly now: () => number,
    readonly onRefusal: (connection: Connection, reason: Refusal) => void,
  ) {
    this.#most = limits.connections;
  }

  get size(): number {
    return this.#all.size;
  }

  /**
   * Adds a connection. At a limit, the longest idle one is closed in its favor, or else the one whose request arrives most
   * slowly; returns undefined where all have requests that have arrived. A trusted proxy, whose connections are those of
   * many clients, has no limit of its own.
   */
  open(socket: Socket, { isTrusted = false, isProbe = false } = {}): Connection | undefined {
    const key = addressKey(socket.remoteAddress ?? "");
    const peer = this.#peers.get(key) ?? { key, count: 0, idle: new Set() };
    if (!isTrusted && peer.count >= this.limits.perAddress && !this.#evict(peer.idle, peer)) return undefined;
    if (this.#all.size >= this.limits.connections && !isProbe && !this.#evict(this.#idle)) return undefined;
    const connection: Connection = {
      socket,
      peer,
      exchanges: new Set(),
      since: this.now(),
      readWhenIdle: -1, // nothing has been received yet, and headers are due
    };
    peer.count++;
    this.#peers.set(key, peer);
    this.#all.set(socket, connection);
    this.#setIdle(connection, true);
    socket.once("close", () => this.#forget(connection));
    return connection;
  }

  /** Returns the connection of a socket; undefined once it is closed. */
  of(socket: Socket): Connection | undefined {
    return this.#all.get(socket);
  }

  /** Returns the exchange of a request; undefined once its connection is closed. */
  exchangeOf(incoming: IncomingMessage): Exchange | undefined {
    for (const exchange of this.#all.get(incoming.socket)?.exchanges ?? []) {
      if (exchange.incoming === incoming) return exchange;
    }
  }

  /** Adds a request; false where it must not be answered. */
  begin(connection: Connection, exchange: Exchange): boolean {
    if (connection.isClosing || connection.exchanges.size >= MAX_PIPELINED) return false;
    connection.exchanges.add(exchange);
    this.#setIdle(connection, false);
    delete connection.headersSince;
    connection.requestMark = { at: this.now(), bytes: connection.socket.bytesRead };
    connection.bodyMark ??= connection.requestMark;
    return true;
  }

  /** Removes a request that was answered. */
  end(connection: Connection, exchange: Exchange): void {
    connection.exchanges.delete(exchange);
    delete connection.bodyMark;
    if (
      !this.#all.has(connection.socket) || connection.exchanges.size > 0 || connection.endsAt !== undefined
    ) return;
    if (this.isDraining || connection.isClosing || connection.isRetired) {
      return void connection.socket.destroySoon();
    }
    connection.since = this.now();
    connection.readWhenIdle = connection.socket.bytesRead;
    this.#setIdle(connection, true);
  }

  /** Reads what still arrives for a moment, without keeping it, then closes the connection. */
  linger(connection: Connection): void {
    connection.isClosing = true;
    connection.endsAt = this.now() + LINGER_MS;
    this.#setIdle(connection, false);
    for (const { incoming } of connection.exchanges) incoming.resume();
  }

  /** Checks every connection against the limits on time, and on bytes that are skipped. */
  sweep(): void {
    const now = this.now();
    for (const connection of this.#all.values()) {
      if (connection.endsAt !== undefined && now >= connection.endsAt) connection.socket.destroy();
      else if (this.#isUnread(connection, now)) connection.socket.destroy();
      else if (!connection.isClosing && this.#isFlooded(connection)) {
        connection.endsAt = now + LINGER_MS;
        this.onRefusal(connection, "framing");
      } else if (connection.exchanges.size === 0) this.#checkIdle(connection, now);
      else if (!connection.isClosing && this.#isBodySlow(connection, now)) this.onRefusal(connection, "body");
    }
  }

  /** Closes the connections that have been idle for a time. */
  closeIdle(minMs = 0): void {
    const since = this.now() - minMs;
    for (const { socket, since: idleSince } of this.#idle) if (idleSince <= since) socket.destroy();
  }

  /**
   * Makes room where no descriptor is free: closes half of the idle connections, the longest idle ones first, and keeps
   * fewer connections, until `recover()`.
   */
  shed(): void {
    this.limits.connections = Math.max(
      8,
      Math.min(this.limits.connections, Math.floor(this.#all.size * 0.75)),
    );
    for (let left = Math.ceil(this.#idle.size / 2); left > 0; left--) this.#evict(this.#idle);
  }

  /** Allows an eighth more connections, up to the setting; called every few seconds in which connections are accepted. */
  recover(): void {
    const { connections } = this.limits;
    this.limits.connections = Math.min(this.#most, connections + Math.max(8, connections >> 3));
  }

  /** Closes connections after their next response: Deno would, without a notice, once their listener is closed. */
  retire(): void {
    for (const connection of this.#all.values()) connection.isRetired = true;
  }

  /** Returns the requests in flight. */
  exchanges(): Exchange[] {
    return [...this.#all.values()].flatMap(({ exchanges }) => [...exchanges]);
  }

  /** Closes all connections. */
  destroyAll(): void {
    for (const socket of this.#all.keys()) socket.destroy();
  }

  /** Resolves when no connection is open. */
  empty(): Promise<void> {
    if (this.#all.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#whenEmpty.push(resolve));
  }

  #evict(idle: ReadonlySet<Connection>, peer?: Peer): boolean {
    const [longestIdle] = idle;
    const evicted = longestIdle ?? this.#slowest(peer);
    if (!evicted) return false;
    evicted.socket.destroy();
    this.#forget(evicted); // before the event, so that its place is free at once
    return true;
  }

  /** Returns the connection whose request arrives most slowly; undefined while all are new or have arrived. */
  #slowest(peer: Peer | undefined): Connection | undefined {
    const now = this.now();
    let slowest: Connection | undefined;
    let lowest = Infinity;
    for (const connection of this.#all.values()) {
      const { requestMark: mark, exchanges, socket } = connection;
      if (!mark || (peer && connection.peer !== peer) || now - mark.at < MIN_EVICTION_MS) continue;
      if ([...exchanges].at(-1)?.incoming.complete !== false) continue;
      const rate = (socket.bytesRead - mark.bytes) / (now - mark.at);
      if (rate < lowest) [slowest, lowest] = [connection, rate];
    }
    return slowest;
  }

  #forget(connection: Connection): void {
    if (!this.#all.delete(connection.socket)) return;
    this.#setIdle(connection, false);
    if (--connection.peer.count === 0) this.#peers.delete(connection.peer.key);
    if (this.#all.size > 0) return;
    for (const resolve of this.#whenEmpty.splice(0)) resolve();
  }

  #setIdle(connection: Connection, isIdle: boolean): void {
    for (const idle of [this.#idle, connection.peer.idle]) {
      idle.delete(connection);
      if (isIdle) idle.add(connection);
    }
  }

  #checkIdle(connection: Connection, now: number): void {
    if (connection.socket.bytesRead > connection.readWhenIdle) {
      const isNew = connection.readWhenIdle < 0;
      connection.headersSince ??= isNew ? connection.since : now;
      if (now - connection.headersSince >= this.limits.headersMs) this.onRefusal(connection, "headers");
    } else if (now - connection.since >= this.limits.idleMs) connection.socket.destroy();
  }

  /** Returns whether far more bytes than headers and a body have been received for the latest request, or since it. */
  #isFlooded(connection: Connection): boolean {
    const { socket, exchanges, readWhenIdle, requestMark } = connection;
    const latest = [...exchanges].at(-1);
    if (!latest) return socket.bytesRead - Math.max(0, readWhenIdle) > MAX_FRAMING_BYTES;
    const body = latest.bodyBytes() + latest.incoming.readableLength;
    return socket.bytesRead - requestMark!.bytes > MAX_FRAMING_BYTES + FRAMING_BYTES_PER_BODY_BYTE * body;
  }

  /** Measures the body that is arriving, without the time in which the server doesn't read it. */
  #isBodySlow(connection: Connection, now: number): boolean {
    const arriving = [...connection.exchanges].at(-1)!.incoming;
    const bytes = connection.socket.bytesRead;
    const isWaiting = arriving.readableLength >= arriving.readableHighWaterMark;
    const mark = connection.bodyMark;
    if (arriving.complete || isWaiting || !mark) {
      connection.bodyMark = { at: now, bytes };
      return false;
    }
    const elapsedMs = now - mark.at;
    if (elapsedMs < BODY_WINDOW_MS) return false;
    if (bytes - mark.bytes < this.limits.minBodyBytesPerSecond * elapsedMs / 1_000) return true;
    connection.bodyMark = { at: now, bytes };
    return false;
  }

  #isUnread(connection: Connection, now: number): boolean {
    const { socket, unreadMark } = connection;
    if (socket.writableLength === 0) {
      delete connection.unreadMark;
      return false;
    }
    const bytes = socket.bytesWritten - socket.writableLength;
    if (!unreadMark || unreadMark.bytes !== bytes) {
      connection.unreadMark = { at: now, bytes };
      return false;
    }
    return now - unreadMark.at >= (this.isDraining ? UNREAD_WHEN_DRAINING_MS : this.limits.unreadMs);
  }
}
