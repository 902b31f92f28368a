/** The names under which a loopback server may be addressed. */
const LOOPBACK_HOSTS = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Returns whether an address to bind to can be reached from this machine only. */
export function isLoopback(host: string): boolean {
  return LOOPBACK_HOSTS.has(host) || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}
