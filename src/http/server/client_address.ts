import type { IncomingMessage } from "node:http";
import type { BlockList, Socket } from "node:net";

/**
 * Returns the address of the client: that of the connection or, behind trusted proxies, the last address of
 * `X-Forwarded-For` or `Forwarded` (RFC 7239) that isn't a trusted proxy's: a client can invent the others. It can also
 * invent the whole header that its proxy doesn't set, so where the two headers differ, the address is the connection's.
 */
export function clientAddress(
  { headers, socket }: Pick<IncomingMessage, "headers"> & { socket: Pick<Socket, "remoteAddress"> },
  isTrusted: (address: string) => boolean,
): string | undefined {
  if (socket.remoteAddress === undefined) return undefined;
  const peer = plainAddress(socket.remoteAddress);
  const listed = headers["x-forwarded-for"];
  const { forwarded } = headers;
  if ((listed === undefined && forwarded === undefined) || !isTrusted(peer)) return peer;
  const found = [
    listed !== undefined && String(listed).split(","),
    forwarded !== undefined &&
    forwarded.split(",").map((hop) => /(?:^|;)\s*for="?([^";]*)/i.exec(hop)?.[1] ?? ""),
  ].filter((hops) => hops !== false).map((hops) => lastUntrusted(peer, hops, isTrusted));
  return found.every((address) => address === found[0]) ? found[0] : peer;
}

/** Returns the last address of a chain of proxies that ends at `peer` which is not a trusted proxy's. */
function lastUntrusted(peer: string, hops: string[], isTrusted: (address: string) => boolean): string {
  let address = peer;
  for (let hop = hops.pop(); hop !== undefined && isTrusted(address); hop = hops.pop()) {
    // `[2001:db8::1]:4711`, `192.0.2.1:4711`; an obfuscated one, such as `_hidden` or `unknown`, ends the chain.
    const named = /^\[([^\]]*)\](?::\d+)?$/.exec(hop.trim())?.[1] ??
      hop.trim().replace(/^([\d.]+):\d+$/, "$1");
    if (!/^(\d+(\.\d+){3}|[\da-f.]*:[\da-f:.]*)$/i.test(named)) break;
    address = plainAddress(named);
  }
  return address;
}

/** Returns a test of whether an address is in any of these networks, such as `10.0.0.0/8`. */
export function networkTest(networks: readonly string[], list: BlockList): (address: string) => boolean {
  const familyOf = (address: string) => address.includes(":") ? "ipv6" : "ipv4";
  for (const network of networks) {
    const [address = "", bits] = network.split("/");
    list.addSubnet(address, Number(bits), familyOf(address));
  }
  return (address) => networks.length > 0 && list.check(address, familyOf(address));
}

/** Returns the address by which connections are counted: an IPv4 address, or the /64 network of an IPv6 address. */
export function addressKey(address: string): string {
  const plain = plainAddress(address);
  if (!plain.includes(":")) return plain;
  const [head = "", tail] = plain.split("::") as [string, string?];
  const before = head === "" ? [] : head.split(":");
  const after = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : 8 - before.length - after.length;
  return [...before, ...Array(Math.max(0, zeros)).fill("0"), ...after].slice(0, 4).join(":");
}

/** Returns an address without the form in which IPv6 sockets show IPv4 addresses. */
export function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, "").replace(/%.*$/, "");
}
