import { SEVERITIES } from "../../../contract/values.ts";
import assert from "node:assert/strict";
import { registerTest } from "./_test_runner.ts";
import { AWKWARD_TEXTS, MANY_FACTS, withText } from "./_notifications.ts";
import { type Receiver, startHttpReceiver } from "./_receiver.ts";
import { addressOf, openBench, type Subject } from "./_test_bench.ts";
import type { Notification } from "../notification.ts";

/** Any text is delivered, as much of it as the channel accepts; none makes the delivery fail. */
export function testTexts(subject: Subject): void {
  const { kind } = subject;

  async function assertDelivered(...notifications: Notification[]): Promise<void> {
    await using server = await startServer(subject);
    await using bench = openBench(subject, { address: addressOf(server?.port ?? 1) });
    for (const notification of notifications) {
      assert.deepEqual(await bench.attempt({ notification }), { ok: true });
    }
    if (!server) return;
    assert.equal(server.connections, notifications.length, "one connection for each attempt");
    for (const { body } of server.requests ?? []) {
      assert.ok(JSON.stringify(JSON.parse(body)).isWellFormed(), "JSON that every reader takes");
      assert.ok(!/\\ud[89a-f]/i.test(body), "no half of a surrogate pair");
    }
  }

  registerTest(`${kind}: every severity and type is delivered, and tests are`, () =>
    assertDelivered(
      ...SEVERITIES.map((severity) => ({ ...withText("text"), severity })),
      { ...withText("text"), type: "anomaly.detected" },
      { ...withText("text"), type: "channel.test", isTest: true, data: {}, facts: [] },
    ));

  for (const [name, text] of Object.entries(AWKWARD_TEXTS)) {
    registerTest(`${kind}: ${name} in every field is delivered`, () => assertDelivered(withText(text)));
  }

  registerTest(`${kind}: a thousand facts are delivered`, () => assertDelivered(MANY_FACTS));
}

async function startServer(
  subject: Subject,
): Promise<Receiver & { requests?: { body: string }[] } | undefined> {
  if (subject.reaches === "nothing") return undefined;
  if (subject.reaches === "http") {
    return await startHttpReceiver(subject.receive ?? (() => ({ status: 200, body: "ok" })));
  }
  assert.ok(subject.startServer, "a channel with a protocol of its own brings a server that speaks it");
  return await subject.startServer();
}
