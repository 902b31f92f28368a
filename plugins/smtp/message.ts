import MailComposer from "nodemailer/lib/mail-composer";
import { cutText, type Notification, oneLine } from "../../src/delivery/channels/mod.ts";

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
