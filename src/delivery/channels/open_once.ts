import type { Clock } from "../../kernel/clock.ts";
import { messageOf } from "../../kernel/errors.ts";
import type { Log } from "../../kernel/log.ts";
import type { Channel } from "./channel.ts";
import type { Scrub } from "./settings/scrub_secrets.ts";
import { settleWithin } from "./settle_within.ts";

/** A channel that is open, with what takes its secrets out of a text. */
export interface OpenChannel {
  channel: Channel;
  scrub: Scrub;
}

/** Holds what a channel has open. */
export interface Opener {
  /**
   * Opens on first use, and anew after a failure, which may have been mended. An opening that takes longer than its
   * attempt is not waited for again: the next attempt makes another.
   */
  open(signal: AbortSignal): Promise<OpenChannel>;
  /** Closes what is open or opening; never rejects, and takes at most `timeoutMs`. */
  close(): Promise<void>;
}

/** Makes what opens one channel, once, and closes it. */
export function createOpener(input: {
  name: string;
  timeoutMs: number;
  open: () => Promise<OpenChannel>;
  clock: Clock;
  log: Log;
}): Opener {
  const { name, timeoutMs, clock } = input;
  let opened: OpenChannel | undefined;
  let opening: Promise<OpenChannel> | undefined;
  let isClosed = false;

  async function make(): Promise<OpenChannel> {
    const made = await input.open().catch((error) => {
      throw new Error(`Cannot open the channel ${name}: ${messageOf(error)}`, { cause: error });
    });
    if (!isClosed && opened === undefined) return opened = made;
    // It came so late that another is open, or none is needed any more.
    await release(made);
    if (opened) return opened;
    throw new Error(`Cannot open the channel ${name}: it is closed`);
  }

  const warn = (reason: string) =>
    input.log.warn(`Cannot close the channel ${name}: ${reason}`, { channel: name });

  async function release({ channel, scrub }: OpenChannel): Promise<void> {
    const close = async () => await channel.close?.();
    await settleWithin(close().catch((error) => warn(scrub(messageOf(error)))), {
      clock,
      timeoutMs,
      late: () => warn(`it takes longer than ${timeoutMs / 1000} s`),
    });
  }

  return {
    async open(signal) {
      if (opened) return opened;
      const mine = opening ??= make();
      const forget = () => void (opening = opening === mine ? undefined : opening);
      signal.addEventListener("abort", forget, { once: true });
      return await mine.finally(forget);
    },
    async close() {
      isClosed = true;
      const open = opened;
      opened = undefined;
      if (open) return await release(open);
      // Whoever makes it closes it.
      await settleWithin(Promise.resolve(opening).then(() => {}, () => {}), {
        clock,
        timeoutMs,
        late: () => warn(`it is not open after ${timeoutMs / 1000} s`),
      });
    },
  };
}
