/** The names under which a loopback server may be addressed. */
const LOOPBACK_HOSTS = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Returns whether an address to bind to can be reached from this machine only. */
export function isLoopback(host: string): boolean {
  return LOOPBACK_HOSTS.has(host) || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}

/**
 * Returns the URL of a text. Throws an error with the reason if it isn't one, has a password, or would send its answer
 * unprotected over a network.
 */
export function parseDownloadUrl(text: string): URL {
  if (!URL.canParse(text)) throw new Error("the address is no URL");
  const url = new URL(text);
  if (url.username !== "" || url.password !== "") throw new Error("the URL contains a password");
  if (url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url.hostname))) return url;
  throw new Error(`${url.protocol}// is not allowed; give an https:// URL, or http:// of this machine`);
}
