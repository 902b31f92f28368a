import { isIP } from "node:net";
import { holdResponse } from "../../../kernel/single_send.ts";
import { VERSION } from "../../../kernel/version.ts";
import { createAddressGuard } from "./address_guard.ts";
import { DeliveryError } from "../notification.ts";
import type { PostJson } from "./post_json.ts";
import { describeNetworkError, parseHttpUrl, readBody } from "./http_client.ts";

/** Names that never resolve in public DNS: RFC 6761, 6762 and 8375, and those that clouds and offices use. */
const PRIVATE_SUFFIXES = /(^|\.)(localhost|local|internal|intranet|lan|corp|home\.arpa|test|invalid)$/;

/**
 * Creates the HTTP client for runtimes that have `fetch` but neither sockets nor DNS lookups. It checks addresses,
 * `localhost` included, as everywhere, and accepts only names that can be public. Unlike `createGuardedPost` it can't
 * pin a name to a checked address: the platform has to keep private networks out of reach. Never follows a redirect.
 */
export function createFetchPost(
  options: { allowPrivateNetworks?: readonly string[]; fetch?: typeof globalThis.fetch } = {},
): PostJson {
  const mayReach = createAddressGuard(options.allowPrivateNetworks);
  return async ({ url: address, body, headers, signal }) => {
    const url = parseHttpUrl(address);
    checkHost(url.hostname, mayReach);
    try {
      const answer = holdResponse(
        await (options.fetch ?? fetch)(url, {
          method: "POST",
          body,
          headers: {
            "user-agent": `purser/${VERSION}`,
            ...headers,
            "content-type": "application/json; charset=utf-8",
          },
          redirect: "manual",
          signal,
        }),
      );
      return {
        status: answer.status,
        headers: Object.fromEntries(answer.headers),
        body: answer.body === null ? "" : await readBody(answer.body, signal),
      };
    } catch (error) {
      throw describeNetworkError(error, { host: url.host, signal });
    }
  };
}

function checkHost(hostname: string, mayReach: (address: string) => boolean): void {
  const host = hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "").toLowerCase();
  const address = host === "localhost" ? "127.0.0.1" : isIP(host) ? host : undefined;
  if (address !== undefined) {
    if (mayReach(address)) return;
    throw new DeliveryError(
      `${host} is a private address; name its network in allow_private_networks to reach it`,
      { retry: false },
    );
  }
  if (host.includes(".") && !PRIVATE_SUFFIXES.test(host)) return;
  throw new DeliveryError(`${host} is no public name, and this runtime can only reach those`, {
    retry: false,
  });
}
