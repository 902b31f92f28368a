import { connect, type Socket } from "node:net";
import SMTPConnection from "nodemailer/lib/smtp-connection";
import {
  cutText,
  DeliveryError,
  type Notification,
  oneLine,
  type SendResult,
} from "../../src/delivery/channels/mod.ts";
import MailComposer from "nodemailer/lib/mail-composer";

const MAX_SUBJECT_CHARS = 150;
const MAX_LINE_CHARS = 2_000;
const MAX_FACTS = 100;

/** The contents of a mail. */
export interface MailInput {
  notification: Notification;
  deliveryId: string;
  from: string;
  to: readonly string[];
  /** Milliseconds since the epoch. */
  now: number;
}

/**
 * Composes a mail in plain text (RFC 5322). Its Message-ID is derived from the delivery's id, so that mail programs can
 * recognize a duplicate.
 */
export async function composeMessage(
  { notification, deliveryId, from, to, now }: MailInput,
): Promise<Uint8Array> {
  const { severity, title, isTest } = notification;
  const word = severity.charAt(0).toUpperCase() + severity.slice(1);
  const domain = from.slice(from.lastIndexOf("@") + 1);
  const message = new MailComposer({
    // Objects, since texts would be parsed for names and further addresses.
    from: { name: "Purser", address: from },
    to: to.map((address) => ({ name: "", address })),
    subject: `${isTest ? "[Test] " : ""}${word}: ${oneLine(title, MAX_SUBJECT_CHARS)}`,
    text: writeText(notification, deliveryId),
    messageId: `<${deliveryId.replace(/[^A-Za-z0-9._-]/g, "_")}@${domain}>`,
    date: new Date(now),
    headers: { "Auto-Submitted": "auto-generated", ...(severity === "critical" && { Importance: "high" }) },
    disableFileAccess: true,
    disableUrlAccess: true,
  }).compile();
  return await message.build();
}

function writeText({ title, facts, severity, environment, at }: Notification, deliveryId: string): string {
  const shown = facts.slice(0, MAX_FACTS);
  const lines = [
    ...shown,
    { label: "Severity", value: severity },
    { label: "Environment", value: environment },
    { label: "At", value: at },
    { label: "Delivery", value: deliveryId },
  ].map(({ label, value }) => `${oneLine(label, MAX_LINE_CHARS)}: ${oneLine(value, MAX_LINE_CHARS)}`);
  if (shown.length < facts.length) lines.push(`(${facts.length - shown.length} more facts)`);
  return [cutText(oneLine(title), MAX_LINE_CHARS), "", ...lines, ""].join("\n");
}

/** A backstop above the longest `timeout_ms`; the signal ends an attempt and closes its connection before. */
const BACKSTOP_MS = 150_000;
const CLOSE_GRACE_MS = 1_000;

/** A mail and its server. */
export interface DeliverInput {
  /** The checked addresses of `server.host`. */
  addresses: readonly string[];
  server: { host: string; port: number; tls: "starttls" | "tls" | "none"; ca?: string | undefined };
  auth: { username: string; password: string } | undefined;
  envelope: { from: string; to: string[] };
  raw: Uint8Array;
  signal: AbortSignal;
}

/** The outcome of a mail. */
export interface Delivered {
  result: SendResult;
  /** The recipients that need no further attempt: accepted or permanently refused. */
  settled: string[];
  /** Of several recipients those that the server refuses permanently. */
  refused: { address: string; reason: string }[];
}

