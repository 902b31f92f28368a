import type { ConfiguredChannel } from "./channels/mod.ts";
import { messageOf } from "../kernel/errors.ts";
import { type DeliveryStep, type Settlement, stepDeliveries } from "./claim_delivery.ts";
import { deliverClaimed, type DispatchContext, FINISH_MS } from "./deliver_claimed.ts";
import { freeGoneLeases, giveUpEnded } from "./free_leases.ts";
import { readWaiting } from "./read_waiting.ts";

/** On a shared database other processes may leave deliveries behind, so the outbox is read this often. */
const POLL_MS = 30_000;

/** A channel whose settings are wrong is looked at again this often: a file that was missing may be there by then. */
const WRONG_MS = 60_000;

/** After the database could not be reached. */
const TROUBLE_MS = 5_000;

/** For an answer of the database once all is cut short. */
const LAST_WRITE_MS = 1_000;

/** Delivers what is in the outbox, each channel by itself. */
export interface Dispatcher {
  /** Looks into the outbox now. */
  wake(): void;
  /**
   * Makes the first attempts that are due, begins none after `graceMs`, and cuts short what takes 3 s longer. Whatever is
   * left is the next process's, or another instance's; only a new alert makes it go on.
   */
  drain(options: { graceMs: number }): Promise<void>;
  /** The same, and ends. */
  stop(options: { graceMs: number }): Promise<void>;
}

/** Starts delivering; it goes on in the background until it is stopped. */
export function startDispatcher(ctx: DispatchContext): Dispatcher {
  const { clock } = ctx;
  const lanes = ctx.channels.list.map((channel) => new Lane(ctx, channel));
  const started = resume(ctx, lanes);
  let isStopped = false;
  const drain: Dispatcher["drain"] = async ({ graceMs }) => {
    const done = new AbortController();
    const ended = started.then(() => Promise.all(lanes.map((lane) => lane.end())));
    const isLate = (ms: number) =>
      Promise.race([ended.then(() => false), clock.sleep(ms, done.signal).then(() => true)]);
    if (await isLate(graceMs)) {
      for (const lane of lanes) lane.finish();
      if (await isLate(FINISH_MS)) {
        for (const lane of lanes) lane.cutShort();
        await isLate(LAST_WRITE_MS);
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

/** Takes up what an earlier process has left. */
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

/** One channel's way through the outbox: one delivery after the other, so that a crash doubles one at most. */
class Lane {
  readonly name: string;
  #isWoken = false;
  #isReady = false;
  #isEnding = false;
  #hasLooked = false;
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

  /** Begins, at once if something waits. */
  start(isWaiting: boolean): void {
    this.#isWoken ||= isWaiting;
    this.#running = this.#run();
  }

  wake(): void {
    this.#isWoken = true;
    this.#pause.abort();
    // One that has ended starts again: what fires while the process ends is delivered too.
    if (this.#isEnding && this.#running === undefined) this.#running = this.#run();
  }

  /** Ends once nothing is left to be attempted for the first time. */
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

  /** Gives up waiting for the attempt that is under way. */
  cutShort(): void {
    if (this.#running) this.#cut.abort();
  }

  async #run(): Promise<void> {
    do await this.#deliverAll(); while (this.#isWoken && !this.#isOver()); // woken while it was ending
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
        const claimed = await stepDeliveries(this.ctx, { channel: this.name, settle, claim: this.#wanted() });
        this.#hasLooked = true;
        settle = claimed && await deliverClaimed(this.ctx, this.channel, claimed, this.#cut.signal);
        if (claimed) this.#isWoken = true;
      } catch (error) {
        this.ctx.log.warn("Notifications could not be taken from the outbox", {
          channel: this.name,
          reason: messageOf(error),
        });
        if (this.#isEnding) return; // what was not settled is attempted again once its lease has run out
        await this.#sleep(TROUBLE_MS);
        this.#isWoken = true;
      }
    }
  }

  /** Nothing is claimed for a channel whose settings are wrong: what could not even be begun is no attempt. */
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
    await this.#sleep(WRONG_MS);
    this.#isWoken = !this.#isEnding;
    return false;
  }

  #isOver(): boolean {
    return this.#isFinishing || this.#cut.signal.aborted;
  }

  #wanted(): DeliveryStep["claim"] {
    if (this.#isOver()) return "none";
    // What was attempted before gets one look in any case, or where commands are short nobody would take it up again.
    return this.#isEnding && this.#hasLooked ? "first_attempts" : "any";
  }

  /** Waits until something is due or somebody wakes this lane. */
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
