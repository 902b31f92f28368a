import type { ChannelKit } from "../src/delivery/channels/mod.ts";

/** Pushover's priorities are numbers: 0 is the default, 1 ignores the quiet hours of the phone. */
const PRIORITIES = { info: -1, warning: 0, critical: 1 };

/**
 * A channel that pushes to phones through Pushover (https://pushover.net/api, 2026-11-27), named in the config as
 * `"plugins": ["./pushover_channel.ts"]`. Its dependencies are arguments, so it imports only types, and works beside a
 * compiled `purser` too.
 */
export default ({ defineHttpChannel, z, httpUrl, oneLine, cutText, layOut }: ChannelKit) =>
  defineHttpChannel({
    kind: "pushover",
    summary: "Pushes to phones through Pushover",
    settings: z.object({
      server: httpUrl.default("https://api.pushover.net"),
      user: z.string().regex(/^[A-Za-z0-9_-]{8,64}$/, "takes 8 to 64 letters, digits, _ and -")
        .meta({ secret: true }),
      token: z.string().regex(/^[\x21-\x7e]+$/, "must be one word in ASCII").optional().meta({
        secret: true,
      }),
    }),
    request({ server, user, token }, notification) {
      const room = { title: 250, facts: 20, label: 100, value: 300, context: 300 };
      const { facts, context } = layOut(notification, room);
      const lines = facts.map(({ label, value }) => `${label}: ${value}`);
      return {
        url: `${server}/1/messages.json`,
        payload: {
          user,
          token,
          title: oneLine(notification.title, 250),
          message: cutText([...lines, context].join("\n"), 1_024),
          priority: PRIORITIES[notification.severity],
        },
      };
    },
  });
