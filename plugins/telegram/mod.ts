import type { ChannelKit } from "../../src/delivery/channels/mod.ts";

// Telegram takes 4,096 characters after parsing (https://core.telegram.org/bots/api#sendmessage, 2026-11-27). These stay
// below: 900 + 15 x (40 + 150 + 3) + 250.
const ROOM = { title: 900, facts: 15, label: 40, value: 150, context: 250 };

// A zero-width space breaks mentions.
const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "@": "@\u200B",
};

/** Sends messages of a bot of Telegram. */
export default ({ defineHttpChannel, z, httpUrl, layOut }: ChannelKit) =>
  defineHttpChannel({
    kind: "telegram",
    summary: "Sends a message of a bot of Telegram",
    settings: z.object({
      token: z.string().regex(
        /^\d+:[A-Za-z0-9_-]{30,100}$/,
        "must be the token of a bot, such as 123456:ABC-DEF…",
      )
        .meta({ secret: true }).describe("The bot's token, from @BotFather"),
      chat_id: z.string().regex(
        /^(-?\d+|@\w{4,})$/,
        "must be the number of a chat in quotes, or @ and a channel's name",
      )
        .describe('The chat, such as `"-1001234567890"`, or `@` and the name of a channel'),
      message_thread_id: z.int().positive().optional().describe("A topic of a forum"),
      server: httpUrl.default("https://api.telegram.org").describe("The Bot API, if you run it yourself"),
    }),
    request({ token, chat_id, message_thread_id, server }, notification) {
      const { headline, facts, context } = layOut(notification, ROOM, (char) => ENTITIES[char] ?? char);
      // Within `<code>` Telegram finds no links.
      const lines = facts.map(({ label, value }) => `${label}: <code>${value}</code>`);
      return {
        url: `${server.replace(/\/+$/, "")}/bot${token}/sendMessage`,
        payload: {
          chat_id,
          message_thread_id,
          text: [`<b>${headline}</b>`, ...lines, `<i>${context}</i>`].join("\n"),
          parse_mode: "HTML",
          link_preview_options: { is_disabled: true },
          disable_notification: notification.severity === "info",
        },
      };
    },
  });
