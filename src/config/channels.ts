import type { DigestPeriod, Severity } from "../contract/values.ts";
import { localTime, timeOfLocal } from "../contract/calendars/zones.ts";
import { startOf } from "../contract/windows.ts";
import { DAY_MS, MINUTE_MS } from "../kernel/clock.ts";
import { PurserError } from "../kernel/errors.ts";

/** A channel of the config. */
export interface ChannelConfig {
  /** The name of its plugin; default `custom` of an object of a program. */
  kind: string;
  /** Unique among the channels. */
  name: string;
  /** The lowest severity that it is notified of. Default: `info`. */
  minSeverity: Severity;
  /** The timeout of one attempt. Default: 10,000. */
  timeoutMs: number;
  /** True if it is told that an alert was acknowledged or resolved. */
  sendResolved?: true;
  /** The period of the digests of the spending that it gets. */
  digest?: DigestPeriod;
  /** When its deliveries wait. */
  quietHours?: QuietHours;
  /** Checked by the plugin. Secrets are in plaintext, or `{"file": "/absolute/path"}`. */
  settings: Record<string, unknown>;
}

/** The hours of a day in which deliveries wait, as in the config file. */
export interface QuietHours {
  /** `22:00`. */
  from: string;
  to: string;
  /** Default: that of the config. */
  time_zone?: string;
  /** The lowest severity that is sent all the same. */
  except?: Severity;
}

/** Returns the time at which the quiet hours of a channel end; undefined outside of them. `timeZone` is used where they name none. */
export function quietUntil(quiet: QuietHours, now: number, timeZone = "UTC"): number | undefined {
  const zone = quiet.time_zone ?? timeZone;
  const local = localTime(zone, now);
  const midnight = startOf("day", local);
  const [from, to] = [quiet.from, quiet.to].map((time) => {
    const [hours, minutes] = time.split(":").map(Number);
    return midnight + (hours! * 60 + minutes!) * MINUTE_MS;
  }) as [number, number];
  const isQuiet = from < to ? local >= from && local < to : local >= from || local < to;
  if (!isQuiet) return undefined;
  const end = to > local ? to : to + DAY_MS;
  const at = timeOfLocal(zone, end);
  return at > now ? at : now + end - local; // the clock was set back, and has this time twice
}

/** The kinds whose service has states of incidents, and are told of them unless their settings say otherwise. */
const WITH_STATES: readonly string[] = ["pagerduty"];

/** A valid channel name. */
export const CHANNEL_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** The default timeout of one attempt. */
const DEFAULT_CHANNEL_TIMEOUT_MS = 10_000;

const LOG: ChannelConfig = {
  kind: "log",
  name: "log",
  minSeverity: "info",
  timeoutMs: DEFAULT_CHANNEL_TIMEOUT_MS,
  settings: {},
};

/** The fields that every channel has, be it of the config or an object of a program. */
export type ChannelHead = Omit<ChannelConfig, "settings">;

/**
 * Returns all channels of a process in their order, each with its head: `log` comes first where none is of its kind, and what
 * an object of a program leaves out has its default.
 *
 * @throws {PurserError} `invalid` for a wrong name, and for two channels of one name
 */
export function listChannels<Channel extends Pick<ChannelHead, "name"> & Partial<ChannelHead>>(
  channels: readonly Channel[],
): (ChannelHead & { channel: Channel | ChannelConfig })[] {
  const hasLog = channels.some(({ kind }) => kind === "log");
  const taken = new Set<string>();
  return [...hasLog ? [] : [LOG], ...channels].map((channel) => {
    const { name, kind = "custom", minSeverity = "info", timeoutMs = DEFAULT_CHANNEL_TIMEOUT_MS } = channel;
    const { sendResolved, digest, quietHours } = channel;
    if (!CHANNEL_NAME.test(name)) {
      throw refuse(JSON.stringify(name), "a name takes letters, digits, ., _ and -, at most 64");
    }
    if (taken.has(name)) throw refuse(name, "another channel has this name");
    taken.add(name);
    return {
      ...{ channel, name, kind, minSeverity, timeoutMs },
      ...(sendResolved && { sendResolved }),
      ...(digest && { digest }),
      ...(quietHours && { quietHours }),
    };
  });
}

function refuse(name: string, reason: string): PurserError {
  return new PurserError("invalid", `Cannot use the channel ${name}: ${reason}`);
}

interface WrittenChannel {
  kind: string;
  name?: string;
  min_severity?: Severity;
  timeout_ms?: number;
  send_resolved?: boolean;
  digest?: DigestPeriod;
  quiet_hours?: QuietHours;
}

/** Gives each channel its own name, or the first free one of its kind: `slack`, `slack-2`, … */
export function nameChannels(written: readonly WrittenChannel[]): ChannelConfig[] {
  const taken = new Set(written.map(({ name }) => name));
  // The log channel exists even when the list doesn't name it.
  if (!written.some(({ kind }) => kind === "log")) taken.add("log");
  return written.map(({ kind, name = freeName(kind, taken), min_severity, timeout_ms, ...more }) => {
    const { send_resolved, digest, quiet_hours, ...settings } = more;
    return {
      kind,
      name,
      minSeverity: min_severity ?? "info",
      timeoutMs: timeout_ms ?? DEFAULT_CHANNEL_TIMEOUT_MS,
      ...((send_resolved ?? WITH_STATES.includes(kind)) && { sendResolved: true as const }),
      ...(digest && { digest }),
      ...(quiet_hours && { quietHours: quiet_hours }),
      settings,
    };
  });
}

function freeName(kind: string, taken: Set<string | undefined>): string {
  let name = kind;
  for (let count = 2; taken.has(name); count++) name = `${kind}-${count}`;
  taken.add(name);
  return name;
}
