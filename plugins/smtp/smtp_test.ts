import assert from "node:assert/strict";
import { NOTIFICATION } from "../../src/delivery/channels/testing/_notifications.ts";
import { openPlugin } from "../../src/delivery/channels/testing/_open_plugin.ts";
import type { SendResult } from "../../src/delivery/channels/mod.ts";
import { startReceiver } from "../../src/delivery/channels/testing/_receiver.ts";
import { type FakeServer, type Reply, startFakeServer } from "./_fake_server.ts";
import smtp, { createSettledRecipients, isHostName, isMailAddress } from "./mod.ts";

const PASSWORD = "p4sswordsecret";

/** Opens a channel to a fake server, without TLS. */
async function openMail(port: number, settings: Record<string, unknown> = {}) {
  return await openPlugin(smtp, {
    settings: {
      host: "127.0.0.1",
      port,
      username: "purser@example.com",
      password: PASSWORD,
      to_addrs: ["ops@example.com", "boss@example.com"],
      tls: "none",
      ...settings,
    },
  });
}

/** Makes one attempt with a server that replies by `reply`. */
async function attempt(reply: Reply, settings?: Record<string, unknown>): Promise<[SendResult, FakeServer]> {
  await using server = await startFakeServer(reply);
  const { channel, delivery } = await openMail(server.port, settings);
  const result = await channel.send(NOTIFICATION, delivery);
  await server.idle();
  return [result, server];
}

const when = (begin: string, said: string): Reply => (command) =>
  command.startsWith(begin) ? said : undefined;

Deno.test("smtp: a mail goes to all recipients in one plain-text message", async () => {
  const [result, { mails, commands }] = await attempt(() => undefined);
  assert.deepEqual(result, { ok: true });
  assert.equal(mails.length, 1);
  assert.deepEqual([mails[0]!.from, mails[0]!.to], ["purser@example.com", [
    "ops@example.com",
    "boss@example.com",
  ]]);
  assert.equal(
    mails[0]!.raw.replace(/\r\n/g, "\n"),
    `Auto-Submitted: auto-generated
Importance: high
From: Purser <purser@example.com>
To: ops@example.com, boss@example.com
Subject: Critical: Daily spend of researcher reached $10.25 (threshold $10)
Message-ID: <dlv_0001@example.com>
Date: Sat, 21 Nov 2026 09:30:00 +0000
Content-Transfer-Encoding: 7bit
MIME-Version: 1.0
Content-Type: text/plain; charset=utf-8

Daily spend of researcher reached $10.25 (threshold $10)

Agent: researcher
Rule: Daily limit
Severity: critical
Environment: production
At: 2026-11-21T09:30:00.000Z
Delivery: dlv_0001
`,
  );
  assert.ok(commands.some((command) => command.startsWith("AUTH PLAIN ")));
  assert.equal(commands.at(-1), "QUIT");
});

Deno.test("smtp: replies of 4xx are retryable, those of 5xx and refused sign-ins permanent, at every step", async () => {
  for (const step of ["CONNECT", "AUTH", "MAIL FROM", "RCPT TO", "DATA", "END"]) {
    const [later] = await attempt(when(step, "451 4.3.0 not now"));
    assert.ok(!later.ok && later.retry, `${step} 451`);
    assert.match(later.reason, /451 4\.3\.0 not now/);
    const [never] = await attempt(when(step, "554 5.7.1 not you"));
    assert.ok(!never.ok && !never.retry, `${step} 554`);
    assert.match(never.reason, /554 5\.7\.1 not you/);
  }
  const [refused] = await attempt(when("AUTH", "535 5.7.8 no"));
  assert.deepEqual(refused, { ok: false, retry: false, reason: "SMTP 535 5.7.8 no (AUTH)" });
});

Deno.test("smtp: a connection that the server closes early is retryable", async () => {
  for (const step of ["CONNECT", "EHLO", "MAIL FROM", "DATA", "END"]) {
    const [result] = await attempt(when(step, "421 4.3.2 going down"));
    assert.ok(!result.ok && result.retry, step);
  }
});

Deno.test("smtp: a permanently refused recipient is logged, and the others get the mail", async () => {
  await using server = await startFakeServer(when("RCPT TO:<ops@", "550 5.1.1 no such user"));
  const { channel, delivery, lines } = await openMail(server.port);
  assert.deepEqual(await channel.send(NOTIFICATION, delivery), { ok: true });
  assert.deepEqual(server.mails.map(({ to }) => to), [["boss@example.com"]]);
  assert.deepEqual(lines, [{
    level: "warn",
    message: "Cannot mail ops@example.com: SMTP 550 5.1.1 no such user (RCPT)",
    fields: { delivery_id: "dlv_0001" },
  }]);
});

