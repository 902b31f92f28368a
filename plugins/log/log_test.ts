import assert from "node:assert/strict";
import { NOTIFICATION, withText } from "../../src/delivery/channels/testing/_notifications.ts";
import { openPlugin } from "../../src/delivery/channels/testing/_open_plugin.ts";
import log from "./mod.ts";

Deno.test("log: a notification is one line at warning level, with its data as fields", async () => {
  const { channel, lines, delivery } = await openPlugin(log, { settings: {} });
  assert.deepEqual(await channel.send(NOTIFICATION, delivery), { ok: true });
  assert.deepEqual(lines, [{
    level: "warn",
    message: "Daily spend of researcher reached $10.25 (threshold $10)",
    fields: {
      id: "alert_0001",
      type: "alert.triggered",
      severity: "critical",
      test: false,
      environment: "production",
      happened_at: "2026-11-21T09:30:00.000Z",
      data: { alert_id: "alert_0001", rule_name: "Daily limit", value_usd: 10.25, test: false },
      delivery_id: "dlv_0001",
      attempt: 1,
    },
  }]);
});

Deno.test("log: a notification of severity info is at warning level, too", async () => {
  const { channel, lines, delivery } = await openPlugin(log, { settings: {} });
  await channel.send({ ...NOTIFICATION, severity: "info", isTest: true }, delivery);
  assert.deepEqual(lines.map(({ level }) => level), ["warn"]);
});

Deno.test("log: long texts are cut in every field", async () => {
  const { channel, lines, delivery } = await openPlugin(log, { settings: {} });
  await channel.send(withText("🔥".repeat(500_000)), delivery);
  assert.ok(JSON.stringify(lines).length < 10_000);
});
