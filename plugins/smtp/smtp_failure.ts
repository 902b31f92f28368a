/** A recipient that the server refuses. */
export interface Refusal {
  address: string;
  reason: string;
  /** True for a temporary refusal: a reply of 4xx. */
  retry: boolean;
}

/** The properties of nodemailer's errors. */
interface MailError {
  message?: string;
  code?: string;
  command?: string;
  response?: string;
  responseCode?: number;
  recipient?: string;
}

/**
 * Classifies an error of the SMTP session (RFC 5321, 4.2.1): a reply of 4xx is retried; one of 5xx is permanent, as is a
 * refused sign-in. Without a reply it was the network or TLS, which is retried.
 */
export function describeFailure(error: unknown): { reason: string; retry: boolean } {
  const { message = String(error), code, command, response, responseCode } = (error ?? {}) as MailError;
  // Without the arguments, which may be credentials.
  const during = command ? ` (${command.split(" ")[0]})` : "";
  if (responseCode !== undefined && responseCode >= 400) {
    // A refused STARTTLS may come from a proxy that strips it, so it is retried.
    const retry = responseCode < 500 || code === "ETLS";
    return { reason: `SMTP ${response ?? responseCode}${during}`, retry };
  }
  if (code === "EAUTH") return { reason: `cannot sign in: ${message}`, retry: false };
  const isTls = code === "ETLS" || /certificate|altnames|\bssl|InvalidContentType/i.test(message);
  if (isTls) return { reason: `TLS failed: ${message}`, retry: true };
  // An address that nodemailer refuses, so a retry would fail too.
  if (code === "EENVELOPE") return { reason: message, retry: false };
  return { reason: `the connection failed: ${message}${during}`, retry: true };
}

/** Returns the refused recipients of nodemailer's error or response. */
export function refusalsOf(answer: unknown): Refusal[] {
  const { rejectedErrors = [] } = (answer ?? {}) as { rejectedErrors?: MailError[] };
  return rejectedErrors.map((error) => {
    const { reason, retry } = describeFailure(error);
    return { address: error.recipient ?? "", reason, retry };
  });
}
