import type { ConfiguredChannel } from "./channels/mod.ts";
import { messageOf } from "../kernel/errors.ts";
import { settleAndClaim, type Settlement } from "./claim_delivery.ts";
import type { DispatchContext } from "./context.ts";
import { deliverClaimed, FINISH_MS } from "./deliver_claimed.ts";
import { giveUpEnded } from "./recover_deliveries.ts";
import { readWaiting } from "./outbox_status.ts";

/** The bounds of one pass through the outbox. */
export interface DeliveryBounds {
  /** No attempt begins after this; a running one then has 3 s to finish. */
  timeoutMs: number;
  /** The maximum number of attempts in each channel. */
  attemptsPerChannel: number;
}

/**
 * Delivers what is due in one pass through the outbox, each channel by itself, for processes that can't run a
 * dispatcher. Never rejects. The next pass takes the rest, and a delivery whose process was killed after its lease.
 */
export async function deliverDue(ctx: DispatchContext, bounds: DeliveryBounds): Promise<void> {
  const ending = new AbortController();
  const cut = new AbortController();
  const done = new AbortController();
  const timing = (async () => {
    await ctx.clock.sleep(bounds.timeoutMs, done.signal);
    ending.abort();
    if (!done.signal.aborted) await ctx.clock.sleep(FINISH_MS, done.signal);
    if (!done.signal.aborted) cut.abort();
  })();
  try {
    const waiting = await readWaiting(ctx);
    if (waiting.some(({ hasEnded }) => hasEnded)) await giveUpEnded(ctx);
    await Promise.all(waiting.map(async ({ channel: name, waitMs }) => {
      const channel = ctx.channels.get(name);
      if (channel === undefined || waitMs === undefined || waitMs > 0) return;
      await deliverThrough(
        ctx,
        channel,
        { ending: ending.signal, cut: cut.signal },
        bounds.attemptsPerChannel,
      );
    }));
  } catch (error) {
    ctx.log.warn("The outbox could not be read", { reason: messageOf(error) });
  } finally {
    done.abort();
    await timing;
  }
}

async function deliverThrough(
  ctx: DispatchContext,
  channel: ConfiguredChannel,
  { ending, cut }: { ending: AbortSignal; cut: AbortSignal },
  attempts: number,
): Promise<void> {
  try {
    // Nothing is claimed for a channel that can't send here, so that its deliveries lose no attempt.
    const problem = await channel.check(cut);
    if (problem !== undefined) {
      return ctx.log.warn("Notifications wait for a channel that can't send here", {
        channel: channel.name,
        reason: problem,
      });
    }
    let settle: Settlement | undefined;
    for (let left = attempts;; left--) {
      const claim = left > 0 && !ending.aborted ? "any" : "none";
      const claimed = await settleAndClaim(ctx, { channel: channel.name, settle, claim });
      if (claimed === undefined) return;
      settle = await deliverClaimed(ctx, channel, claimed, cut);
    }
  } catch (error) {
    ctx.log.warn("Notifications could not be taken from the outbox", {
      channel: channel.name,
      reason: messageOf(error),
    });
  }
}