Deno.test("smtp: a temporarily refused recipient is mailed by a later attempt, and no other twice", async () => {
  let isGreylisted = true;
  await using server = await startFakeServer((command) =>
    isGreylisted && command.startsWith("RCPT TO:<ops@") ? "450 4.2.0 greylisted" : undefined
  );
  const { channel, delivery } = await openMail(server.port);
  assert.deepEqual(await channel.send(NOTIFICATION, delivery), {
    ok: false,
    retry: true,
    reason: "ops@example.com: SMTP 450 4.2.0 greylisted (RCPT)",
  });
  isGreylisted = false;
  assert.deepEqual(await channel.send(NOTIFICATION, { ...delivery, attempt: 2 }), { ok: true });
  assert.deepEqual(server.mails.map(({ to }) => to), [["boss@example.com"], ["ops@example.com"]]);
  const ids = server.mails.map(({ raw }) => /^Message-ID: .*$/m.exec(raw)![0]);
  assert.equal(ids[0], ids[1]);
});

Deno.test("smtp: a password is not sent where the server offers no TLS, unless the config says none", async () => {
  const [result, { commands }] = await attempt(() => undefined, { tls: "starttls" });
  assert.ok(!result.ok && result.retry);
  assert.ok(!commands.some((command) => /AUTH|MAIL/.test(command)), "neither a password nor a mail");
});

Deno.test("smtp: without a password there is no sign-in", async () => {
  const settings = { username: undefined, password: undefined, from_addr: "alerts@example.com" };
  const [result, { commands, mails }] = await attempt(() => undefined, settings);
  assert.deepEqual(result, { ok: true });
  assert.equal(mails[0]!.from, "alerts@example.com");
  assert.ok(!commands.some((command) => command.startsWith("AUTH")));
});

Deno.test("smtp: a signal that aborts closes the connection", async () => {
  await using receiver = await startReceiver(async (connection, arrived) => {
    arrived();
    while (await connection.read() !== null);
  });
  const { channel, delivery } = await openMail(receiver.port);
  const stop = new AbortController();
  const [arrival, sending] = [
    receiver.arrival(),
    channel.send(NOTIFICATION, { ...delivery, signal: stop.signal }),
  ];
  await arrival;
  stop.abort();
  const result = await Promise.resolve(sending).catch((error) => ({ ok: false, retry: error.retry }));
  assert.equal((result as { retry: boolean }).retry, true);
  await receiver.idle();
});

Deno.test("isMailAddress() accepts one bare address only", () => {
  const good = [
    "a@b",
    "ops@example.com",
    "first.last+tag@mail.example.co.uk",
    "o'neil@example.com",
    "a@xn--bcher-kva.ch",
  ];
  assert.deepEqual(good.filter(isMailAddress), good);
  const bad = [
    ...[
      "",
      "a",
      "@b",
      "a@",
      "a@@b",
      "a b@c",
      "a@b c",
      "a@b,c@d",
      "<a@b>",
      "A <a@b>",
      `"a b"@c`,
      "a@[127.0.0.1]",
    ],
    ...[
      "a@b\r\nRCPT TO:<c@d>",
      "a@b\n",
      "a@b;c@d",
      "a(c)@b",
      ".a@b",
      "a.@b",
      "a..b@c",
      "a@-b",
      "a@b-",
      "a@b..c",
    ],
    ...["ä@b", "a@ä", "a\u0000@b", `${"a".repeat(65)}@b`, `a@${"b.".repeat(150)}c`, "a@b>", "a\\@b"],
  ];
  assert.deepEqual(bad.filter(isMailAddress), []);
});

Deno.test("isHostName() accepts names and addresses, but no ports or paths", () => {
  const good = ["localhost", "mail.example.com", "mail.example.com.", "127.0.0.1", "::1", "2001:db8::25"];
  assert.deepEqual(good.filter(isHostName), good);
  const bad = ["", "a b", "a:25", "a/b", "smtp://a", "-a", "a..b", "[::1]", "::g", "a\n", "user@a"];
  assert.deepEqual(bad.filter(isHostName), []);
});

Deno.test("createSettledRecipients() remembers a bounded number of deliveries", () => {
  const recipients = createSettledRecipients();
  for (let n = 0; n <= 1_000; n++) recipients.settle(`dlv_${n}`, ["a@b"], { isDone: false });
  assert.deepEqual(
    recipients.openRecipients("dlv_0", ["a@b", "c@d"]),
    ["a@b", "c@d"],
    "the oldest is forgotten",
  );
  assert.deepEqual(recipients.openRecipients("dlv_1000", ["a@b", "c@d"]), ["c@d"]);
  recipients.settle("dlv_1000", [], { isDone: true });
  assert.deepEqual(recipients.openRecipients("dlv_1000", ["a@b"]), ["a@b"]);
});
