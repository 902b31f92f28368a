/** A recipient that the server refuses. */
export interface Refusal {
  address: string;
  reason: string;
  /** Whether only for now: a reply of 4xx. */
  retry: boolean;
}

/** What nodemailer adds to an error. */
interface MailError {
  message?: string;
  code?: string;
  command?: string;
  response?: string;
  responseCode?: number;
  recipient?: string;
}

/**
 * What an error of the conversation means (RFC 5321, 4.2.1): a reply of 4xx may pass, one of 5xx stays, as does a
 * refused sign-in. Without a reply it was the network or TLS, which may pass.
 */
export function describeFailure(error: unknown): { reason: string; retry: boolean } {
  const { message = String(error), code, command, response, responseCode } = (error ?? {}) as MailError;
  // The command alone: after it may come the credentials.
  const during = command ? ` (${command.split(" ")[0]})` : "";
  if (responseCode !== undefined && responseCode >= 400) {
    // STARTTLS that is refused is no verdict about the mail, and may be somebody between who strips it.
    const retry = responseCode < 500 || code === "ETLS";
    return { reason: `SMTP ${response ?? responseCode}${during}`, retry };
  }
  if (code === "EAUTH") return { reason: `cannot sign in: ${message}`, retry: false };
  const isTls = code === "ETLS" || /certificate|altnames|\bssl|InvalidContentType/i.test(message);
  if (isTls) return { reason: `TLS failed: ${message}`, retry: true };
  // It has no address that it would send: none of ours is like that, so nothing will change.
  if (code === "EENVELOPE") return { reason: message, retry: false };
  return { reason: `the connection failed: ${message}${during}`, retry: true };
}

/** The recipients that were refused, from nodemailer's error or its answer. */
export function refusalsOf(answer: unknown): Refusal[] {
  const { rejectedErrors = [] } = (answer ?? {}) as { rejectedErrors?: MailError[] };
  return rejectedErrors.map((error) => {
    const { reason, retry } = describeFailure(error);
    return { address: error.recipient ?? "", reason, retry };
  });
}
