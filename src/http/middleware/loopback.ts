import { PurserError } from "../../kernel/errors.ts";
import { isLoopback } from "../../kernel/loopback_host.ts";

/**
 * Returns the part of a client's address that is counted as one client: an IPv4 address, or the /64 of an IPv6 address, since
 * a single machine has all of the latter.
 */
export function addressGroup(address: string): string {
  const mapped = /^::ffff:(\d{1,3}(?:\.\d{1,3}){3})$/i.exec(address)?.[1];
  if (mapped !== undefined || !address.includes(":")) return mapped ?? address;
  const [head = "", tail] = address.split("%")[0]!.toLowerCase().split("::");
  const groups = head === "" ? [] : head.split(":");
  if (tail !== undefined) {
    const rest = tail === "" ? [] : tail.split(":");
    // A dotted IPv4 tail is two groups, and never among the first four of a full address.
    const missing = 8 - groups.length - rest.length - (tail.includes(".") ? 1 : 0);
    groups.push(...Array(Math.max(0, missing)).fill("0"), ...rest);
  }
  return `${groups.slice(0, 4).map((group) => group.replace(/^0+(?=.)/, "")).join(":")}::/64`;
}

/** Returns the /48 that a /64 belongs to, which is what a site is given; undefined for an IPv4 address. */
export function siteOf(group: string): string | undefined {
  return /^((?:[^:]*:){3}).*::\/64$/.exec(group)?.[1]?.concat(":/48");
}

/**
 * Refuses requests that a web page made to a loopback server without keys. A page on another site can make a browser
 * send requests here; they are recognized by the Host (DNS rebinding), the Origin, and the browser's own
 * `Sec-Fetch-Site`. Following a link is harmless: it reads nothing and changes nothing.
 */
export function checkLoopbackRequest(request: Request): void {
  const host = request.headers.get("host") ?? new URL(request.url).host;
  const hostname = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+)(:\d{1,5})?$/.exec(host)?.[1]?.toLowerCase();
  if (hostname === undefined || !isLoopback(hostname)) {
    throw new PurserError(
      "forbidden",
      `Cannot answer for the host ${host}: without keys this server answers for localhost only`,
    );
  }
  const origin = request.headers.get("origin");
  if (origin !== null && origin !== `http://${host}`) {
    throw new PurserError("forbidden", "Cannot answer a web page of another origin");
  }
  const site = request.headers.get("sec-fetch-site");
  const isVisit = request.method === "GET" && request.headers.get("sec-fetch-mode") === "navigate" &&
    request.headers.get("sec-fetch-dest") === "document";
  if (site !== null && site !== "same-origin" && site !== "none" && !isVisit) {
    throw new PurserError("forbidden", "Cannot answer a request that a web page of another site made");
  }
}

/** Returns the error for a request that can't be shown to come from this machine. */
export function refusalOf(request: Request, from: string | undefined): unknown {
  try {
    if (from === undefined || !isLoopback(from.replace(/^::ffff:/i, ""))) {
      throw new PurserError(
        "forbidden",
        "Cannot answer another machine: there is no API key yet; make one with purser keys add NAME --scope admin",
      );
    }
    if (request.headers.has("forwarded") || request.headers.has("x-forwarded-for")) {
      throw new PurserError(
        "forbidden",
        "Cannot answer through a proxy, which may forward requests from anywhere: there is no API key yet; make one " +
          "with purser keys add NAME --scope admin",
      );
    }
    checkLoopbackRequest(request);
  } catch (error) {
    return error;
  }
}
