import {
  type Channels,
  createChannels,
  type NamedChannel,
  type Notification,
} from "../../src/delivery/channels/mod.ts";
import type { Clock } from "../../src/kernel/clock.ts";
import { silentLog } from "../../src/kernel/log.ts";

/** The outcome of the channels of a test: success, which may record what was sent, or failure for a reason. */
export type FakeChannels = Record<string, "ok" | { sent: Notification[] } | { reason: string }>;

/** Replaces a core's channels by ones with the given outcomes. */
export function replaceChannels(core: { clock: Clock }, channels: FakeChannels): void {
  Object.assign(core, { channels: fakeChannels(core.clock, channels) });
}

function fakeChannels(clock: Clock, channels: FakeChannels): Channels {
  return createChannels({
    channels: Object.entries(channels).map(([name, does]): NamedChannel => ({
      name,
      kind: name === "log" ? "log" : "custom",
      minSeverity: "critical",
      send(notification) {
        if (does === "ok") return { ok: true };
        if ("reason" in does) return { ok: false, retry: true, reason: does.reason };
        does.sent.push(notification);
        return { ok: true };
      },
    })),
    plugins: {},
    log: silentLog,
    clock,
  });
}
