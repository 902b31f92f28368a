/** The limits on connections of a server. */
export interface ConnectionLimits {
  /** Connections in all. */
  connections: number;
  /** Connections of one address; an IPv6 address counts as its /64 network. */
  perAddress: number;
  /** The time from the first byte of a request, on a new connection from its start, to the end of the headers. */
  headersMs: number;
  /** The time without a request, after a response. */
  idleMs: number;
  /** The slowest a body may arrive. */
  minBodyBytesPerSecond: number;
  /** The time in which a client must read some of a response that waits for it. */
  unreadMs: number;
}

/** Without the number of connections, which depends on the process: see `maxConnections`. */
export const DEFAULT_LIMITS: Omit<ConnectionLimits, "connections" | "perAddress"> = {
  headersMs: 15_000,
  // Longer than clients keep an idle connection (Deno's: 90 s), so that none is closed under a request.
  idleMs: 120_000,
  minBodyBytesPerSecond: 500,
  unreadMs: 30_000,
};

/** Descriptors that are left for the database, outgoing requests and files. */
const RESERVED_DESCRIPTORS = 256;
/** The most connections by default; each takes some 20 KB. */
const MOST_CONNECTIONS = 4_096;
/** Assumed where the limit is not known: systems allow a process at least 1,024 descriptors. */
const LEAST_DESCRIPTORS = 1_024;

/**
 * Returns the default number of connections: as many as the process can have without running out of descriptors.
 * `limits` is the text of `/proc/self/limits`, which Deno reads with all permissions only, and Linux alone has.
 */
export function maxConnections(limits: string | undefined): number {
  const soft = /^Max open files\s+(\d+|unlimited)/m.exec(limits ?? "")?.[1] ?? LEAST_DESCRIPTORS;
  if (soft === "unlimited") return MOST_CONNECTIONS;
  const free = Math.max(Number(soft) - RESERVED_DESCRIPTORS, Math.floor(Number(soft) / 2));
  return Math.min(MOST_CONNECTIONS, free);
}
