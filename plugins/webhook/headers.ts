/** Headers that say how the request itself is made, or who signed it. */
const RESERVED = new Set([
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "expect",
  "host",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Whether Purser sets the header itself. */
export function isReserved(name: string): boolean {
  return RESERVED.has(name.toLowerCase()) || name.toLowerCase().startsWith("webhook-");
}

/** A token of RFC 9110, 5.6.2. */
export function isHeaderName(name: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/.test(name);
}

/** One line of printable ASCII: what every receiver reads the same way. */
export function isHeaderValue(value: string): boolean {
  return /^[\x20-\x7e]{1,4000}$/.test(value);
}
