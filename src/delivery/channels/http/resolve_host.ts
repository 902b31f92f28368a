import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { type AddressGuard, createAddressGuard } from "./address_guard.ts";
import { DeliveryError } from "../channel.ts";

/** Resolves a name to all its addresses; rejects when there are none. */
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

/** Filters addresses by the guard; throws where none is left. */
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
