import type { Core } from "../../src/service/mod.ts";
import assert from "node:assert/strict";
import { setImmediate, setTimeout } from "node:timers/promises";
import { createAlertEvaluator, createDispatcher, type RuleInCode } from "../../src/alerts/mod.ts";
import { tables } from "../../src/store/mod.ts";
import type { RecordingChannel } from "./recording_channel.ts";
import { openTestPurser, type TestOptions, type TestPurser } from "./test_purser.ts";

/** Fires for every run: a demo run costs more than that. */
export const RULE: RuleInCode = {
  name: "Every run",
  threshold_type: "per_run_usd",
  threshold_usd: 0.000_000_001,
  severity: "warning",
  cooldown_seconds: 0,
  repeat: "once_per_window",
};

/** A Purser in memory whose alerts go to these channels, and to the log. */
export function openWithChannels(
  channels: RecordingChannel[],
  { rules = [RULE], ...options }: TestOptions & { rules?: RuleInCode[] } = {},
): Promise<TestPurser> {
  const dispatcher = createDispatcher(channels);
  return openTestPurser({ alerts: createAlertEvaluator({ rules, dispatcher }), ...options });
}

const TIMEOUT_MS = 30_000;

/**
 * Waits until a condition holds: no clock of a test advances. It is asked for turn by turn of the event loop, but where the
 * answer takes time, for half of the time at the most: the rest is for what is waited for.
 */
export async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  const deadline = performance.now() + TIMEOUT_MS;
  for (let now = performance.now(); now < deadline; now = performance.now()) {
    if (await condition()) return;
    const askedMs = performance.now() - now;
    await (askedMs < 1 ? setImmediate() : setTimeout(askedMs));
  }
  assert.fail("the condition did not become true");
}

/** The rows of the outbox for one channel, oldest first. */
export async function outbox({ core }: TestPurser, channel: string) {
  const rows = await core.query.select().from(tables.deliveries).orderBy(tables.deliveries.deliveryId);
  return rows.filter((row) => row.channel === channel);
}

/** The state of the first delivery of a channel. */
export const statusOf = async (purser: TestPurser, channel: string) =>
  (await outbox(purser, channel))[0]?.status;

/** The lines of the log channel. */
export const logLines = ({ logs }: TestPurser) => logs.filter(({ fields }) => fields.channel === "log");

/** Puts a row into the outbox, as if another process had left it there. */
export async function leaveDelivery(
  core: Pick<Core, "store" | "query" | "clock">,
  id: string,
  row: Record<string, string | number>,
): Promise<void> {
  const now = core.clock.now();
  const full: Record<string, string | number> = {
    delivery_id: `dlv_${id}`,
    subject_id: `alert_${id}`,
    channel: "ops",
    kind: "custom",
    due_at: now,
    created_at: now,
    ...row,
  };
  const names = Object.keys(full);
  await core.store.write([{
    sql: `INSERT INTO deliveries (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`,
    args: Object.values(full),
  }]);
}
