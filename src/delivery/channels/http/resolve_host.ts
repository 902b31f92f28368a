import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { type AddressGuard, createAddressGuard } from "./address_guard.ts";
import { DeliveryError } from "../delivery_error.ts";

/** Finds the addresses of a name, all of them; rejects when there are none. */
export type Lookup = (hostname: string) => Promise<readonly string[]>;

/**
 * The addresses of a host that may be reached, IPv4 first; there is at least one. Connect to one of these and
 * not to the name, which may lead elsewhere a moment later. Rejects with a DeliveryError.
 */
export type ResolveHost = (hostname: string, signal: AbortSignal) => Promise<string[]>;

/** How a guard is made. */
export interface GuardOptions {
  /** Networks (CIDR) that may be reached though they are private. */
  allowPrivateNetworks?: readonly string[];
  /** How names are found; the system's way by default. */
  lookup?: Lookup;
}

/** Makes the one way in which channels find the address of a host that somebody configured. */
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

/** Of several addresses those that are allowed: none is connected to that was not checked. */
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
