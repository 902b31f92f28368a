import type { ChannelKit, Severity } from "../../src/delivery/channels/mod.ts";

const COLORS = {
  info: "Accent",
  warning: "Warning",
  critical: "Attention",
} satisfies Record<Severity, string>;

// Teams takes 28 KB a message (https://learn.microsoft.com/microsoftteams/limits-specifications-teams, 2026-11-27).
// These stay below with 3 bytes a character: 600 + 20 x (60 + 180) + 400, and 200 bytes of JSON a fact.
const MAX_TITLE_CHARS = 600;
const MAX_FACTS = 20;
const MAX_LABEL_CHARS = 60;
const MAX_VALUE_CHARS = 180;
const MAX_CONTEXT_CHARS = 400;

/** Posts an Adaptive Card to a workflow of Microsoft Teams that is triggered by a webhook. */
export default ({ defineHttpChannel, z, httpUrl, ...kit }: ChannelKit) =>
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
      const run = (text: string, max: number, style: Record<string, unknown> = {}) => ({
        type: "TextRun",
        text: kit.escapeText(text, max, (char) => char),
        ...style,
      });
      const block = (...inlines: unknown[]) => ({ type: "RichTextBlock", inlines });
      const color = COLORS[notification.severity];
      const content = {
        $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
        type: "AdaptiveCard",
        version: "1.4",
        msteams: { width: "Full" },
        body: [
          block(run(kit.headlineOf(notification), MAX_TITLE_CHARS, { weight: "Bolder", color })),
          ...kit.limitFacts(notification.facts, MAX_FACTS).map(({ label, value }) =>
            block(run(label, MAX_LABEL_CHARS, { weight: "Bolder" }), run(`: ${value}`, MAX_VALUE_CHARS))
          ),
          block(run(kit.contextOf(notification), MAX_CONTEXT_CHARS, { isSubtle: true })),
        ],
      };
      const contentType = "application/vnd.microsoft.card.adaptive";
      return { url, payload: { type: "message", attachments: [{ contentType, contentUrl: null, content }] } };
    },
  });
