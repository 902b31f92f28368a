import assert from "node:assert/strict";
import { builtInChannels } from "../../plugins/mod.ts";
import { createChannels, type Notification, type SendResult } from "../../src/delivery/channels/mod.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { silentLog } from "../../src/kernel/log.ts";
import { type MailServer, skipMailServer, startMailServer } from "../harness/mail_server.ts";

const CA = new URL("../fixtures/tls/ca.pem", import.meta.url).pathname;

const NOTIFICATION: Notification = {
  id: "alert_0001",
  type: "alert.triggered",
  isTest: false,
  severity: "critical",
  title: "Daily spend of researcher reached €10.25 🔥\r\nBcc: mallory@example.com",
  facts: [
    { label: "Agent", value: "researcher" },
    { label: "Rule", value: "one\r\n.\r\nMAIL FROM:<mallory@example.com>\r\nRCPT TO:<mallory@example.com>" },
    { label: "Note", value: "עלות ".repeat(300) },
  ],
  at: "2026-11-21T09:30:00.000Z",
  environment: "production",
  data: {},
};

/** One attempt through a channel of its own. */
async function mail(server: MailServer, settings: Record<string, unknown>): Promise<SendResult> {
  const channels = createChannels({
    channels: [{
      kind: "smtp",
      name: "mail",
      minSeverity: "info",
      timeoutMs: 20_000,
      settings: {
        host: "localhost",
        port: server.port,
        username: server.username,
        password: server.password,
        to_addrs: ["ops@example.com", "boss@example.com"],
        ca: { file: CA },
        ...settings,
      },
    }],
    plugins: builtInChannels,
    allowPrivateNetworks: ["127.0.0.0/8", "::1/128"],
    log: silentLog,
    clock: systemClock,
    lookup: () => Promise.resolve(["127.0.0.1"]),
  });
  const delivery = { signal: new AbortController().signal, deliveryId: "dlv_0001", attempt: 1 };
  const result = await channels.get("mail")!.attempt(NOTIFICATION, delivery);
  await channels.close();
  assert.ok(!JSON.stringify(result).includes(server.password));
  return result;
}

Deno.test({
  name:
    "smtp: a real server accepts mail over STARTTLS with authentication, and delivers it to each recipient",
  ignore: skipMailServer,
  async fn() {
    await using server = await startMailServer();

    const wrongPassword = await mail(server, { password: "not-the-password" });
    assert.ok(!wrongPassword.ok && !wrongPassword.retry);
    assert.match(wrongPassword.reason, /^SMTP 535 .*authentication failed/);

    const unknownAuthority = await mail(server, { ca: undefined });
    assert.ok(!unknownAuthority.ok && unknownAuthority.retry);
    assert.match(unknownAuthority.reason, /TLS failed: .*certificate/);

    const otherName = await mail(server, { host: "other.test" });
    assert.ok(!otherName.ok && otherName.retry);
    assert.match(otherName.reason, /TLS failed: .*certificate/);

    const plaintext = await mail(server, { tls: "none" });
    assert.ok(!plaintext.ok && !plaintext.retry);
    assert.match(plaintext.reason, /^SMTP 530 .*STARTTLS/);

    const stranger = await mail(server, {
      to_addrs: "ops@elsewhere.example",
      username: undefined,
      password: undefined,
      from_addr: "a@example.com",
    });
    assert.ok(!stranger.ok && !stranger.retry, "no relay without authentication");

    for (const [host, to_addrs] of [["mail.test", "ops@example.com"], ["127.0.0.1", "boss@example.com"]]) {
      assert.deepEqual(await mail(server, { host, to_addrs }), { ok: true });
    }
    assert.deepEqual((await server.readMails(2)).map(({ to }) => to), [
      "boss@example.com",
      "ops@example.com",
    ]);

    assert.deepEqual(await mail(server, {}), { ok: true });
    const mails = (await server.readMails(4)).filter(({ raw }) => /^To: ops@example\.com, /m.test(raw));
    assert.deepEqual(
      mails.map(({ to }) => to),
      ["boss@example.com", "ops@example.com"],
      "and to no other recipient",
    );
    for (const { raw } of mails) {
      const [head = "", ...rest] = raw.split("\n\n");
      const headers = head.replace(/\n[ \t]+/g, " ");
      assert.match(
        headers,
        /^Received: .* by mail\.test \(Postfix\) with ESMTPSA/m,
        "TLS and authentication",
      );
      assert.match(headers, /^From: Purser <purser@example\.com>$/m);
      assert.match(headers, /^To: ops@example\.com, boss@example\.com$/m);
      assert.match(headers, /^Message-ID: <dlv_0001@example\.com>$/m);
      assert.match(headers, /^Auto-Submitted: auto-generated$/m);
      assert.match(headers, /^Content-Type: text\/plain; charset=utf-8$/m);
      assert.doesNotMatch(headers, /^Bcc:/m);
      assert.equal(
        decodeWords(/^Subject: (.*)$/m.exec(headers)![1]!),
        "Critical: Daily spend of researcher reached €10.25 🔥 Bcc: mallory@example.com",
      );
      const body = decodeBody(headers, rest.join("\n\n"));
      assert.match(
        body,
        /^Daily spend of researcher reached €10\.25 🔥 Bcc: mallory@example\.com\n\nAgent: researcher\n/,
      );
      assert.match(body, /\nRule: one \. MAIL FROM:<mallory@example\.com> RCPT TO:<mallory@example\.com>\n/);
      assert.match(body, /\nNote: (?:עלות ?){300}\nSeverity: critical\nEnvironment: production\n/);
    }
  },
});

/** RFC 2047, as far as nodemailer writes it. */
function decodeWords(text: string): string {
  const joined = text.replace(/\?=\s+=\?/g, "?==?");
  const bytes: number[] = [];
  for (const [, encoding, word, plain] of joined.matchAll(/=\?UTF-8\?([QB])\?(.*?)\?=|([^])/gi)) {
    if (plain !== undefined) bytes.push(...new TextEncoder().encode(plain));
    else if (encoding!.toUpperCase() === "B") bytes.push(...Uint8Array.fromBase64(word!));
    else bytes.push(...fromQuotedPrintable(word!.replaceAll("_", " ")));
  }
  return new TextDecoder().decode(new Uint8Array(bytes));
}

function decodeBody(headers: string, body: string): string {
  const encoding = /^Content-Transfer-Encoding: (.*)$/m.exec(headers)?.[1];
  const bytes = encoding === "base64"
    ? Uint8Array.fromBase64(body)
    : new Uint8Array(fromQuotedPrintable(body.replace(/=\n/g, "")));
  return new TextDecoder().decode(bytes).replaceAll("\r\n", "\n");
}

function fromQuotedPrintable(text: string): number[] {
  return [...text.matchAll(/=([0-9A-F]{2})|([^])/g)].map(([, hex, plain]) =>
    hex === undefined ? plain!.charCodeAt(0) : parseInt(hex, 16)
  );
}
