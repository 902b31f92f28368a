import type { ChannelKit } from "../../src/delivery/channels/mod.ts";

const NO_ADDRESS = "must be a mail address such as ops@example.com, and nothing else";
const PORTS = { starttls: 587, tls: 465, none: 25 } as const;

/** Sends plain-text mail. A password is never sent without TLS, unless `tls` is `none`. */
export default ({ defineChannel, z }: ChannelKit) => {
  const address = z.string().refine(isMailAddress, NO_ADDRESS);
  return defineChannel({
    kind: "smtp",
    summary: "Sends plain-text mail through an SMTP server",
    settings: z.object({
      host: z.string().refine(isHostName, "must be the name or the address of a host").describe(
        "The mail server",
      ),
      port: z.int().min(1).max(65_535).optional()
        .describe("Default: 587 for `starttls`, 465 for `tls`, 25 for `none`"),
      username: z.string().min(1).optional().describe("With `password`: the user to sign in"),
      password: z.string().min(1).optional().meta({ secret: true }),
      // Not a union, whose error would only say that neither type matches.
      to_addrs: z.preprocess(
        (value) => typeof value === "string" ? [value] : value,
        z.array(address).min(1).max(100),
      ).describe("One address, or a list of up to 100"),
      from_addr: address.optional().describe("Default: `username`; required if that isn't a mail address"),
      tls: z.enum(["starttls", "tls", "none"]).default("starttls")
        .describe("`none` sends everything in plaintext, the password too"),
      ca: z.string().startsWith("-----BEGIN CERTIFICATE-----", "must be a certificate in PEM").optional()
        .meta({ fromFile: true }).describe("PEM certificates to trust instead of the system's"),
    }).superRefine(({ username, password, from_addr }, { addIssue }) => {
      const refuse = (path: string, message: string) => addIssue({ code: "custom", path: [path], message });
      if (password !== undefined && username === undefined) {
        refuse("username", "is missing beside a password");
      }
      if (username !== undefined && password === undefined) {
        refuse("password", "is missing beside a username");
      }
      if (from_addr === undefined && (username === undefined || !isMailAddress(username))) {
        refuse("from_addr", "is missing, and username isn't a mail address");
      }
    }),
    open(settings, context) {
      const { host, port = PORTS[settings.tls], username, password, to_addrs, tls, ca } = settings;
      const from = settings.from_addr ?? username ?? "";
      const recipients = createSettledRecipients();
      return {
        async send(notification, { deliveryId, signal }) {
          // Lazy: the mailer is loaded with the first notification.
          const { composeMessage, deliver } = await import("./deliver.ts");
          const to = recipients.openRecipients(deliveryId, to_addrs);
          const raw = await composeMessage({
            notification,
            deliveryId,
            from,
            to: to_addrs,
            now: context.now(),
          });
          const { settled, result, refused } = await deliver({
            addresses: await context.resolveHost(host, signal),
            server: { host, port, tls, ca },
            auth: username !== undefined && password !== undefined ? { username, password } : undefined,
            envelope: { from, to },
            raw,
            signal,
          });
          for (const { address, reason } of refused) {
            context.log.warn(`Cannot mail ${address}: ${reason}`, { delivery_id: deliveryId });
          }
          recipients.settle(deliveryId, settled, { isDone: result.ok || !result.retry });
          return result;
        },
      };
    },
  });
};

const LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
const HOST = new RegExp(`^${LABEL}(?:\\.${LABEL})*\\.?$`);
const MAILBOX = new RegExp(`^[A-Za-z0-9.!#$%&'*+/=?^_\`{|}~-]{1,64}@${LABEL}(?:\\.${LABEL})*$`);

/**
 * Returns true for one bare mail address in ASCII: no display name, quotes, comments, spaces or line ends, so that it
 * can't inject a second recipient or an SMTP command.
 */
export function isMailAddress(text: string): boolean {
  return text.length <= 254 && MAILBOX.test(text) && !/^\.|\.\.|\.@/.test(text);
}

/** Returns true for the name or the IP address of a host. */
export function isHostName(text: string): boolean {
  if (text.length > 253) return false;
  return HOST.test(text) || (/^[0-9A-Fa-f:.]+$/.test(text) && URL.canParse(`http://[${text}]/`));
}

/** The maximum number of deliveries in memory; those that are done are removed at once. */
const MAX_DELIVERIES = 1_000;

/**
 * Remembers the settled recipients of each delivery, so that a further attempt mails only the others. It is in memory:
 * after a restart a recipient may get a mail twice, with the same Message-ID.
 */
export function createSettledRecipients() {
  const settled = new Map<string, Set<string>>();
  return {
    /** Returns the recipients to mail. */
    openRecipients(deliveryId: string, all: readonly string[]): string[] {
      const done = settled.get(deliveryId);
      const open = all.filter((address) => !done?.has(address));
      return open.length > 0 ? open : [...all];
    },
    /** Adds recipients that need no further attempt; a delivery that is done is removed. */
    settle(deliveryId: string, addresses: readonly string[], { isDone }: { isDone: boolean }): void {
      if (isDone) {
        settled.delete(deliveryId);
        return;
      }
      if (addresses.length === 0) return;
      settled.set(deliveryId, new Set([...settled.get(deliveryId) ?? [], ...addresses]));
      const [oldest] = settled.keys();
      if (settled.size > MAX_DELIVERIES && oldest !== undefined) settled.delete(oldest);
    },
  };
}
