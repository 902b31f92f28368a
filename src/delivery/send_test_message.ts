import type { TestResult } from "../contract/channels.ts";
import type { Delivery, Notification, SendResult } from "./channels/mod.ts";
import { toIso } from "../kernel/clock.ts";
import { PurserError } from "../kernel/errors.ts";
import { type Telemetry, traceDelivery } from "../telemetry/mod.ts";
import type { DeliveryContext } from "./context.ts";

/** A channel as a test needs it: an attempt is bounded by the channel's own timeout, and never throws. */
export interface TestableChannel {
  name: string;
  kind: string;
  timeoutMs: number;
  attempt(notification: Notification, delivery: Delivery): Promise<SendResult>;
}

/** What a test needs of its process. */
export interface TestContext extends Pick<DeliveryContext, "clock" | "ids"> {
  telemetry: Telemetry;
  environment: string;
  channels: { list: readonly TestableChannel[] };
  /** Aborts attempts when the process ends. */
  stopping: AbortSignal;
}

/** Sends a notification that tells of nothing to one channel, once. Throws `not_found`. */
export async function testChannel(ctx: TestContext, name: string): Promise<TestResult> {
  const channel = ctx.channels.list.find((each) => each.name === name);
  if (!channel) throw new PurserError("not_found", `Cannot find channel ${name}`);
  const id = ctx.ids.next("dlv");
  const { environment } = ctx;
  const notification: Notification = {
    id,
    type: "channel.test",
    isTest: true,
    severity: "info",
    title: `Test of channel ${name}: nothing has happened`,
    facts: [
      { label: "Test", value: "somebody checks that this channel works" },
      { label: "Channel", value: name },
      { label: "Environment", value: environment },
    ],
    at: toIso(ctx.clock.now()),
    environment,
    data: { delivery_id: id, channel: name, kind: channel.kind, test: true, environment },
  };
  return await attemptTest(ctx, { channel, notification, deliveryId: id });
}

/** Makes the only attempt of a test, and measures it. */
export async function attemptTest(
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
