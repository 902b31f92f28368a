import SMTPConnection from "nodemailer/lib/smtp-connection";
import type { SendResult } from "../../src/delivery/channels/mod.ts";
import { connectToFirst } from "./connect.ts";
import { describeFailure, type Refusal, refusalsOf } from "./smtp_failure.ts";

/**
 * A backstop above the longest `timeout_ms`: it is the signal that ends an attempt, and closes its connection.
 */
const BACKSTOP_MS = 150_000;
const CLOSE_GRACE_MS = 1_000;

/** A mail and the way it goes. */
export interface DeliverInput {
  /** Where `server.host` is; checked ones only. */
  addresses: readonly string[];
  server: { host: string; port: number; tls: "starttls" | "tls" | "none"; ca?: string | undefined };
  auth: { username: string; password: string } | undefined;
  envelope: { from: string; to: string[] };
  raw: Uint8Array;
  signal: AbortSignal;
}

/** What became of a mail. */
export interface Delivered {
  result: SendResult;
  /** The recipients who need no further attempt: they have it, or never will. */
  settled: string[];
  /** Of several recipients those whom the server refuses for good. */
  refused: { address: string; reason: string }[];
}

/** Sends one mail over one connection. Rejects with a DeliveryError when there is no connection. */
export async function deliver(input: DeliverInput): Promise<Delivered> {
  const { server, signal, envelope } = input;
  const socket = await connectToFirst(input.addresses, server, signal);
  if (signal.aborted) { // just as the connection was there: nobody would hear of it any more
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
    return judge(envelope.to, refusals);
  } catch (error) {
    stop();
    if (signal.aborted) return failure("stopped before the server had the mail", { retry: true });
    const { reason, retry } = describeFailure(error);
    const passing = refusalsOf(error).filter((refusal) => refusal.retry);
    // Some were refused for good, others for now: only the others are tried again.
    const settled = passing.length > 0 ? refusalsOf(error).filter((one) => !one.retry) : [];
    return { ...failure(reason, { retry }), settled: settled.map((one) => one.address), refused: settled };
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** Greets, signs in and hands over the mail; resolves to the recipients that were refused while others weren't. */
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

/** The server has the mail, for some of the recipients at least. */
function judge(to: readonly string[], refusals: readonly Refusal[]): Delivered {
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
