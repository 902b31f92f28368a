import type { ConfiguredChannel, SendResult } from "./channels/mod.ts";
import { messageOf } from "../kernel/errors.ts";
import { traceDelivery } from "../telemetry/mod.ts";
import type { ClaimedDelivery, Settlement } from "./claim_delivery.ts";
import type { DispatchContext } from "./context.ts";
import { decideRetry } from "./retry_policy.ts";

/** The time that a running attempt has to finish after the grace period: aborted, it might be sent twice. */
export const FINISH_MS = 3_000;

/** Makes one attempt at a claimed delivery, and returns its settlement. `cut` aborts the attempt. */
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
    // The next process retries a first attempt that was aborted at once; a later one waits as after a failure.
    return { deliveryId, holder, status: "pending", error, dueAt: ctx.clock.now() };
  }
  const decision = decideRetry({ attempt, ...result }, (ctx.random ?? Math.random)());
  const facts = { channel: channel.name, about: subjectId, delivery: deliveryId, attempt, reason: error };
  if (decision.retry) {
    ctx.log.info("A notification was not delivered and will be retried", {
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
    if (!notification) return { ok: false, retry: false, reason: "its alert or anomaly no longer exists" };
    return await channel.attempt(notification, { deliveryId, attempt, signal });
  } catch (error) {
    return { ok: false, retry: true, reason: `the database could not be read: ${messageOf(error)}` };
  }
}
