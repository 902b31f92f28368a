import type { ChannelKit, Severity } from "../../src/delivery/channels/mod.ts";

const COLORS = {
  info: "Accent",
  warning: "Warning",
  critical: "Attention",
} satisfies Record<Severity, string>;

// Teams takes 28 KB a message (https://learn.microsoft.com/microsoftteams/limits-specifications-teams, 2026-11-27).
// These stay below with 3 bytes a character, and 200 bytes of JSON a fact.
const ROOM = { title: 600, facts: 20, label: 60, value: 180, context: 400 };

/** Posts an Adaptive Card to a workflow of Microsoft Teams that is triggered by a webhook. */
export default ({ defineHttpChannel, z, httpUrl, layOut }: ChannelKit) =>
  defineHttpChannel({
    kind: "teams",
    summary: "Posts a card to a channel of Microsoft Teams",
    settings: z.object({
      url: httpUrl.meta({ secret: "url" }).describe(
        "The URL of the workflow's webhook trigger, which is its password too",
      ),
    }),
    request({ url }, notification) {
      // Text runs are plain text; text blocks and fact sets would be parsed as Markdown.
      const run = (text: string, style: object = {}) => ({ type: "TextRun", text, ...style });
      const block = (...inlines: unknown[]) => ({ type: "RichTextBlock", inlines });
      const { headline, facts, context } = layOut(notification, ROOM);
      const content = {
        $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
        type: "AdaptiveCard",
        version: "1.4",
        msteams: { width: "Full" },
        body: [
          block(run(headline, { weight: "Bolder", color: COLORS[notification.severity] })),
          ...facts.map(({ label, value }) => block(run(`${label}: `, { weight: "Bolder" }), run(value))),
          block(run(context, { isSubtle: true })),
        ],
      };
      const contentType = "application/vnd.microsoft.card.adaptive";
      return { url, payload: { type: "message", attachments: [{ contentType, contentUrl: null, content }] } };
    },
  });
