import assert from "node:assert/strict";
import { createAlertEvaluator, createDispatcher } from "../src/alerts/mod.ts";
import { deliverDue } from "../src/delivery/mod.ts";
import { NOTIFICATION } from "../src/delivery/channels/testing/_notifications.ts";
import { fixedClock } from "../src/kernel/clock.ts";
import type { CoreOptions } from "../src/service/mod.ts";
import { openParts } from "../src/service/parts.ts";
import { createWork } from "../src/service/work.ts";
import { countingIds } from "../src/kernel/ids.ts";
import { leaveDelivery } from "./harness/deliveries.ts";
import { hang, passing, type RecordingChannel, recordingChannel } from "./harness/recording_channel.ts";

const DELIVERED = { ok: true } as const;
const BOUNDS = { timeoutMs: 10_000, attemptsPerChannel: 20 };

/** A core without a running dispatcher, and with deliveries left in its outbox. */
async function open(channels: RecordingChannel[], left: Record<string, string>) {
  const clock = fixedClock("2026-11-01T12:00:00.000Z");
  const options: CoreOptions = {
    clock,
    ids: countingIds(),
    alerts: createAlertEvaluator({ rules: [], dispatcher: createDispatcher(channels) }),
    config: {
      dbUrl: ":memory:",
      durability: "full",
      remoteTimeoutMs: 10_000,
      maxBodyBytes: 1_000,
      environment: "test",
    },
  };
  const parts = await openParts(options, () => {});
  const core = { ...parts, ...createWork(parts, options) };
  for (const [id, channel] of Object.entries(left)) await leaveDelivery(core, id, { channel });
  return {
    clock,
    ctx: {
      ...core,
      random: () => 0,
      readNotification: () => Promise.resolve(NOTIFICATION),
    },
    async statuses(): Promise<Record<string, string>> {
      const { rows } = await core.store.read({
        sql: "SELECT delivery_id, status FROM deliveries ORDER BY 1",
      });
      return Object.fromEntries(
        rows.map(([id, status]) => [String(id).slice("dlv_".length), String(status)]),
      );
    },
    async [Symbol.asyncDispose]() {
      await core.channels.close();
      await core.store.close();
    },
  };
}

Deno.test("deliverDue() sends the due deliveries of each channel, leaves the others, and ends", async () => {
  const [ops, mail] = [recordingChannel("ops", { answers: [passing, DELIVERED] }), recordingChannel("mail")];
  await using left = await open([ops, mail], { a: "ops", b: "ops", c: "mail", d: "gone" });
  await deliverDue(left.ctx, BOUNDS);
  assert.deepEqual(await left.statuses(), { a: "pending", b: "delivered", c: "delivered", d: "pending" });
  await deliverDue(left.ctx, BOUNDS);
  assert.equal(ops.sent.length, 2, "its second attempt is not due");
  left.clock.advance(6_000);
  await deliverDue(left.ctx, BOUNDS);
  assert.deepEqual((await left.statuses()).a, "delivered");
});

Deno.test("deliverDue() makes at most the given number of attempts in a channel", async () => {
  const ops = recordingChannel("ops");
  await using left = await open([ops], { a: "ops", b: "ops", c: "ops" });
  await deliverDue(left.ctx, { ...BOUNDS, attemptsPerChannel: 2 });
  assert.equal(ops.sent.length, 2);
  assert.deepEqual(await left.statuses(), { a: "delivered", b: "delivered", c: "pending" });
});

Deno.test("deliverDue() starts no attempt after its deadline, and aborts one that takes 3 s longer", async () => {
  const ops = recordingChannel("ops", { answers: [hang, DELIVERED] });
  await using left = await open([ops], { a: "ops", b: "ops" });
  const delivering = deliverDue(left.ctx, { ...BOUNDS, timeoutMs: 1_000 });
  while (ops.sent.length === 0) await new Promise((resolve) => setTimeout(resolve));
  left.clock.advance(1_000);
  await new Promise((resolve) => setTimeout(resolve));
  left.clock.advance(3_000);
  await delivering;
  assert.equal(ops.sent.length, 1);
  assert.deepEqual(await left.statuses(), { a: "pending", b: "pending" });
  // It had little time, so the next attempt is made at once.
  await deliverDue(left.ctx, BOUNDS);
  assert.deepEqual(await left.statuses(), { a: "delivered", b: "delivered" });
});

Deno.test("deliverDue() claims nothing for an unusable channel, and never rejects", async () => {
  const ops = recordingChannel("ops");
  await using left = await open([ops], { a: "ops" });
  const warned: string[] = [];
  const log = { ...left.ctx.log, warn: (message: string) => void warned.push(message) };
  const wrong = { ...left.ctx.channels.get("ops")!, check: () => Promise.resolve("it has no address") };
  await deliverDue({ ...left.ctx, log, channels: { ...left.ctx.channels, get: () => wrong } }, BOUNDS);
  assert.deepEqual([ops.sent.length, warned], [0, ["Notifications wait for a channel that can't send here"]]);
  const store = { ...left.ctx.store, read: () => Promise.reject(new Error("gone")) };
  await deliverDue({ ...left.ctx, log, store }, BOUNDS);
  assert.equal(warned.at(-1), "The outbox could not be read");
});
