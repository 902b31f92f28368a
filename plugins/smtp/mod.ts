import type { ChannelKit } from "../../src/delivery/channels/mod.ts";
import { isHostName, isMailAddress } from "./address.ts";
import { createMemory } from "./settled_recipients.ts";

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
      username: z.string().min(1).optional().describe("With `password`: who signs in"),
      password: z.string().min(1).optional().meta({ secret: true }),
      // One address or several; a union would only say that neither fits.
      to_addrs: z.preprocess(
        (value) => typeof value === "string" ? [value] : value,
        z.array(address).min(1).max(100),
      ).describe("One address, or a list of them"),
      from_addr: address.optional().describe("Default: `username`"),
      tls: z.enum(["starttls", "tls", "none"]).default("starttls")
        .describe("`none` sends all in clear, the password too"),
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
        refuse("from_addr", "is missing, and username is no mail address");
      }
    }),
    open(settings, context) {
      const { host, port = PORTS[settings.tls], username, password, to_addrs, tls, ca } = settings;
      const from = settings.from_addr ?? username ?? "";
      const memory = createMemory();
      return {
        async send(notification, { deliveryId, signal }) {
          // Late: whoever has no notification to send has no need of the mailer.
          const [{ deliver }, { composeMessage }] = await Promise.all([
            import("./deliver.ts"),
            import("./message.ts"),
          ]);
          const to = memory.openRecipients(deliveryId, to_addrs);
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
          memory.settle(deliveryId, settled, { isDone: result.ok || !result.retry });
          return result;
        },
      };
    },
  });
};
