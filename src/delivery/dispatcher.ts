import type { ConfiguredChannel } from "./channels/configured_channel.ts";
import { messageOf } from "../kernel/errors.ts";
import {
  deliverClaimed,
  type DeliveryStep,
  FINISH_MS,
  settleAndClaim,
  type Settlement,
} from "./claim_delivery.ts";
import type { DispatchContext } from "./context.ts";
import { freeGoneLeases, giveUpEnded } from "./recover_deliveries.ts";
import { readWaiting } from "./outbox_status.ts";

/** The poll interval on a shared database, where other processes may leave deliveries behind. */
const POLL_MS = 30_000;

/** The interval at which invalid settings are checked again: a missing file may exist by then. */
const RECHECK_MS = 60_000;

/** The pause after a failure of the database. */
const DATABASE_RETRY_MS = 5_000;

/** The time for the last write once all attempts are aborted. */
const LAST_WRITE_MS = 1_000;

/** Delivers from the outbox, each channel by itself. */
export interface Dispatcher {
  /** Reads the outbox now. */
  wake(): void;
  /**
   * Makes the first attempts that are due, begins none after `graceMs`, and aborts those that take as long again, at most
   * 3 s. The rest is left to the next process, or to another instance; only a new alert makes this one continue.
   */
  drain(options: { graceMs: number }): Promise<void>;
  /** Drains, then ignores `wake()`. */
  stop(options: { graceMs: number }): Promise<void>;
}

/** Starts delivering in the background until it is stopped. */
export function startDispatcher(ctx: DispatchContext): Dispatcher {
  const { clock } = ctx;
  const lanes = ctx.channels.list.map((channel) => new Lane(ctx, channel));
  const started = resume(ctx, lanes);
  let isStopped = false;
  const drain: Dispatcher["drain"] = async ({ graceMs }) => {
    const done = new AbortController();
    const ended = started.then(() => Promise.all(lanes.map((lane) => lane.end())));
    const isOverdue = (ms: number) =>
      Promise.race([ended.then(() => false), clock.sleep(ms, done.signal).then(() => true)]);
    if (await isOverdue(graceMs)) {
      for (const lane of lanes) lane.finish();
      if (await isOverdue(Math.min(FINISH_MS, graceMs))) {
        for (const lane of lanes) lane.abort();
        await isOverdue(Math.min(LAST_WRITE_MS, graceMs));
      }
    }
    done.abort();
  };
  return {
    wake() {
      if (!isStopped) { for (const lane of lanes) lane.wake(); }
    },
    drain,
    async stop(options) {
      await drain(options);
      isStopped = true;
    },
  };
}

/** Resumes what an earlier process has left. */
async function resume(ctx: DispatchContext, lanes: readonly Lane[]): Promise<void> {
  try {
    const waiting = await readWaiting(ctx);
    if (waiting.some(({ isLeased }) => isLeased)) await freeGoneLeases(ctx);
    const orphans = waiting.filter(({ channel }) => ctx.channels.get(channel) === undefined);
    if (orphans.length > 0) {
      ctx.log.warn("Notifications wait for channels that the config doesn't name", {
        channels: orphans.map(({ channel, count }) => `${channel} (${count})`),
      });
    }
    for (const lane of lanes) lane.start(waiting.some(({ channel }) => channel === lane.name));
  } catch (error) {
    ctx.log.warn("The outbox could not be read", { reason: messageOf(error) });
    for (const lane of lanes) lane.start(true);
  }
}

/** The worker of one channel: it makes one delivery after the other, so that a crash duplicates one at most. */
class Lane {
  readonly name: string;
  #isWoken = false;
  #isReady = false;
  #isEnding = false;
  #hasClaimed = false;
  #isFinishing = false;
  #cut = new AbortController();
  #pause = new AbortController();
  #running: Promise<void> | undefined;

  constructor(
    private readonly ctx: DispatchContext,
    private readonly channel: ConfiguredChannel,
  ) {
    this.name = channel.name;
  }

