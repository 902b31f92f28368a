import { isIP } from "node:net";
import type { AddressGuard } from "../http/address_guard.ts";

/**
 * Finds an address in the settings of a channel that every attempt refuses: a literal one, or `localhost`, as the host of
 * an HTTP URL or as a setting of its own. Returns the setting and the address; undefined if there is none. Names are not
 * resolved.
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
