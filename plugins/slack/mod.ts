import type { ChannelKit, Fact, Notification, Severity } from "../../src/delivery/channels/mod.ts";

/** Posts to an incoming webhook of Slack, or of a compatible service such as Mattermost. */
export default ({ defineChannel, z, httpResult, isHttpUrl, toJson }: ChannelKit) =>
  defineChannel({
    kind: "slack",
    summary: "Posts to a channel of Slack, colored by severity",
    settings: z.object({
      url: z.string().refine(isHttpUrl, "must be an http:// or https:// URL without user and password")
        .meta({ secret: "url" }).describe("The incoming webhook's URL, which is its password too"),
    }),
    open: ({ url }, { postJson, now }) => ({
      async send(notification, { signal }) {
        const body = toJson(createPayload(notification));
        return httpResult(await postJson({ url, body, signal }), now());
      },
    }),
  });

const COLORS = {
  info: "#3b82f6",
  warning: "#f2a900",
  critical: "#d0021b",
} satisfies Record<Severity, string>;

// Slack takes 50 blocks, 10 fields a section, 2,000 characters a field, and about 13,200 in all. These stay below
// for any text: 1,500 + 20 x (2 x 200 + 3) + 500, with room for the rest.
const MAX_TITLE_CHARS = 1_500;
const MAX_FACTS = 20;
const FACTS_PER_SECTION = 10;
const MAX_FACT_CHARS = 200;
const MAX_CONTEXT_CHARS = 500;

/**
 * Creates the message for Slack: blocks within an attachment, because only those have a color, below a text that also
 * appears in push notifications. `link_names` and `verbatim` keep it from mentioning users.
 */
export function createPayload({ severity, title, facts, at, environment, isTest }: Notification) {
  const word = severity.charAt(0).toUpperCase() + severity.slice(1);
  const context = [word, environment, at, ...(isTest ? ["this is a test"] : [])].join(" · ");
  return {
    text: `${word}: ${escapeText(title, MAX_TITLE_CHARS)}`,
    link_names: false,
    unfurl_links: false,
    unfurl_media: false,
    attachments: [{
      color: COLORS[severity],
      blocks: [
        ...sectionsOf(facts),
        { type: "context", elements: [{ type: "plain_text", text: escapeText(context, MAX_CONTEXT_CHARS) }] },
      ],
    }],
  };
}

/** Arranges the facts in sections of two columns; the last one counts those that are left out. */
function sectionsOf(facts: readonly Fact[]) {
  const shown = facts.length > MAX_FACTS ? facts.slice(0, MAX_FACTS - 1) : facts;
  const fields = shown.map(({ label, value }) =>
    formatField(escapeText(label, MAX_FACT_CHARS), escapeText(value, MAX_FACT_CHARS))
  );
  if (shown.length < facts.length) fields.push(formatField("More", `${facts.length - shown.length} facts`));
  return Array.from({ length: Math.ceil(fields.length / FACTS_PER_SECTION) }, (_, index) => ({
    type: "section",
    fields: fields.slice(index * FACTS_PER_SECTION, (index + 1) * FACTS_PER_SECTION),
  }));
}

function formatField(label: string, value: string) {
  return { type: "mrkdwn", text: `*${label.replaceAll("*", "∗")}*\n${value}`, verbatim: true };
}

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/**
 * Escapes a text for Slack as one line: `&`, `<` and `>` as entities, so that it holds neither a link nor a `<!channel>`,
 * and a zero-width space in mentions such as `@here`. Cut to `max` UTF-16 units after escaping, never within an entity or
 * a surrogate pair, with `…` at the end. An empty text becomes `–`.
 */
function escapeText(text: string, max: number): string {
  const plain = text.slice(0, max + 1).toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\u202A-\u202E\u2066-\u2069]+/gu, " ").trim()
    .replace(/@(?=here|channel|everyone)/gi, "@\u200B");
  let escaped = "";
  for (const char of plain) {
    const next = ENTITIES[char] ?? char;
    if (escaped.length + next.length > max - 1) return escaped + "…";
    escaped += next;
  }
  return escaped || "–";
}