  /** Starts, at once if something waits. */
  start(isWaiting: boolean): void {
    this.#isWoken ||= isWaiting;
    this.#running = this.#run();
  }

  wake(): void {
    this.#isWoken = true;
    this.#pause.abort();
    // A lane that has ended starts again: an alert that fires while the process ends is delivered too.
    if (this.#isEnding && this.#running === undefined) this.#running = this.#run();
  }

  /** Ends once no delivery waits for its first attempt. */
  async end(): Promise<void> {
    this.#isEnding = true;
    this.#pause.abort();
    while (this.#running) await this.#running;
    this.#isFinishing = false;
    if (this.#cut.signal.aborted) this.#cut = new AbortController();
  }

  /** Begins no further attempt. */
  finish(): void {
    if (this.#running) this.#isFinishing = true;
  }

  /** Aborts the running attempt. */
  abort(): void {
    if (this.#running) this.#cut.abort();
  }

  async #run(): Promise<void> {
    do await this.#deliverAll(); while (this.#isWoken && !this.#isOver()); // woken while ending
    this.#running = undefined;
  }

  async #deliverAll(): Promise<void> {
    let settle: Settlement | undefined;
    while (!this.#isOver() || settle) {
      try {
        if (!this.#isWoken && !settle) {
          if (!this.#isEnding) await this.#rest();
          if (this.#isEnding && !this.#isWoken) return;
        }
        if (!await this.#makeReady()) continue;
        this.#isWoken = false;
        const claimed = await settleAndClaim(this.ctx, {
          channel: this.name,
          settle,
          claim: this.#nextClaim(),
        });
        this.#hasClaimed = true;
        settle = claimed && await deliverClaimed(this.ctx, this.channel, claimed, this.#cut.signal);
        if (claimed) this.#isWoken = true;
      } catch (error) {
        this.ctx.log.warn("Notifications could not be taken from the outbox", {
          channel: this.name,
          reason: messageOf(error),
        });
        if (this.#isEnding) return; // an unsettled delivery is attempted again after its lease
        await this.#sleep(DATABASE_RETRY_MS);
        this.#isWoken = true;
      }
    }
  }

  /** Checks the settings before the first claim, so that deliveries lose no attempt while they are invalid. */
  async #makeReady(): Promise<boolean> {
    if (this.#isReady) return true;
    const problem = await this.channel.check(this.#cut.signal);
    if (problem === undefined) return this.#isReady = true;
    if (this.#isOver()) return false;
    this.ctx.log.warn("Notifications wait for a channel whose settings are wrong", {
      channel: this.name,
      reason: problem,
    });
    this.#isWoken = false;
    await this.#sleep(RECHECK_MS);
    this.#isWoken = !this.#isEnding;
    return false;
  }

  #isOver(): boolean {
    return this.#isFinishing || this.#cut.signal.aborted;
  }

  #nextClaim(): DeliveryStep["claim"] {
    if (this.#isOver()) return "none";
    // Retries are claimed once even while ending: if only short commands run, they would never be claimed otherwise.
    return this.#isEnding && this.#hasClaimed ? "first_attempts" : "any";
  }

  /** Waits until a delivery is due or the lane is woken. */
  async #rest(): Promise<void> {
    const waiting = (await readWaiting(this.ctx)).find(({ channel }) => channel === this.name);
    if (waiting?.hasEnded) await giveUpEnded(this.ctx);
    if (waiting?.isLeased && await freeGoneLeases(this.ctx)) this.#isWoken = true;
    const waitMs = waiting?.waitMs ?? Infinity;
    const restMs = this.ctx.store.isShared ? Math.min(POLL_MS, waitMs) : waitMs;
    if (!this.#isWoken && !this.#isEnding) await this.#sleep(restMs);
  }

  async #sleep(delayMs: number): Promise<void> {
    this.#pause = new AbortController();
    if (this.#isEnding) return;
    if (delayMs !== Infinity) return await this.ctx.clock.sleep(delayMs, this.#pause.signal);
    await new Promise<void>((resolve) =>
      this.#pause.signal.addEventListener("abort", () => resolve(), { once: true })
    );
  }
}

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
