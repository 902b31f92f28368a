import type { RequestOptions } from "node:http";
import { messageOf } from "../kernel/errors.ts";
import { createSingleSendFetch } from "../kernel/single_send.ts";
import { PooledAnswer, type ProviderAnswer } from "./provider_answer.ts";

/** A request to send. */
export interface SendInit extends RequestInit {
  /** Called once all of its body is with the system, so that it isn't needed any more. */
  onSent?: () => void;
}

/** Sends a request, at most once. */
export type Send = (url: string, init?: RequestInit) => Promise<ProviderAnswer>;

/** The longest time that an idle connection is kept. It is shorter than that of servers, which would otherwise end one just as a request is sent. */
const KEPT_MS = 4_000;

/**
 * Returns a function that sends each request once. It keeps connections for the next request, since a new one takes a TLS
 * handshake. `fetch` of Deno sends a request again when a kept connection ends without an answer; a client of `node:http` can be
 * kept from that. If the environment names a proxy, `fetch` is used, with a connection for each request.
 */
export function createPooledSend(
  { hasProxy }: { hasProxy: boolean },
): Send & { ready(): Promise<unknown> | undefined } {
  const single: Send = createSingleSendFetch();
  let send: Send | undefined = hasProxy ? single : undefined;
  let loading: Promise<Send> | undefined;
  const load = (): Promise<Send> =>
    loading ??= loadClients().catch(() => single).then((loaded) => send = loaded);
  return Object.assign(
    (url: string, init?: RequestInit) => send ? send(url, init) : load().then((loaded) => loaded(url, init)),
    /** Loads the clients; from then on a request is sent in the turn in which it is made. */
    { ready: () => send ? undefined : load() },
  );
}

/** Returns true if an environment names a proxy for requests to providers. */
export function hasProxy(env: Readonly<Record<string, string | undefined>>): boolean {
  return ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"].some((name) => env[name] || env[name.toLowerCase()]);
}

async function loadClients(): Promise<Send> {
  const [http, https, { urlToHttpOptions }] = await Promise.all([
    import("node:http"),
    import("node:https"),
    import("node:url"),
  ]);
  const options = { keepAlive: true, timeout: KEPT_MS, maxSockets: Infinity, maxFreeSockets: 256 };
  const agents = { "http:": new http.Agent(options), "https:": new https.Agent(options) };
  return (url, { method = "GET", headers, body, signal, onSent }: SendInit = {}) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const address = urlToHttpOptions(new URL(url));
      const isSecure = address.protocol === "https:";
      const given: RequestOptions = {
        ...address,
        method,
        agent: agents[isSecure ? "https:" : "http:"],
        headers: {
          ...headers instanceof Headers || Array.isArray(headers) ? Object.fromEntries(headers) : headers,
          ...(body instanceof Uint8Array && { "content-length": body.length }),
        },
      };
      const request = (isSecure ? https : http).request(given);
      // `writableFinished` is true in Deno (2.9.6) before that. There it comes even before the error of a write that failed, so
      // it is no proof that all was sent; without it, not all was.
      let isSent = false;
      request.once("finish", () => {
        isSent = true;
        onSent?.();
      });
      // Deno (2.9.6) sends a request on a connection of this mark again where that ends without an answer; Node never does.
      request.once("socket", () => request.reusedSocket = false);
      const abort = () => request.destroy(signal!.reason);
      // What has been sent is known only after the events of the socket.
      const onAbort = () => isSent ? abort() : setImmediate(abort);
      signal?.addEventListener("abort", onAbort, { once: true });
      request.once("close", () => signal?.removeEventListener("abort", onAbort));
      request.on("error", (error) => {
        if (isSent) reject(error);
        else reject(signal?.aborted ? new UnsentError(error) : new PartlySentError(error));
      });
      request.once("response", (incoming) => {
        try {
          resolve(new PooledAnswer(incoming, { method, signal: signal ?? undefined }));
        } catch (error) {
          request.destroy(unreadable("status", { cause: error })); // thrown here, it would end the process
        }
      });
      // Without a listener, a connection that was switched would stay open and silent.
      request.once("upgrade", (_incoming, socket) => {
        socket.destroy();
        reject(unreadable("change of protocol"));
      });
      request.end(body instanceof Uint8Array ? body : undefined);
    });
}

/** The error of a request that was cancelled before all of it was sent, so that no server can have processed it. */
class UnsentError extends Error {
  override readonly name = "UnsentError";

  constructor(cause: unknown) {
    super(messageOf(cause), { cause });
  }
}

/** The error of a request whose connection ended before all of it was sent. */
class PartlySentError extends Error {
  override readonly name = "PartlySentError";

  constructor(cause: unknown) {
    super(messageOf(cause), { cause });
  }
}

/** Returns the error for an answer that isn't valid HTTP. Its code is one of those after which a call may have been charged. */
function unreadable(part: string, options?: ErrorOptions): Error {
  return Object.assign(new Error(`its answer has a ${part} that can't be read`, options), {
    code: "HPE_INVALID_STATUS",
  });
}