/** Sends one mail over one connection. Rejects with a DeliveryError when there is no connection. */
export async function deliver(input: DeliverInput): Promise<Delivered> {
  const { server, signal, envelope } = input;
  const socket = await connectToFirst(input.addresses, server, signal);
  if (signal.aborted) { // in the same moment as the connection was made
    socket.destroy();
    return failure("stopped before the server had the mail", { retry: true });
  }
  const connection = new SMTPConnection({
    connection: socket,
    host: server.host.replace(/\.$/, ""),
    port: server.port,
    secure: server.tls === "tls",
    requireTLS: server.tls === "starttls",
    ignoreTLS: server.tls === "none",
    tls: { ...(server.ca && { ca: server.ca }), minVersion: "TLSv1.2" },
    connectionTimeout: BACKSTOP_MS,
    greetingTimeout: BACKSTOP_MS,
    socketTimeout: BACKSTOP_MS,
    socketCloseTimeout: CLOSE_GRACE_MS,
  });
  const stop = () => {
    connection.close();
    socket.destroy();
  };
  signal.addEventListener("abort", stop, { once: true });
  try {
    const refusals = await converse(connection, input);
    signal.removeEventListener("abort", stop);
    connection.quit();
    connection.close(); // without waiting for an answer: the server has the mail
    return outcomeOf(envelope.to, refusals);
  } catch (error) {
    stop();
    if (signal.aborted) return failure("stopped before the server had the mail", { retry: true });
    const { reason, retry } = describeFailure(error);
    const passing = refusalsOf(error).filter((refusal) => refusal.retry);
    // Some were refused permanently, others temporarily: only the others are retried.
    const settled = passing.length > 0 ? refusalsOf(error).filter((one) => !one.retry) : [];
    return { ...failure(reason, { retry }), settled: settled.map((one) => one.address), refused: settled };
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** Connects, signs in and sends the mail; resolves to the refused recipients if others were accepted. */
function converse(connection: SMTPConnection, { auth, envelope, raw }: DeliverInput): Promise<Refusal[]> {
  return new Promise((resolve, reject) => {
    connection.on("error", reject);
    connection.on("end", () => reject(new Error("the server closed the connection")));
    const send = () =>
      connection.send(envelope, raw as Parameters<typeof connection.send>[1], (error, info) => {
        if (error) reject(error);
        else resolve(refusalsOf(info));
      });
    connection.connect((error) => {
      if (error) return reject(error);
      if (!auth) return send();
      connection.login(
        { user: auth.username, pass: auth.password },
        (error) => error ? reject(error) : send(),
      );
    });
  });
}

/** Returns the outcome of a mail that the server accepted for some recipients at least. */
function outcomeOf(to: readonly string[], refusals: readonly Refusal[]): Delivered {
  const passing = refusals.filter(({ retry }) => retry);
  const refused = refusals.filter(({ retry }) => !retry);
  const settled = to.filter((address) => !passing.some((refusal) => refusal.address === address));
  const [first] = passing;
  const result: SendResult = first
    ? { ok: false, retry: true, reason: `${first.address}: ${first.reason}` }
    : { ok: true };
  return { result, settled, refused };
}

function failure(reason: string, { retry }: { retry: boolean }): Delivered {
  return { result: { ok: false, retry, reason }, settled: [], refused: [] };
}

/** Connects to the first of a host's addresses that accepts a connection. Rejects with a DeliveryError. */
async function connectToFirst(
  addresses: readonly string[],
  { host, port }: { host: string; port: number },
  signal: AbortSignal,
): Promise<Socket> {
  let reason = "it has no address";
  for (const address of addresses) {
    try {
      return await connectTo(address, port, signal);
    } catch (error) {
      if (signal.aborted) throw new DeliveryError("stopped before there was a connection", { retry: true });
      const { code } = error as { code?: string };
      reason = code === "ECONNREFUSED" ? "connection refused" : code ?? "no connection";
    }
  }
  throw new DeliveryError(`cannot reach ${host}:${port}: ${reason}`, { retry: true });
}

function connectTo(address: string, port: number, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: address, port });
    const settle = (act: () => void) => () => {
      signal.removeEventListener("abort", stop);
      act();
    };
    const stop = settle(() => {
      socket.destroy();
      reject(signal.reason);
    });
    const fail = (error: Error) => settle(() => reject(error))();
    socket.once("error", fail);
    socket.once("connect", () => {
      socket.off("error", fail);
      settle(() => resolve(socket))();
    });
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}

/** A recipient that the server refuses. */
interface Refusal {
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
function describeFailure(error: unknown): { reason: string; retry: boolean } {
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
function refusalsOf(answer: unknown): Refusal[] {
  const { rejectedErrors = [] } = (answer ?? {}) as { rejectedErrors?: MailError[] };
  return rejectedErrors.map((error) => {
    const { reason, retry } = describeFailure(error);
    return { address: error.recipient ?? "", reason, retry };
  });
}
