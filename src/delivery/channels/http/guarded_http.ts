import http from "node:http";
import https from "node:https";
import { isIP } from "node:net";
import { VERSION } from "../../../kernel/version.ts";
import { DeliveryError } from "../delivery_error.ts";
import { isHttpUrl, NO_HTTP_URL } from "./http_url.ts";
import { createResolveHost, type GuardOptions } from "./resolve_host.ts";
import { describeNetworkError, isBeforeConnection } from "./network_error.ts";
import { MAX_ANSWER_BYTES, type PostAnswer, type PostJson, type PostRequest } from "./post_json.ts";

/** How many of a host's addresses are tried, where nobody listens at the first. */
const MAX_ADDRESSES = 4;

/**
 * No proxy, whatever the environment names (NODE_USE_ENV_PROXY): it would see the whole address, which is secret, and
 * look the name up itself, so that the connection might go where it must not. Deno's types don't know `proxyEnv`.
 */
const DIRECT = { keepAlive: false, proxyEnv: {} };

/**
 * Makes the HTTP client for addresses that people configure. The name is looked up once, every address is
 * checked, and the connection goes to a checked one, so that no name can turn to a private address in between.
 * It has no time limit but the request's signal, which bounds all of it: lookup, connection, answer.
 */
export function createGuardedPost(
  options: GuardOptions & {
    /** Certificates (PEM) to trust instead of the system's. */
    ca?: string;
  } = {},
): PostJson {
  const resolveHost = createResolveHost(options);
  return async (request) => {
    if (!isHttpUrl(request.url)) throw new DeliveryError(`the address ${NO_HTTP_URL}`, { retry: false });
    const url = new URL(request.url);
    const addresses = (await resolveHost(url.hostname, request.signal)).slice(0, MAX_ADDRESSES);
    for (const [index, address] of addresses.entries()) {
      try {
        return await postTo(address, url, request, options.ca);
      } catch (error) {
        const isLast = index === addresses.length - 1;
        if (!isLast && isBeforeConnection(error) && !request.signal.aborted) continue;
        throw describeNetworkError(error, { host: url.host, signal: request.signal });
      }
    }
    throw new Error("Cannot post: the host has no address");
  };
}

async function postTo(address: string, url: URL, request: PostRequest, ca?: string): Promise<PostAnswer> {
  const agent = new (url.protocol === "https:" ? https : http).Agent(DIRECT);
  try {
    return await postThrough(agent, address, url, request, ca);
  } finally {
    agent.destroy();
  }
}

function postThrough(
  agent: http.Agent,
  address: string,
  url: URL,
  request: PostRequest,
  ca?: string,
): Promise<PostAnswer> {
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const body = new TextEncoder().encode(request.body);
  return new Promise((resolve, reject) => {
    const sent = (url.protocol === "https:" ? https : http).request({
      method: "POST",
      host,
      port: url.port || (url.protocol === "https:" ? 443 : 80),
      path: url.pathname + url.search,
      agent,
      signal: request.signal,
      // A certificate has the name without the dot at its end.
      servername: isIP(host) ? undefined : host.replace(/\.$/, ""),
      ca,
      lookup: (_name, options, callback) => {
        const family = isIP(address);
        if (options.all) callback(null, [{ address, family }]);
        else callback(null, address, family);
      },
      headers: {
        "user-agent": `purser/${VERSION}`,
        ...request.headers,
        host: url.host,
        "content-type": "application/json; charset=utf-8",
        "content-length": body.byteLength,
      },
    });
    let isAnswered = false;
    // What breaks after the answer has begun is the answer's: see `readAnswer`.
    sent.on("error", (error) => isAnswered || reject(error));
    sent.on("response", (response) => {
      isAnswered = true;
      readAnswer(response, request.signal).then(resolve, reject);
    });
    sent.on("upgrade", (_, socket) => {
      socket.destroy();
      reject(new DeliveryError("the receiver answered with another protocol", { retry: true }));
    });
    sent.end(body);
  });
}

async function readAnswer(response: http.IncomingMessage, signal: AbortSignal): Promise<PostAnswer> {
  const decoder = new TextDecoder();
  let body = "";
  let left = MAX_ANSWER_BYTES;
  try {
    for await (const chunk of response as AsyncIterable<Uint8Array>) {
      body += decoder.decode(chunk.subarray(0, left), { stream: true });
      left -= chunk.byteLength;
      if (left <= 0) break; // which closes the connection
    }
  } catch (error) {
    // The receiver has said how it went: that the rest of its words is lost is no reason to send again.
    if (signal.aborted) throw error;
  }
  const headers = Object.entries(response.headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join(", ") : value] as const]
  );
  return { status: response.statusCode ?? 0, headers: Object.fromEntries(headers), body };
}
