import assert from "node:assert/strict";
import { DAY_MS, HOUR_MS, systemClock } from "../src/kernel/clock.ts";
import { createIds } from "../src/kernel/ids.ts";
import { leaveDelivery, openWithChannels, outbox, statusOf, until } from "./harness/deliveries.ts";
import { recordingChannel } from "./harness/recording_channel.ts";
import { serverKindsInTime } from "./harness/database_servers.ts";
import type { TestPurser } from "./harness/test_purser.ts";

const WARNING = "Notifications were given up: no instance has had their channels for 7 days";

async function checkOf(purser: TestPurser, name: string) {
  const { body } = await purser.api("GET", "/doctor");
  return body.find((check: { name: string }) => check.name === name);
}

Deno.test("a delivery for a channel that no instance has is given up after seven days, and the doctor's check recovers later", async () => {
  await using purser = await openWithChannels([recordingChannel("ops")], { rules: [] });
  const now = purser.clock.now();
  await leaveDelivery(purser.core, "old", { channel: "gone", created_at: now, due_at: now });
  await leaveDelivery(purser.core, "tried", {
    ...{ channel: "gone", created_at: now, due_at: now, attempts: 3, attempted_at: now + DAY_MS },
  });
  purser.clock.advance(7 * DAY_MS - HOUR_MS);
  await until(async () => (await checkOf(purser, "waiting deliveries")).status === "warning");
  assert.equal(await statusOf(purser, "gone"), "pending");
  purser.clock.advance(HOUR_MS);
  await until(async () => (await outbox(purser, "gone")).some(({ status }) => status === "failed"));
  const [old, tried] = await outbox(purser, "gone");
  assert.deepEqual([old!.status, old!.lastError], [
    "failed",
    "no instance has had a channel of this name for 7 days",
  ]);
  assert.equal(old!.settledAt, purser.clock.now());
  assert.equal(tried!.status, "pending", "it was attempted a day later");
  assert.deepEqual(purser.logs.filter(({ message }) => message === WARNING).map(({ fields }) => fields), [{
    channels: ["gone (1)"],
  }]);
  purser.clock.advance(DAY_MS);
  await until(async () => (await outbox(purser, "gone")).every(({ status }) => status === "failed"));
  assert.deepEqual((await checkOf(purser, "waiting deliveries")).status, "ok");
  purser.clock.advance(8 * DAY_MS);
  assert.equal((await checkOf(purser, "failed deliveries")).status, "ok");
});

Deno.test("a delivery for an existing channel is sent at any age", async () => {
  const folder = await Deno.makeTempDir({ prefix: "purser-test-" });
  const config = { dbUrl: `${folder}/purser.db` };
  try {
    const first = await openWithChannels([], { config, rules: [] });
    const long = first.clock.now() - 100 * DAY_MS;
    await leaveDelivery(first.core, "1", { created_at: long, due_at: long });
    await first.core.close();
    const ops = recordingChannel("ops");
    await using second = await openWithChannels([ops], { config, rules: [] });
    await until(async () => await statusOf(second, "ops") !== "pending");
    assert.equal(second.logs.some(({ message }) => message === WARNING), false);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("an alert past the history is deleted with its last delivery, also when that is given up", async () => {
  await using purser = await openWithChannels([recordingChannel("ops")], { rules: [] });
  const { store } = purser.core;
  const now = purser.clock.now();
  const positions = Array.from({ length: 502 }, (_, index) => index + 1);
  await leaveDelivery(purser.core, "1", { channel: "gone", created_at: now, due_at: now });
  for (const position of positions) {
    await store.write([{
      sql:
        `INSERT INTO alerts (position, alert_id, rule_id, rule_name, threshold_type, threshold_nano_usd, severity,
        value_nano_usd, triggered_at, is_test, channels) VALUES (?, ?, 'r', 'r', 'per_day_usd', 1, 'info', 1, ?, 1, '[]')`,
      args: [position, `alert_${position}`, now],
    }]);
  }
  const count = async () => Number((await store.read({ sql: "SELECT count(*) FROM alerts" })).rows[0]![0]);
  assert.equal(await count(), 501, "one waits for its delivery");
  purser.clock.advance(7 * DAY_MS);
  await until(async () => await count() === 500);
});

for (const kind of serverKindsInTime) {
  Deno.test({
    name: `${kind.name}: instances with different channels do not give up each other's deliveries too early`,
    ignore: kind.ignore,
    async fn() {
      await using server = await kind.start(false);
      const { url, fetch } = await server.createDatabase();
      const options = () => ({ config: { dbUrl: url }, fetch, rules: [], ids: createIds(systemClock) });
      await using purser = await openWithChannels([], options());
      const now = Date.now();
      await leaveDelivery(purser.core, "young", { created_at: now - 6 * DAY_MS, due_at: now - 6 * DAY_MS });
      await leaveDelivery(purser.core, "old", { created_at: now - 8 * DAY_MS, due_at: now - 8 * DAY_MS });
      await leaveDelivery(purser.core, "held", {
        ...{
          created_at: now - 8 * DAY_MS,
          due_at: now - 8 * DAY_MS,
          lease_until: now + HOUR_MS,
          leased_by: "b",
        },
      });
      await using second = await openWithChannels([], options());
      second.clock.advance(1_000); // it has run long enough to check
      await until(async () => (await outbox(purser, "ops")).some(({ status }) => status === "failed"));
      assert.deepEqual(
        (await outbox(purser, "ops")).map(({ deliveryId, status }) => [deliveryId, status]),
        [["dlv_held", "pending"], ["dlv_old", "failed"], ["dlv_young", "pending"]],
      );
    },
  });
}
