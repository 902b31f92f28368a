import { type Channels, createChannels, type NamedChannel } from "../../src/delivery/channels/mod.ts";
import type { Clock } from "../../src/kernel/clock.ts";
import { silentLog } from "../../src/kernel/log.ts";

/** What the channels of a test do with what they are sent: take it, or fail for a reason. */
export type FakeChannels = Record<string, "ok" | { reason: string }>;

/** Gives a core channels that do as they are told, in place of its own. */
export function replaceChannels(core: { clock: Clock }, channels: FakeChannels): void {
  Object.assign(core, { channels: fakeChannels(core.clock, channels) });
}

function fakeChannels(clock: Clock, channels: FakeChannels): Channels {
  return createChannels({
    channels: Object.entries(channels).map(([name, does]): NamedChannel => ({
      name,
      kind: name === "log" ? "log" : "custom",
      minSeverity: "critical",
      send: () => does === "ok" ? { ok: true } : { ok: false, retry: true, reason: does.reason },
    })),
    plugins: {},
    log: silentLog,
    clock,
  });
}
