import { messageOf } from "../../../kernel/errors.ts";
import { DeliveryError } from "../delivery_error.ts";

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset",
  ECONNABORTED: "connection reset",
  EPIPE: "connection closed",
  EHOSTUNREACH: "no way to the host",
  ENETUNREACH: "no way to the network",
  EADDRNOTAVAIL: "no way to the address",
  ETIMEDOUT: "no answer",
};

const BEFORE_CONNECTION = new Set([
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EADDRNOTAVAIL",
  "ETIMEDOUT",
]);

/** Whether nothing can have arrived, so that another address of the same host may be tried. */
export function isBeforeConnection(error: unknown): boolean {
  return BEFORE_CONNECTION.has(codeOf(error));
}

/**
 * An error of the network or of TLS, for people. All of them may pass: a certificate that is wrong or has run
 * out is mended by its owner sooner than anybody looks at the alert that was given up for it.
 */
export function describeNetworkError(
  error: unknown,
  context: { host: string; signal: AbortSignal },
): DeliveryError {
  if (error instanceof DeliveryError) return error;
  if (context.signal.aborted) return new DeliveryError("stopped before there was an answer", { retry: true });
  const message = messageOf(error);
  const tls = /certificate|tls|ssl|handshake|InvalidContentType|corrupt message/i.test(
    `${codeOf(error)} ${message}`,
  );
  const reason = REASONS[codeOf(error)] ?? (tls ? `TLS failed: ${message}` : message);
  return new DeliveryError(`cannot reach ${context.host}: ${reason}`, { retry: true, cause: error });
}

function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === "string" ? code : "";
}
