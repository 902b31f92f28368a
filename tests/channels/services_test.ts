import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { builtInChannels } from "../../plugins/mod.ts";
import type { ChannelModule } from "../../src/delivery/channels/mod.ts";
import {
  AWKWARD_TEXTS,
  MANY_FACTS,
  NOTIFICATION,
  withText,
} from "../../src/delivery/channels/testing/_notifications.ts";
import { openPlugin } from "../../src/delivery/channels/testing/_open_plugin.ts";
import type { ConformanceOptions } from "../../src/delivery/channels/testing/conformance.ts";
import { anyCharacter } from "../harness/any_character.ts";
import { SERVICES } from "./services.ts";

/** Names of a model or an agent that try to become markup, a mention or a link. */
const MALICIOUS = [
  "@everyone",
  "<b>bold</b>",
  "[x](https://evil.example)",
  "`code` ```block```",
  "**bold** __u__ ~~s~~ ||spoiler||",
  "<at>Anna</at> <@123> <#1> <:x:1>",
  "> quote # heading",
  "\\*not escaped\\*",
  "&lt;b&gt; &amp; &",
];

const nasty = fc.array(
  fc.oneof(
    fc.string({ unit: anyCharacter }),
    fc.constantFrom(...MALICIOUS, "🔥", "\r\n", "x".repeat(3_000), "\uD83D", '"'),
  ),
  { maxLength: 30 },
).map((parts) => parts.join(""));

for (const [kind, { receive, shownTexts }] of Object.entries(SERVICES)) {
  const { conformance } = await import(`../../plugins/${kind}/conformance.ts`) as {
    conformance: ConformanceOptions;
  };
  const settings = conformance.settings({ url: "http://receiver", host: "receiver", port: 80, isTls: false });
  const plugin: ChannelModule = (await builtInChannels[kind]!()).default;
  const open = await openPlugin(plugin, { settings });

  /** Sends, and returns the body that the service accepts. */
  const accepted = async (notification: typeof NOTIFICATION): Promise<string> => {
    await open.channel.send(notification, open.delivery);
    const { url, body, headers = {} } = open.posts.at(-1)!;
    const { pathname, search } = new URL(url);
    const answer = receive({ method: "POST", path: pathname + search, headers: { ...headers }, body });
    assert.ok(answer.status < 300, `${answer.status} ${answer.body}`);
    return body;
  };

  /** Returns what people read; the zero-width space that breaks mentions is left out. */
  const shown = async (notification: typeof NOTIFICATION) =>
    shownTexts(await accepted(notification)).join("\n").replaceAll("\u200B", "");

  Deno.test(`${kind}: the severity, the title and each fact are shown`, async () => {
    const text = await shown(NOTIFICATION);
    const wanted = ["Daily spend of researcher reached $10.25 (threshold $10)", "researcher", "Daily limit"];
    for (const part of wanted) assert.ok(text.includes(part), `${part} in ${text}`);
  });

  Deno.test(`${kind}: a name that tries to be markup is shown as it is`, async () => {
    for (const name of MALICIOUS) {
      const text = await shown({ ...NOTIFICATION, title: name, facts: [{ label: "Model", value: name }] });
      assert.equal(text.split(name).length - 1, 2, `${name} in ${text}`);
    }
  });

  Deno.test(`${kind}: no text and no number of facts is beyond what the service takes`, async () => {
    for (
      const text of [
        ...Object.values(AWKWARD_TEXTS),
        ...'"&<_@\\€'.split("").map((char) => char.repeat(5_000)),
      ]
    ) {
      const facts = Array.from({ length: 300 }, () => ({ label: text, value: text }));
      await accepted({ ...withText(text), facts });
    }
    await accepted(MANY_FACTS);
    const fact = fc.record({ label: nasty, value: nasty });
    await fc.assert(
      fc.asyncProperty(nasty, nasty, fc.array(fact, { maxLength: 40 }), async (title, environment, facts) => {
        await accepted({ ...NOTIFICATION, title, environment, facts });
      }),
      { numRuns: 60 },
    );
  });

  Deno.test(`${kind}: the service refuses a body without a field of its documents, and one that is too long`, async () => {
    const body = JSON.parse(await accepted(NOTIFICATION));
    const { pathname, search } = new URL(open.posts.at(-1)!.url);
    const status = (changed: unknown) =>
      receive({
        method: "POST",
        path: pathname + search,
        headers: { ...open.posts.at(-1)!.headers },
        body: JSON.stringify(changed),
      }).status;
    assert.ok(status(body) < 300);
    const keys = Object.keys(body);
    assert.ok(keys.some((key) => status({ ...body, [key]: undefined }) >= 400));
    assert.ok(keys.some((key) => status({ ...body, [key]: "x".repeat(600_000) }) >= 400));
  });
}

const sendTo = async (
  kind: string,
  answer: { status: number; body: string; headers?: Record<string, string> },
) => {
  const { conformance } = await import(`../../plugins/${kind}/conformance.ts`) as {
    conformance: ConformanceOptions;
  };
  const settings = conformance.settings({ url: "http://receiver", host: "receiver", port: 80, isTls: false });
  const { channel, delivery } = await openPlugin((await builtInChannels[kind]!()).default, {
    settings,
    answer: { headers: {}, ...answer },
  });
  return await channel.send(NOTIFICATION, delivery);
};

Deno.test("discord: the delay of a rate limit is read in fractions of seconds; its header comes first", async () => {
  const body = '{"message": "You are being rate limited.", "retry_after": 64.571, "global": false}';
  const limited = await sendTo("discord", { status: 429, body });
  assert.deepEqual(limited, { ok: false, retry: true, reason: `HTTP 429: ${body}`, retryAfterMs: 64_571 });
  const both = await sendTo("discord", { status: 429, body, headers: { "retry-after": "65" } });
  assert.equal("retryAfterMs" in both && both.retryAfterMs, 65_000);
});

Deno.test("telegram: the delay of flood control is read from its parameters; a chat that is gone is permanent", async () => {
  const limited = await sendTo("telegram", {
    status: 429,
    body: '{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":35}}',
  });
  assert.equal("retryAfterMs" in limited && limited.retryAfterMs, 35_000);
  const gone = await sendTo("telegram", {
    status: 400,
    body: '{"ok":false,"error_code":400,"description":"Bad Request: chat not found"}',
  });
  assert.equal(!gone.ok && gone.retry, false);
});

Deno.test("apprise: without a configuration nothing was sent; a part of the services is tried again", async () => {
  const nothing = await sendTo("apprise", { status: 204, body: "" });
  assert.ok(!nothing.ok && !nothing.retry && /no configuration/.test(nothing.reason));
  const part = await sendTo("apprise", { status: 424, body: "" });
  assert.ok(!part.ok && part.retry);
});

Deno.test("apprise: the services of its settings are in a request without a key", async () => {
  const { channel, posts, delivery } = await openPlugin((await builtInChannels.apprise!()).default, {
    settings: { url: "http://receiver/", urls: ["discord://id/token", "mailto://a:b@example.com"] },
  });
  await channel.send(NOTIFICATION, delivery);
  assert.equal(posts[0]!.url, "http://receiver/notify");
  assert.equal(JSON.parse(posts[0]!.body).urls, "discord://id/token,mailto://a:b@example.com");
});
