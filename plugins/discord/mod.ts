import type { ChannelKit, Severity } from "../../src/delivery/channels/mod.ts";

const COLORS = { info: 0x3b82f6, warning: 0xf2a900, critical: 0xd0021b } satisfies Record<Severity, number>;

// Discord takes 2,000 characters of content, 25 fields of 256 and 1,024, a footer of 2,048, and 6,000 in all embeds
// (https://discord.com/developers/docs/resources/message#embed-object-embed-limits, 2026-11-27).
const MAX_CONTENT_CHARS = 1_500;
const MAX_FACTS = 20;
const MAX_LABEL_CHARS = 60;
const MAX_VALUE_CHARS = 200;
const MAX_FOOTER_CHARS = 500;

/** Posts to a webhook of Discord. */
export default ({ defineHttpChannel, z, httpUrl, ...kit }: ChannelKit) =>
  defineHttpChannel({
    kind: "discord",
    summary: "Posts to a channel of Discord, colored by severity",
    settings: z.object({
      url: httpUrl.meta({ secret: "url" }).describe("The webhook's URL, which is its password too"),
    }),
    request({ url }, notification) {
      const target = new URL(url);
      target.searchParams.set("wait", "true"); // answered once the message is stored
      const escape = (text: string, max: number) =>
        kit.escapeText(text, max, (char) => MARKUP.includes(char) ? `\\${char}` : char);
      return {
        url: target.href,
        payload: {
          content: escape(kit.headlineOf(notification), MAX_CONTENT_CHARS),
          allowed_mentions: { parse: [] },
          embeds: [{
            color: COLORS[notification.severity],
            fields: kit.limitFacts(notification.facts, MAX_FACTS).map(({ label, value }) => ({
              name: escape(label, MAX_LABEL_CHARS),
              value: escape(value, MAX_VALUE_CHARS),
              inline: true,
            })),
            // A footer is plain text.
            footer: { text: kit.escapeText(kit.contextOf(notification), MAX_FOOTER_CHARS, (char) => char) },
          }],
        },
      };
    },
  });

/** The characters that begin or end markup of Discord: emphasis, code, spoilers, quotes, headings, links, mentions. */
const MARKUP = "\\*_~`|<>#[]()";
