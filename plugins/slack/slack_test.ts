import { SEVERITIES } from "../../src/contract/values.ts";
import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { anyCharacter } from "../../tests/harness/any_character.ts";
import {
  AWKWARD_TEXTS,
  MANY_FACTS,
  NOTIFICATION,
  withText,
} from "../../src/delivery/channels/testing/_notifications.ts";
import { openPlugin } from "../../src/delivery/channels/testing/_open_plugin.ts";
import { createChannelKit } from "../../src/delivery/channels/load_plugin.ts";
import type { Notification } from "../../src/delivery/channels/mod.ts";
import slack, { createPayload as create } from "./mod.ts";

const kit = await createChannelKit();
const createPayload = (notification: Notification) => create(notification, kit.layOut);

type Payload = ReturnType<typeof createPayload>;

/** The texts of a block: a section has fields, a context has elements. */
interface Block {
  type: string;
  fields?: { text: string }[];
  elements?: { text: string }[];
}

const blocksOf = (payload: Payload): Block[] => payload.attachments.flatMap(({ blocks }) => blocks);

/** Returns all texts that Slack parses as markup. */
function textsOf(payload: Payload): string[] {
  const inner = blocksOf(payload).flatMap(({ fields = [], elements = [] }) =>
    [...fields, ...elements].map(({ text }) => text)
  );
  return [payload.text, ...inner];
}

/** Slack's limits: docs.slack.dev, "Blocks" and "Secondary message attachments". */
function assertWithinLimits(payload: Payload): void {
  const blocks = blocksOf(payload);
  assert.ok(blocks.length >= 1 && blocks.length <= 50, "50 blocks");
  for (const { type, fields = [], elements = [] } of blocks) {
    assert.ok(type === "section" || type === "context");
    assert.ok(type !== "section" || (fields.length >= 1 && fields.length <= 10), "10 fields in a section");
    assert.ok(elements.length <= 10, "10 elements in a context");
    for (const { text } of fields) {
      assert.ok(text.length >= 1 && text.length <= 2_000, "2,000 characters a field");
    }
    for (const { text } of elements) {
      assert.ok(text.length >= 1 && text.length <= 3_000, "3,000 characters a text");
    }
  }
  const texts = textsOf(payload);
  assert.ok(texts.reduce((sum, { length }) => sum + length, 0) <= 13_200, "13,200 characters in all");
  for (const text of texts) {
    assert.ok(text.isWellFormed());
    assert.doesNotMatch(text, /[<>]|&(?!amp;|lt;|gt;)/, "no markup, and no entity that is cut");
    assert.doesNotMatch(text, /@(here|channel|everyone)/i, "no mention");
  }
}

function golden(color: string, word: string): Payload {
  return {
    text: `${word}: Daily spend of researcher reached $10.25 (threshold $10)`,
    link_names: false,
    unfurl_links: false,
    unfurl_media: false,
    attachments: [{
      color,
      blocks: [
        {
          type: "section",
          fields: [
            { type: "mrkdwn", text: "*Agent*\nresearcher", verbatim: true },
            { type: "mrkdwn", text: "*Rule*\nDaily limit", verbatim: true },
          ],
        },
        {
          type: "context",
          elements: [{ type: "plain_text", text: `${word} · production · 2026-11-21T09:30:00.000Z` }],
        },
      ],
    }],
  };
}

const GOLDENS = {
  info: golden("#3b82f6", "Info"),
  warning: golden("#f2a900", "Warning"),
  critical: golden("#d0021b", "Critical"),
};

for (const severity of SEVERITIES) {
  Deno.test(`slack: the message of severity ${severity} is unchanged`, () => {
    assert.deepEqual(createPayload({ ...NOTIFICATION, severity }), GOLDENS[severity]);
  });
}

Deno.test("slack: a test is marked, and a message without facts has no empty section", () => {
  const payload = createPayload({ ...NOTIFICATION, isTest: true, facts: [] });
  assert.deepEqual(blocksOf(payload), [{
    type: "context",
    elements: [{
      type: "plain_text",
      text: "Critical · production · 2026-11-21T09:30:00.000Z · this is a test",
    }],
  }]);
});

Deno.test("slack: any text in any field stays within Slack's limits and mentions no user", () => {
  const nasty = fc.constantFrom(
    "<!channel>",
    "@here",
    "&<>",
    "&amp;",
    "🔥",
    "\r\n",
    "x".repeat(3_000),
    "*",
    "\uD83D",
  );
  const text = fc.array(fc.oneof(fc.string({ unit: anyCharacter }), nasty), { maxLength: 40 }).map((parts) =>
    parts.join("")
  );
  const fact = fc.record({ label: text, value: text });
  fc.assert(
    fc.property(
      text,
      text,
      fc.array(fact, { maxLength: 60 }),
      fc.boolean(),
      (title, environment, facts, isTest) => {
        assertWithinLimits(createPayload({ ...NOTIFICATION, title, environment, facts, isTest }));
      },
    ),
    { numRuns: 200 },
  );
});

Deno.test("slack: the worst texts stay within Slack's limits", () => {
  for (const text of [...Object.values(AWKWARD_TEXTS), "&".repeat(10_000), "@here".repeat(5_000)]) {
    assertWithinLimits(createPayload(withText(text)));
    const facts = Array.from({ length: 500 }, () => ({ label: text, value: text }));
    assertWithinLimits(createPayload({ ...withText(text), facts }));
  }
});

Deno.test("slack: facts beyond the limit are counted", () => {
  const fields = blocksOf(createPayload(MANY_FACTS)).flatMap(({ fields = [] }) => fields);
  assert.equal(fields.length, 20);
  assert.equal(fields.at(-1)!.text, "*More*\n981 facts");
});

Deno.test("slack: the reason of a failure is Slack's response", async () => {
  const settings = { url: "https://hooks.slack.example/services/T/B/X" };
  const answer = { status: 404, headers: {}, body: "channel_not_found" };
  const { channel, posts, delivery } = await openPlugin(slack, { settings, answer });
  assert.deepEqual(await channel.send(NOTIFICATION, delivery), {
    ok: false,
    retry: false,
    reason: "HTTP 404: channel_not_found",
  });
  assert.deepEqual(JSON.parse(posts[0]!.body), GOLDENS.critical);
});
