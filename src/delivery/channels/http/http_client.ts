import { messageOf } from "../../../kernel/errors.ts";
import { DeliveryError } from "../notification.ts";
import { isHttpUrl } from "./post_json.ts";

/** The parts that both HTTP clients share: `guarded_http.ts`, over sockets, and `fetch_post.ts`. */

/** The number of bytes of a response body that are read. */
export const MAX_ANSWER_BYTES = 64 * 1024;

/** Decodes the start of a response body; leaving the loop cancels the rest. */
export async function readBody(chunks: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let left = MAX_ANSWER_BYTES;
  try {
    for await (const chunk of chunks) {
      text += decoder.decode(chunk.subarray(0, left), { stream: true });
      left -= chunk.byteLength;
      if (left <= 0) break;
    }
  } catch (error) {
    // The status has arrived: a body that breaks off isn't a reason to send again.
    if (signal.aborted) throw error;
  }
  return text;
}

/** Parses a URL that passes `isHttpUrl`; throws a permanent DeliveryError for any other. */
export function parseHttpUrl(text: string): URL {
  if (isHttpUrl(text)) return new URL(text);
  throw new DeliveryError("the address must be an http:// or https:// URL without user and password", {
    retry: false,
  });
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset",
  ECONNABORTED: "connection reset",
  EPIPE: "connection closed",
  EHOSTUNREACH: "no route to host",
  ENETUNREACH: "network is unreachable",
  EADDRNOTAVAIL: "address not available",
  ETIMEDOUT: "connection timed out",
};

/**
 * Describes an error of the network or of TLS, for people. All of them may be retried: a certificate that is wrong or
 * has expired is replaced sooner than people look for the alert that was given up.
 */
export function describeNetworkError(
  error: unknown,
  context: { host: string; signal: AbortSignal },
): DeliveryError {
  if (error instanceof DeliveryError) return error;
  if (context.signal.aborted) return new DeliveryError("stopped before there was an answer", { retry: true });
  const message = messageOf(error);
  const code = codeOf(error);
  const isTls = /certificate|tls|ssl|handshake|InvalidContentType|corrupt message/i.test(
    `${code} ${message}`,
  );
  const reason = REASONS[code] ?? (isTls ? `TLS failed: ${message}` : message);
  return new DeliveryError(`cannot reach ${context.host}: ${reason}`, { retry: true, cause: error });
}

/** Returns the code of a system error, or an empty string. */
export function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === "string" ? code : "";
}
