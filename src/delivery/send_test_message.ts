import type { Severity } from "../contract/values.ts";
import type { TestResult } from "../contract/channels.ts";
import type { Delivery, Notification, SendResult } from "./channels/notification.ts";
import { toIso } from "../kernel/clock.ts";
import { PurserError } from "../kernel/errors.ts";
import { leaseNow, leaseTime, type Statement } from "../store/mod.ts";
import { type Telemetry, traceDelivery } from "../telemetry/mod.ts";
import { testHolder } from "./claim_delivery.ts";
import type { DeliveryContext } from "./context.ts";
import { deliveryIdSql } from "./outbox.ts";

/** The properties of a channel that a request sends through: an attempt is bounded by its timeout, and never rejects. */
export interface TestableChannel {
  name: string;
  kind: string;
  /** The lowest severity that it is sent. */
  minSeverity: Severity;
  timeoutMs: number;
  attempt(notification: Notification, delivery: Delivery): Promise<SendResult>;
}

/** The context of a test. */
export interface TestContext extends Pick<DeliveryContext, "clock" | "ids"> {
  telemetry: Telemetry;
  environment: string;
  channels: { list: readonly TestableChannel[] };
  /** Aborts attempts when the process ends. */
  stopping: AbortSignal;
}

/** Sends a notification through one channel, once, without the outbox. Throws `not_found`. */
export async function sendOnce(
  ctx: TestContext,
  name: string,
  notify: (id: string, channel: TestableChannel) => Notification | Promise<Notification>,
): Promise<TestResult> {
  const channel = ctx.channels.list.find((each) => each.name === name);
  if (!channel) throw new PurserError("not_found", `Cannot find channel ${name}`);
  const id = ctx.ids.next("dlv"); // it has no subject
  return await attemptTest(ctx, { channel, notification: await notify(id, channel), deliveryId: id });
}

/** Sends a test notification through one channel, once, without the outbox. Throws `not_found`. */
export async function testChannel(ctx: TestContext, name: string): Promise<TestResult> {
  const { environment } = ctx;
  return await sendOnce(ctx, name, (id, { kind }) => ({
    id,
    type: "channel.test",
    isTest: true,
    severity: "info",
    title: `Test of channel ${name}: nothing has happened`,
    facts: [
      { label: "Test", value: "this checks that the channel works" },
      { label: "Channel", value: name },
      { label: "Environment", value: environment },
    ],
    at: toIso(ctx.clock.now()),
    environment,
    data: { delivery_id: id, channel: name, kind, test: true, environment },
  }));
}

/** The time by which the lease of a test exceeds its slowest channel's timeout, to keep dispatchers off. */
const LEASE_MARGIN_MS = 60_000;

// The attempt counts from the insert on.
const INSERT =
  `INSERT INTO deliveries (delivery_id, subject_id, channel, kind, attempts, due_at, created_at, lease_until, leased_by)
SELECT ${
    deliveryIdSql(
      "?1",
      "instr(?1, '_') + 1",
      "CAST(j.key AS BIGINT) + (SELECT count(*) FROM deliveries WHERE subject_id = ?1)",
    )
  }, ?1, j.value ->> 0, j.value ->> 1, 1, ?3, ?3, ?4 + ${leaseTime("?5")}, ?6
FROM json_each(?2) j`;

/** The newest deliveries of a subject: their ids are numbered. */
const READ = `SELECT channel, delivery_id FROM deliveries WHERE subject_id = ?1
ORDER BY length(delivery_id) DESC, delivery_id DESC LIMIT ?2`;

const SETTLE = `UPDATE deliveries
SET status = ?2, last_error = ?3, settled_at = ?4, lease_until = NULL, leased_by = NULL
WHERE delivery_id = ?1 AND leased_by = ?5`;

/**
 * Sends a notification through channels at once, whatever their lowest severity: one attempt each, kept in the outbox.
 * `record` is written in the commit that inserts the deliveries. The results are in the order of the channels.
 */
export async function sendToChannels(
  ctx: TestContext & Pick<DeliveryContext, "store" | "instanceId">,
  { notification, record, channels: list }: {
    notification: Notification;
    record: Statement;
    channels: readonly TestableChannel[];
  },
): Promise<TestResult[]> {
  const { store, clock } = ctx;
  const leaseMs = Math.max(0, ...list.map(({ timeoutMs }) => timeoutMs)) + LEASE_MARGIN_MS;
  const holder = testHolder(ctx);
  const channels = JSON.stringify(list.map(({ name, kind }) => [name, kind]));
  await store.instances.hold(ctx.instanceId);
  const written = await store.write([
    record,
    { sql: INSERT, args: [notification.id, channels, clock.now(), leaseMs, leaseNow(ctx), holder] },
    { sql: READ, args: [notification.id, list.length] },
  ]);
  const ids = new Map(written.at(-1)!.rows as [string, string][]);
  return await Promise.all(list.map(async (channel) => {
    const result = await attemptTest(ctx, { channel, notification, deliveryId: ids.get(channel.name)! });
    const { delivery_id, status, error } = result;
    await store.write([{ sql: SETTLE, args: [delivery_id, status, error, clock.now(), holder] }]);
    return result;
  }));
}

/** Makes the only attempt at a delivery, and measures its duration. */
async function attemptTest(
  { clock, stopping, telemetry }: Pick<TestContext, "clock" | "stopping" | "telemetry">,
  { channel, notification, deliveryId }: {
    channel: TestableChannel;
    notification: Notification;
    deliveryId: string;
  },
): Promise<TestResult> {
  const startedAt = clock.monotonic();
  const facts = { channel: channel.name, kind: channel.kind, deliveryId, attempt: 1, isInRequest: true };
  const result = await traceDelivery(
    telemetry,
    facts,
    () => channel.attempt(notification, { signal: stopping, deliveryId, attempt: 1 }),
  );
  return {
    channel: channel.name,
    kind: channel.kind,
    delivery_id: deliveryId,
    status: result.ok ? "delivered" : "failed",
    error: result.ok ? null : result.reason,
    duration_ms: Math.round(clock.monotonic() - startedAt),
  };
}
