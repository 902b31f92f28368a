import { BlockList, isIP } from "node:net";

/** The special-purpose IPv4 networks of IANA's registry, with multicast and reserved ones. */
const SPECIAL_IPV4 = [
  "0.0.0.0/8", // this network
  "10.0.0.0/8", // private
  "100.64.0.0/10", // shared by a provider's customers
  "127.0.0.0/8", // loopback
  "168.63.129.16/32", // Azure's wire server, at a public address that only virtual machines reach
  "169.254.0.0/16", // link-local, and the metadata of clouds
  "172.16.0.0/12", // private
  "192.0.0.0/24", // protocol assignments
  "192.0.2.0/24", // documentation
  "192.31.196.0/24", // AS112
  "192.52.193.0/24", // AMT
  "192.88.99.0/24", // 6to4 relays, deprecated
  "192.168.0.0/16", // private
  "192.175.48.0/24", // AS112
  "198.18.0.0/15", // benchmarks
  "198.51.100.0/24", // documentation
  "203.0.113.0/24", // documentation
  "224.0.0.0/4", // multicast
  "240.0.0.0/4", // reserved, and broadcast
];

/** The IPv6 space outside of 2000::/3, the only part allocated, and the special-purpose networks within. */
const SPECIAL_IPV6 = [
  "::/3", // unspecified, loopback, IPv4-compatible and -translated, discard, dummy
  "4000::/2", // not allocated
  "8000::/1", // the same; unique local, link-local, site-local, multicast
  "2001::/23", // protocol assignments: Teredo, benchmarks, ORCHID, …
  "2001:db8::/32", // documentation
  "2620:4f:8000::/48", // AS112
  "3fff::/20", // documentation
];

/** Returns true for an address that may be reached. */
export type AddressGuard = (address: string) => boolean;

/**
 * Creates the guard that accepts public addresses, and those in the networks of `allowed` (CIDR). An IPv6 address
 * with an embedded IPv4 one (mapped, NAT64, 6to4, ISATAP) is checked as that one. Throws on an invalid network.
 */
export function createAddressGuard(allowed: readonly string[] = []): AddressGuard {
  const special = listNetworks([...SPECIAL_IPV4, ...SPECIAL_IPV6]);
  const exempt = listNetworks(allowed);
  return (address) => {
    const plain = address.replace(/%.*$/, ""); // the zone of a link-local address
    if (isIP(plain) === 0) return false;
    const inner = isIP(plain) === 6 ? embeddedIpv4(plain) : undefined;
    if (contains(exempt, plain) || (inner !== undefined && contains(exempt, inner))) return true;
    return !contains(special, inner ?? plain);
  };
}

function listNetworks(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [, address = "", prefix = ""] = /^([^/]*)\/(\d{1,3})$/.exec(network) ?? [];
    const family = isIP(address);
    const bits = Number(prefix);
    if (family === 0 || bits > (family === 6 ? 128 : 32)) {
      throw new RangeError(`Cannot use ${JSON.stringify(network)}: it must be a network such as 10.0.0.0/8`);
    }
    list.addSubnet(address, bits, family === 6 ? "ipv6" : "ipv4");
  }
  return list;
}

function contains(list: BlockList, address: string): boolean {
  return list.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
}

/**
 * Returns the IPv4 address embedded in an IPv6 address: RFC 4291 (mapped), RFC 6052 (NAT64), RFC 3056 (6to4), RFC 5214
 * (ISATAP, under any prefix). Teredo's network is refused whole.
 */
function embeddedIpv4(address: string): string | undefined {
  const words = readWords(address);
  const begins = (...head: number[]) => head.every((word, index) => words[index] === word);
  const ipv4At = (index: number) =>
    [words[index]!, words[index + 1]!].flatMap((word) => [word >> 8, word & 255]).join(".");
  if (begins(0, 0, 0, 0, 0, 0xffff) || begins(0x64, 0xff9b, 0, 0, 0, 0)) return ipv4At(6);
  if (begins(0x2002)) return ipv4At(1);
  return (words[4]! & ~0x200) === 0 && words[5] === 0x5efe ? ipv4At(6) : undefined;
}

/** Splits an IPv6 address into its eight words. */
function readWords(address: string): number[] {
  // The URL parser normalizes every notation, also 1::2.3.4.5, to hexadecimal words.
  const [head = "", tail] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split("::");
  const read = (part: string) => part === "" ? [] : part.split(":").map((word) => parseInt(word, 16));
  const [first, last] = [read(head), read(tail ?? "")];
  return [...first, ...new Array(8 - first.length - last.length).fill(0), ...last];
}

/**
 * Finds an address in the settings of a channel that every attempt refuses: a literal one, or `localhost`, as the host of
 * an HTTP URL or as a setting of its own. Returns the setting and the address; undefined if no setting has a literal address.
 * Names are not resolved.
 */
export function findRefusedAddress(
  settings: unknown,
  mayReach: AddressGuard,
): { setting: string; address: string } | undefined {
  for (const [setting, value] of Object.entries(settings ?? {})) {
    const address = typeof value === "string" ? hostOf(value) : "";
    const isRefused = isIP(address) === 0
      ? /^(.+\.)?localhost$/i.test(address) && !mayReach("127.0.0.1") && !mayReach("::1")
      : !mayReach(address);
    if (isRefused) return { setting, address };
  }
  return undefined;
}

/** Returns the host of an HTTP URL, in the URL parser's notation, or another text as it is. */
function hostOf(value: string): string {
  const host = /^https?:/i.test(value) && URL.canParse(value) ? new URL(value).hostname : value;
  return host.replace(/^\[(.*)\]$/, "$1");
}
