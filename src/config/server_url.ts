import { PurserError } from "../kernel/errors.ts";

/**
 * The URL of a Purser server, without a slash at its end. Throws `invalid`, naming where it came from, on what is none
 * and on one that carries a secret, because URLs end up in logs.
 */
export function parseServerUrl(text: string, source: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^https?:$/.test(url.protocol) && url.username === "" && url.search === "" && url.hash === "") {
    return url.href.replace(/\/+$/, "");
  }
  throw new PurserError(
    "invalid",
    `Cannot use ${source}: it must be an http:// or https:// URL without user, query or fragment` +
      (/^[\w.-]+(:\d+)?$/.test(text) ? `, such as http://${text}` : ""),
  );
}
