import http from "node:http";
import https from "node:https";
import { isIP } from "node:net";
import { VERSION } from "../../../kernel/version.ts";
import { DeliveryError } from "../notification.ts";
import type { PostAnswer, PostJson, PostRequest } from "./post_json.ts";
import { codeOf, describeNetworkError, parseHttpUrl, readBody } from "./http_client.ts";
import { lookup } from "node:dns/promises";
import { type AddressGuard, createAddressGuard } from "./address_guard.ts";

/** Resolves a name to all its addresses; rejects if it has no address. */
export type Lookup = (hostname: string) => Promise<readonly string[]>;

/**
 * Resolves a host to the addresses that may be reached, IPv4 first, at least one. Connect to one of these and not to
 * the name, which may resolve differently a moment later. Rejects with a DeliveryError.
 */
export type ResolveHost = (hostname: string, signal: AbortSignal) => Promise<string[]>;

/** Options of the network guard. */
export interface GuardOptions {
  /** Networks (CIDR) that may be reached though they are private. */
  allowPrivateNetworks?: readonly string[];
  /** Default: the system's resolver. */
  lookup?: Lookup;
}

/** Creates the only resolver that channels use for a configured host. */
export function createResolveHost(options: GuardOptions = {}): ResolveHost {
  const mayReach = createAddressGuard(options.allowPrivateNetworks);
  const find = options.lookup ?? lookUp;
  return async (hostname, signal) => {
    const host = hostname.replace(/^\[(.*)\]$/, "$1"); // as a URL has an IPv6 address
    if (isIP(host)) return allowedOf([host], host, mayReach);
    const found = await untilAborted(find(host), signal).catch((error) => {
      if (signal.aborted) throw new DeliveryError("stopped while looking up the host", { retry: true });
      const code = (error as { code?: unknown }).code;
      const reason = code === "ENOTFOUND" || code === "ENODATA" ? "no such host" : "the lookup failed";
      throw new DeliveryError(`cannot find ${host}: DNS says ${reason}`, { retry: true, cause: error });
    });
    return allowedOf(found, host, mayReach);
  };
}

/** Filters addresses by the guard; throws if it refuses all of them. */
function allowedOf(addresses: readonly string[], host: string, mayReach: AddressGuard): string[] {
  const allowed = addresses.filter(mayReach);
  if (allowed.length > 0) return allowed.sort((a, b) => isIP(a) - isIP(b));
  const [first] = addresses;
  if (first === undefined) throw new DeliveryError(`cannot find ${host}: it has no address`, { retry: true });
  const what = first === host ? host : `${host} is ${first}, which`;
  throw new DeliveryError(
    `${what} is a private address; name its network in allow_private_networks to reach it`,
    { retry: false },
  );
}

async function lookUp(hostname: string): Promise<string[]> {
  return (await lookup(hostname, { all: true })).map(({ address }) => address);
}

function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

/** The number of a host's addresses that are tried while none accepts a connection. */
const MAX_ADDRESSES = 4;

/** Errors after which nothing can have arrived, so that the next address of the host may be tried. */
const BEFORE_CONNECTION = new Set([
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EADDRNOTAVAIL",
  "ETIMEDOUT",
]);

/**
 * No proxy, whatever the environment says (NODE_USE_ENV_PROXY): a proxy sees the whole URL, which is secret, and
 * resolves the name itself, possibly to a private address. Deno's types lack `proxyEnv`.
 */
const DIRECT = { keepAlive: false, proxyEnv: {} };

/**
 * Creates the HTTP client for configured URLs. It resolves the name once, checks every address, and connects to a
 * checked one, so that no name can change to a private address in between (DNS rebinding). The request's signal
 * bounds all of it: lookup, connection, response.
 */
export function createGuardedPost(
  options: GuardOptions & {
    /** Certificates (PEM) to trust instead of the system's. */
    ca?: string;
  } = {},
): PostJson {
  const resolveHost = createResolveHost(options);
  return async (request) => {
    const url = parseHttpUrl(request.url);
    const addresses = (await resolveHost(url.hostname, request.signal)).slice(0, MAX_ADDRESSES);
    for (const [index, address] of addresses.entries()) {
      try {
        return await postTo(address, url, request, options.ca);
      } catch (error) {
        const isLast = index === addresses.length - 1;
        if (!isLast && BEFORE_CONNECTION.has(codeOf(error)) && !request.signal.aborted) continue;
        throw describeNetworkError(error, { host: url.host, signal: request.signal });
      }
    }
    throw new Error("Cannot post: the host has no address");
  };
}

async function postTo(address: string, url: URL, request: PostRequest, ca?: string): Promise<PostAnswer> {
  const agent = new (url.protocol === "https:" ? https : http).Agent(DIRECT);
  try {
    return await postThrough(agent, address, url, request, ca);
  } finally {
    agent.destroy();
  }
}

function postThrough(
  agent: http.Agent,
  address: string,
  url: URL,
  request: PostRequest,
  ca?: string,
): Promise<PostAnswer> {
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const body = new TextEncoder().encode(request.body);
  return new Promise((resolve, reject) => {
    const sent = (url.protocol === "https:" ? https : http).request({
      method: "POST",
      host,
      port: url.port || (url.protocol === "https:" ? 443 : 80),
      path: url.pathname + url.search,
      agent,
      signal: request.signal,
      // A certificate has the name without a trailing dot.
      servername: isIP(host) ? undefined : host.replace(/\.$/, ""),
      ca,
      lookup: (_name, options, callback) => {
        const family = isIP(address);
        if (options.all) callback(null, [{ address, family }]);
        else callback(null, address, family);
      },
      headers: {
        "user-agent": `purser/${VERSION}`,
        ...request.headers,
        host: url.host,
        "content-type": "application/json; charset=utf-8",
        "content-length": body.byteLength,
      },
    });
    let isAnswered = false;
    // An error after the response has begun is handled by `readBody`.
    sent.on("error", (error) => isAnswered || reject(error));
    sent.on("response", (response) => {
      isAnswered = true;
      toAnswer(response, request.signal).then(resolve, reject);
    });
    sent.on("upgrade", (_, socket) => {
      socket.destroy();
      reject(new DeliveryError("the receiver answered with another protocol", { retry: true }));
    });
    sent.end(body);
  });
}

async function toAnswer(response: http.IncomingMessage, signal: AbortSignal): Promise<PostAnswer> {
  const body = await readBody(response, signal);
  const headers = Object.entries(response.headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join(", ") : value] as const]
  );
  return { status: response.statusCode ?? 0, headers: Object.fromEntries(headers), body };
}
