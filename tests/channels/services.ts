import assert from "node:assert/strict";
import { z } from "zod";
import type { Answer, ReceivedRequest } from "../../src/delivery/channels/testing/conformance.ts";

/*
 * The services that channels post to, as receivers that refuse what the documents of the service refuse: sizes, required
 * fields, markup, credentials. Each rule is of the page that is named, as of 2026-11-27.
 */

/** A service: how it answers, and the texts that people read there, once its markup is parsed. */
export interface Service {
  receive(request: ReceivedRequest): Answer;
  /** Returns the texts of an accepted body as they are shown; throws where one of them is not plain text. */
  shownTexts(body: string): string[];
}

// deno-lint-ignore no-explicit-any -- a body of any of these services
type Body = any;

/** Answers with 400 and the first rule that a request breaks. */
function service(
  accepted: Answer,
  rules: (request: ReceivedRequest, body: Body) => Answer | void,
  shownTexts: (body: Body) => string[],
): Service {
  return {
    receive(request) {
      try {
        return rules(request, JSON.parse(request.body)) ?? accepted;
      } catch (error) {
        return { status: 400, body: `refused: ${(error as Error).message}` };
      }
    },
    shownTexts: (body) => shownTexts(JSON.parse(body)),
  };
}

const bytesOf = (text: string) => new TextEncoder().encode(text).byteLength;

const textOf = (min: number, max: number) =>
  z.string().refine((text) => text.isWellFormed() && text.length >= min && text.length <= max, {
    error: ({ input }) => `has ${String(input).length} characters, takes ${min} to ${max}`,
  });

/** https://discord.com/developers/docs/resources/webhook#execute-webhook, and …/message#embed-object-embed-limits */
const DISCORD = z.strictObject({
  content: textOf(1, 2_000),
  allowed_mentions: z.strictObject({ parse: z.array(z.never()) }),
  embeds: z.tuple([z.strictObject({
    color: z.int().min(0).max(0xffffff),
    fields: z.array(z.strictObject({ name: textOf(1, 256), value: textOf(1, 1_024), inline: z.boolean() }))
      .max(25),
    footer: z.strictObject({ text: textOf(1, 2_048) }),
  })]),
});

const discordTexts = ({ content, embeds: [{ fields }] }: z.infer<typeof DISCORD>) =>
  [content, ...fields.flatMap(({ name, value }) => [name, value])].map(discordText);

/** Undoes the escapes; throws where markup is left. https://support.discord.com/hc/articles/210298617 */
function discordText(text: string): string {
  assert.doesNotMatch(text.replace(/\\[^0-9A-Za-z\s]/gu, ""), /[\\*_~`|<>#[\]()]/, "markup of Discord");
  return text.replace(/\\([^0-9A-Za-z\s])/gu, "$1");
}

/** https://learn.microsoft.com/microsoftteams/limits-specifications-teams; https://adaptivecards.io/explorer/TextRun.html */
const TEAMS = z.strictObject({
  type: z.literal("message"),
  attachments: z.tuple([z.strictObject({
    contentType: z.literal("application/vnd.microsoft.card.adaptive"),
    contentUrl: z.null(),
    content: z.strictObject({
      $schema: z.literal("http://adaptivecards.io/schemas/adaptive-card.json"),
      type: z.literal("AdaptiveCard"),
      version: z.enum(["1.0", "1.1", "1.2", "1.3", "1.4", "1.5"]),
      msteams: z.strictObject({ width: z.literal("Full") }),
      body: z.array(z.strictObject({
        // Not a TextBlock or a FactSet, which are parsed as Markdown.
        type: z.literal("RichTextBlock"),
        inlines: z.array(z.strictObject({
          type: z.literal("TextRun"),
          text: textOf(1, 28_000),
          weight: z.enum(["Default", "Lighter", "Bolder"]).optional(),
          color: z.enum(["Accent", "Warning", "Attention", "Good"]).optional(),
          isSubtle: z.boolean().optional(),
        })).min(1),
      })).min(1),
    }),
  })]),
});

/** https://developer.pagerduty.com/docs/events-api-v2/overview and …/trigger-events */
const PAGERDUTY = z.strictObject({
  routing_key: z.string().length(32),
  event_action: z.enum(["trigger", "acknowledge", "resolve"]),
  dedup_key: textOf(1, 255),
  client: z.string().optional(),
  payload: z.strictObject({
    summary: textOf(1, 1_024),
    source: textOf(1, 10_000),
    severity: z.enum(["critical", "error", "warning", "info"]),
    timestamp: z.iso.datetime(),
    class: z.string(),
    custom_details: z.record(z.string(), z.string()),
  }).optional(),
}).refine(({ event_action, payload }) => event_action !== "trigger" || payload, "a trigger has a payload");

/** https://core.telegram.org/bots/api#sendmessage and …#html-style */
const TELEGRAM = z.strictObject({
  chat_id: z.string().regex(/^(-?\d+|@\w+)$/),
  message_thread_id: z.int().optional(),
  text: z.string().refine((text) => text.isWellFormed()),
  parse_mode: z.literal("HTML"),
  link_preview_options: z.strictObject({ is_disabled: z.literal(true) }),
  disable_notification: z.boolean(),
});

/** Parses the HTML of Telegram: the tags of this channel, balanced, and four entities; throws "can't parse entities". */
function telegramText(html: string): string {
  const open: string[] = [];
  const text = html.replace(/<(\/?)([^>]*)>|&([^;&]*);?|[<>]/g, (found, end, tag, entity) => {
    if (entity !== undefined) {
      const character = ({ lt: "<", gt: ">", amp: "&", quot: '"' } as Record<string, string>)[entity];
      assert.ok(character && found.endsWith(";"), `can't parse entities: ${found}`);
      return character;
    }
    assert.ok(["b", "i", "code"].includes(tag), `can't parse entities: unsupported ${found}`);
    if (end) assert.equal(open.pop(), tag, "can't parse entities: a tag that doesn't match");
    else open.push(tag);
    return "";
  });
  assert.deepEqual(open, [], "can't parse entities: a tag is open");
  return text;
}

