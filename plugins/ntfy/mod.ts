import type { ChannelKit, Severity } from "../../src/delivery/channels/mod.ts";

const PRIORITIES = { info: 3, warning: 4, critical: 5 } satisfies Record<Severity, number>;

/** Tags that ntfy shows as emoji. */
const TAGS = {
  info: "information_source",
  warning: "warning",
  critical: "rotating_light",
} satisfies Record<Severity, string>;

// A longer message becomes an attachment (https://docs.ntfy.sh/publish/#limitations, 2026-11-27).
const MAX_MESSAGE_BYTES = 4_096;
const ROOM = { title: 200, facts: 20, label: 60, value: 240, context: 300 };

/** Publishes to a topic of ntfy. */
export default ({ defineHttpChannel, z, httpUrl, layOut }: ChannelKit) =>
  defineHttpChannel({
    kind: "ntfy",
    summary: "Publishes to a topic of ntfy, for phones",
    settings: z.object({
      topic: z.string().regex(/^[-_A-Za-z0-9]{1,64}$/, "takes letters, digits, _ and -, at most 64")
        .meta({ secret: true }).describe("The topic; on a public server its name is its password"),
      server: httpUrl.default("https://ntfy.sh").describe("The server, if you run it yourself"),
      token: z.string().regex(/^[\x21-\x7e]{1,200}$/, "must be one word").optional()
        .meta({ secret: true }).describe("An access token, where the topic needs one"),
      click: httpUrl.optional().describe("What a tap on the notification opens, such as the dashboard"),
    }),
    request({ topic, server, token, click }, notification) {
      const { headline, facts, context } = layOut(notification, ROOM);
      const lines = facts.map(({ label, value }) => `${label}: ${value}`);
      return {
        url: `${server.replace(/\/+$/, "")}/`,
        payload: {
          topic,
          title: headline,
          message: cutBytes([...lines, context].join("\n")),
          priority: PRIORITIES[notification.severity],
          tags: [TAGS[notification.severity]],
          click,
        },
        ...(token !== undefined && { headers: { authorization: `Bearer ${token}` } }),
      };
    },
  });

/** Cuts a message to the bytes that ntfy takes, never within a character. */
function cutBytes(text: string): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(MAX_MESSAGE_BYTES - 3));
  return read === text.length ? text : `${text.slice(0, read)}…`;
}
