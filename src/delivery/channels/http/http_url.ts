/**
 * Whether a text is an address that channels post to: http or https, with a host, and without user and
 * password, which belong into a header.
 */
export function isHttpUrl(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url !== undefined && /^https?:$/.test(url.protocol) && url.hostname !== "" &&
    url.username === "" && url.password === "";
}

/** What to say of a text that isn't one. */
export const NO_HTTP_URL = "must be an http:// or https:// URL without user and password";