/** https://docs.ntfy.sh/publish/#publish-as-json and …/publish/#limitations */
const NTFY = z.strictObject({
  topic: z.string().regex(/^[-_A-Za-z0-9]{1,64}$/),
  title: textOf(1, 256),
  message: z.string().refine((text) => bytesOf(text) <= 4_096, "a message of more than 4,096 bytes"),
  priority: z.int().min(1).max(5),
  tags: z.array(z.string().regex(/^\w+$/)).max(10),
  click: z.url().optional(),
});

/** https://github.com/caronc/apprise-api#api-details */
const APPRISE = z.strictObject({
  urls: z.string().regex(/^\w+:\/\//).optional(),
  tag: z.string().optional(),
  type: z.enum(["info", "success", "warning", "failure"]),
  format: z.enum(["text", "markdown", "html"]),
  title: z.string(),
  body: z.string().min(1),
});

/** The services by the kind of their channel. */
export const SERVICES: Readonly<Record<string, Service>> = {
  discord: service({ status: 200, body: "{}" }, ({ path }, body) => {
    if (!/^\/api\/webhooks\/\d+\/[^?]+\?(.*&)?wait=true/.test(path)) {
      return { status: 404, body: '{"message": "Unknown Webhook", "code": 10015}' };
    }
    const { embeds } = DISCORD.parse(body); // of at most 10
    const length = embeds.reduce(
      (sum, { fields, footer }) =>
        sum + footer.text.length +
        fields.reduce((all, { name, value }) => all + name.length + value.length, 0),
      0,
    );
    assert.ok(length <= 6_000, `the embeds have ${length} characters`);
    discordTexts(body);
  }, discordTexts),
  teams: service(
    { status: 202 },
    ({ body: text }, body) => {
      TEAMS.parse(body);
      if (bytesOf(text) > 28 * 1_024) return { status: 413, body: "RequestEntityTooLarge" };
    },
    ({ attachments: [{ content }] }: z.infer<typeof TEAMS>) =>
      content.body.flatMap(({ inlines }) => inlines.map(({ text }) => text)),
  ),
  pagerduty: service(
    { status: 202, body: '{"status": "success"}' },
    ({ path, body: text }, body) => {
      if (path !== "/v2/enqueue") return { status: 404 };
      if (bytesOf(text) > 512 * 1_024) return { status: 413 };
      PAGERDUTY.parse(body);
    },
    ({ payload }) => [payload.summary, ...Object.values<string>(payload.custom_details)],
  ),
  telegram: service({ status: 200, body: '{"ok": true}' }, ({ path }, body) => {
    if (!/^\/bot\d+:[\w-]{30,}\/sendMessage$/.test(path)) return { status: 401, body: '{"ok": false}' };
    const length = telegramText(TELEGRAM.parse(body).text).length;
    assert.ok(length >= 1 && length <= 4_096, `message is too long: ${length}`);
  }, ({ text }) => [telegramText(text)]),
  ntfy: service({ status: 200, body: "{}" }, ({ path, headers }, body) => {
    if (path !== "/") return { status: 404 };
    if (headers.authorization !== "Bearer tk_t0kensecret") return { status: 401 };
    NTFY.parse(body);
  }, ({ title, message }) => [title, message]),
  apprise: service({ status: 200 }, ({ path }, body) => {
    const { urls } = APPRISE.parse(body);
    assert.ok(urls === undefined ? /^\/notify\/[\w-]{1,128}$/.test(path) : path === "/notify", path);
  }, ({ title, body }) => [title, body]),
};
