import type { ChannelKit, Severity } from "../../src/delivery/channels/mod.ts";

const COLORS = { info: 0x3b82f6, warning: 0xf2a900, critical: 0xd0021b } satisfies Record<Severity, number>;

// Discord takes 2,000 characters of content, 25 fields of 256 and 1,024, a footer of 2,048, and 6,000 in all embeds
// (https://discord.com/developers/docs/resources/message#embed-object-embed-limits, 2026-11-27).
const ROOM = { title: 1_500, facts: 20, label: 60, value: 200, context: 500 };

/** The characters that begin or end markup of Discord: emphasis, code, spoilers, quotes, headings, links, mentions. */
const MARKUP = "\\*_~`|<>#[]()";

/** Posts to a webhook of Discord. */
export default ({ defineHttpChannel, z, httpUrl, layOut }: ChannelKit) =>
  defineHttpChannel({
    kind: "discord",
    summary: "Posts to a channel of Discord, colored by severity",
    settings: z.object({
      url: httpUrl.meta({ secret: "url" }).describe("The webhook's URL, which is its password too"),
    }),
    request({ url }, notification) {
      const target = new URL(url);
      target.searchParams.set("wait", "true"); // answered once the message is stored
      const escape = (char: string) => MARKUP.includes(char) ? `\\${char}` : char;
      const { headline, facts } = layOut(notification, ROOM, escape);
      return {
        url: target.href,
        payload: {
          content: headline,
          allowed_mentions: { parse: [] },
          embeds: [{
            color: COLORS[notification.severity],
            fields: facts.map(({ label, value }) => ({ name: label, value, inline: true })),
            footer: { text: layOut(notification, ROOM).context }, // plain text
          }],
        },
      };
    },
  });
