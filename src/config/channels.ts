import type { Severity } from "../contract/values.ts";
import { PurserError } from "../kernel/errors.ts";

/** A channel of the config. */
export interface ChannelConfig {
  /** The name of its plugin. */
  kind: string;
  /** Unique among the channels. */
  name: string;
  /** The lowest severity that it is notified of. */
  minSeverity: Severity;
  /** The timeout of one attempt. */
  timeoutMs: number;
  /** Checked by the plugin. Secrets are in plaintext, or `{"file": "/absolute/path"}`. */
  settings: Record<string, unknown>;
}

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
export type ChannelHead = Pick<ChannelConfig, "name" | "kind" | "minSeverity" | "timeoutMs">;

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
    if (!CHANNEL_NAME.test(name)) {
      throw refuse(JSON.stringify(name), "a name takes letters, digits, ., _ and -, at most 64");
    }
    if (taken.has(name)) throw refuse(name, "another channel has this name");
    taken.add(name);
    return { channel, name, kind, minSeverity, timeoutMs };
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
}

/** Gives each channel its own name, or the first free one of its kind: `slack`, `slack-2`, … */
export function nameChannels(written: readonly WrittenChannel[]): ChannelConfig[] {
  const taken = new Set(written.map(({ name }) => name));
  // The log channel exists even when the list doesn't name it.
  if (!written.some(({ kind }) => kind === "log")) taken.add("log");
  return written.map(({ kind, name = freeName(kind, taken), min_severity, timeout_ms, ...settings }) => ({
    kind,
    name,
    minSeverity: min_severity ?? "info",
    timeoutMs: timeout_ms ?? DEFAULT_CHANNEL_TIMEOUT_MS,
    settings,
  }));
}

function freeName(kind: string, taken: Set<string | undefined>): string {
  let name = kind;
  for (let count = 2; taken.has(name); count++) name = `${kind}-${count}`;
  taken.add(name);
  return name;
}
