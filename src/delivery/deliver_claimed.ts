import type { Channels, ConfiguredChannel, Notification, SendResult } from "./channels/mod.ts";
import { messageOf } from "../kernel/errors.ts";
import type { Log } from "../kernel/log.ts";
import { type Telemetry, traceDelivery } from "../telemetry/mod.ts";
import type { ClaimedDelivery, Settlement } from "./claim_delivery.ts";
import type { DeliveryContext } from "./context.ts";
import { decideRetry } from "./retry_policy.ts";

/** After the grace nothing is begun, but what is under way may still be taken: cut short, it might be sent twice. */
export const FINISH_MS = 3_000;

/** What delivering needs of the process it runs in. */
export interface DispatchContext extends DeliveryContext {
  channels: Channels;
  log: Log;
  telemetry: Telemetry;
  /** What a delivery tells; undefined when that is gone. */
  readNotification(subjectId: string): Promise<Notification | undefined>;
  /** From 0 up to 1; default `Math.random`. */
  random?: () => number;
}

/** Makes one attempt at a delivery that is held, and says what follows. `cut` ends the attempt early. */
export async function deliverClaimed(
  ctx: DispatchContext,
  channel: ConfiguredChannel,
  claimed: ClaimedDelivery,
  cut: AbortSignal,
): Promise<Settlement> {
  const { deliveryId, subjectId, holder, attempt } = claimed;
  const traced = { channel: channel.name, kind: channel.kind, deliveryId, subjectId, attempt };
  const result = await traceDelivery(ctx.telemetry, traced, () => send(ctx, channel, claimed, cut));
  if (result.ok) return { deliveryId, holder, status: "delivered" };
  const { reason: error } = result;
  if (cut.aborted && attempt === 1) {
    // It had little time, so the next process tries at once; one that is cut again waits as one that fails does.
    return { deliveryId, holder, status: "pending", error, dueAt: ctx.clock.now() };
  }
  const decision = decideRetry({ attempt, ...result }, (ctx.random ?? Math.random)());
  const facts = { channel: channel.name, about: subjectId, delivery: deliveryId, attempt, reason: error };
  if (decision.retry) {
    ctx.log.info("A notification was not delivered and will be tried again", {
      ...facts,
      wait_ms: decision.waitMs,
    });
    return { deliveryId, holder, status: "pending", error, dueAt: ctx.clock.now() + decision.waitMs };
  }
  ctx.log.warn("A notification was given up", { ...facts, because: decision.reason });
  return { deliveryId, holder, status: "failed", error };
}

async function send(
  ctx: DispatchContext,
  channel: ConfiguredChannel,
  { deliveryId, subjectId, attempt }: ClaimedDelivery,
  signal: AbortSignal,
): Promise<SendResult> {
  try {
    const notification = await ctx.readNotification(subjectId);
    if (!notification) return { ok: false, retry: false, reason: "what it was to tell is gone" };
    return await channel.attempt(notification, { deliveryId, attempt, signal });
  } catch (error) {
    return { ok: false, retry: true, reason: `the database could not be read: ${messageOf(error)}` };
  }
}
