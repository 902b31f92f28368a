import type { ChannelKit, Notification, Severity } from "../../src/delivery/channels/mod.ts";

const COLORS = {
  info: "#3b82f6",
  warning: "#f2a900",
  critical: "#d0021b",
} satisfies Record<Severity, string>;

// Slack takes 50 blocks, 10 fields a section, 2,000 characters a field, and about 13,200 in all. These stay below
// for any text: 1,500 + 20 x (2 x 200 + 3) + 500, with room for the rest.
const ROOM = { title: 1_500, facts: 20, label: 200, value: 200, context: 500 };
const FACTS_PER_SECTION = 10;

// So that a text holds neither a link nor a `<!channel>`.
const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/** Posts to an incoming webhook of Slack, or of a compatible service such as Mattermost. */
export default ({ defineHttpChannel, z, httpUrl, layOut }: ChannelKit) =>
  defineHttpChannel({
    kind: "slack",
    summary: "Posts to a channel of Slack, colored by severity",
    settings: z.object({
      url: httpUrl.meta({ secret: "url" }).describe("The incoming webhook's URL, which is its password too"),
    }),
    request: ({ url }, notification) => ({ url, payload: createPayload(notification, layOut) }),
  });

/**
 * Creates the message for Slack: blocks within an attachment, because only those have a color, below a text that also
 * appears in push notifications. `link_names` and `verbatim` keep it from mentioning users.
 */
export function createPayload(notification: Notification, layOut: ChannelKit["layOut"]) {
  const { headline, facts, context } = layOut(notification, ROOM, (char) => ENTITIES[char] ?? char);
  const fields = facts.map(({ label, value }) => ({
    type: "mrkdwn",
    text: `*${label.replaceAll("*", "∗")}*\n${value}`,
    verbatim: true,
  }));
  return {
    text: headline,
    link_names: false,
    unfurl_links: false,
    unfurl_media: false,
    attachments: [{
      color: COLORS[notification.severity],
      blocks: [
        ...Array.from({ length: Math.ceil(fields.length / FACTS_PER_SECTION) }, (_, index) => ({
          type: "section",
          fields: fields.slice(index * FACTS_PER_SECTION, (index + 1) * FACTS_PER_SECTION),
        })),
        { type: "context", elements: [{ type: "plain_text", text: context }] },
      ],
    }],
  };
}
