import { PurserError } from "../../kernel/errors.ts";

/** Looks at a request, and at the address it came from, before the app does; throws what it is refused with. */
export type Guard = (request: Request, from?: string) => unknown;

/** The names under which a loopback server may be addressed. */
const LOOPBACK_HOSTS = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Whether an address to bind to can be reached from this machine only. */
export function isLoopback(host: string): boolean {
  return LOOPBACK_HOSTS.has(host) || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}

/**
 * Keeps web pages away from a server on loopback that asks for no key. A page elsewhere can make a browser
 * send requests here; what tells them apart is the Host (DNS rebinding), the Origin, and the browser's own
 * `Sec-Fetch-Site`. A plain visit by a link is harmless: it reads nothing and changes nothing.
 */
export const loopbackGuard: Guard = (request) => {
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
};
