import { isIP } from "node:net";
import { VERSION } from "../../../kernel/version.ts";
import { createAddressGuard } from "./address_guard.ts";
import { DeliveryError } from "../delivery_error.ts";
import { isHttpUrl, NO_HTTP_URL } from "./http_url.ts";
import { describeNetworkError } from "./network_error.ts";
import { MAX_ANSWER_BYTES, type PostAnswer, type PostJson } from "./post_json.ts";

/** Names that never lead to the public network: RFC 6761, 6762 and 8375, and what clouds and offices use. */
const PRIVATE_SUFFIXES = /(^|\.)(localhost|local|internal|intranet|lan|corp|home\.arpa|test|invalid)$/;

/**
 * Makes the HTTP client for runtimes that have `fetch` and neither sockets nor a lookup of names. Addresses are
 * judged as everywhere, and `localhost` as one; of names only those that can be public are taken. It can't pin a
 * name to the address that was judged, as `createGuardedPost` does: what a public name leads to is up to the
 * platform, which has to keep private networks out of reach. Never follows a redirect.
 */
export function createFetchPost(
  options: { allowPrivateNetworks?: readonly string[]; fetch?: typeof globalThis.fetch } = {},
): PostJson {
  const mayReach = createAddressGuard(options.allowPrivateNetworks);
  return async ({ url: address, body, headers, signal }) => {
    if (!isHttpUrl(address)) throw new DeliveryError(`the address ${NO_HTTP_URL}`, { retry: false });
    const url = new URL(address);
    checkHost(url.hostname, mayReach);
    try {
      const answer = await (options.fetch ?? fetch)(url, {
        method: "POST",
        body,
        headers: {
          "user-agent": `purser/${VERSION}`,
          ...headers,
          "content-type": "application/json; charset=utf-8",
        },
        redirect: "manual",
        signal,
      });
      return {
        status: answer.status,
        headers: Object.fromEntries(answer.headers),
        body: await readStart(answer, signal),
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
  throw new DeliveryError(`${host} is no public name, and where this runs only those are reached`, {
    retry: false,
  });
}

async function readStart(answer: Response, signal: AbortSignal): Promise<PostAnswer["body"]> {
  if (answer.body === null) return "";
  const decoder = new TextDecoder();
  let text = "";
  let left = MAX_ANSWER_BYTES;
  try {
    for await (const chunk of answer.body) {
      text += decoder.decode(chunk.subarray(0, left), { stream: true });
      left -= chunk.byteLength;
      if (left <= 0) break; // which cancels the rest
    }
  } catch (error) {
    // The receiver has said how it went: that the rest of its words is lost is no reason to send again.
    if (signal.aborted) throw error;
  }
  return text;
}
