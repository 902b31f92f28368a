import type { Severity } from "../../src/delivery/channels/mod.ts";
import type { Fact, Notification } from "../../src/delivery/channels/mod.ts";
import { escapeText } from "./escape.ts";

const COLOURS = {
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
 * The message for Slack: blocks within an attachment, because only those have a colour, under a text that
 * is shown above them and in the alerts of phones. `link_names` and `verbatim`: nothing in it calls anybody.
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
      color: COLOURS[severity],
      blocks: [
        ...sectionsOf(facts),
        { type: "context", elements: [{ type: "plain_text", text: escapeText(context, MAX_CONTEXT_CHARS) }] },
      ],
    }],
  };
}

/** The facts in sections of two columns; what is too much is counted in the last one. */
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
