import type { Severity } from "../contract/values.ts";

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
export const DEFAULT_CHANNEL_TIMEOUT_MS = 10_000;

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
