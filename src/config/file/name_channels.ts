import type { Severity } from "../../contract/values.ts";

/** A channel as the config has it. */
export interface ChannelConfig {
  /** Of which kind it is: a plugin's name. */
  kind: string;
  /** Its own name, unlike any other channel's. */
  name: string;
  /** It is told of nothing milder. */
  minSeverity: Severity;
  /** How long one attempt may take. */
  timeoutMs: number;
  /** What is its plugin's to judge. Secrets are in clear, or `{"file": "/absolute/path"}`. */
  settings: Record<string, unknown>;
}

/** What a channel may be called. */
export const CHANNEL_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** How long one attempt may take where nothing says otherwise. */
export const DEFAULT_CHANNEL_TIMEOUT_MS = 10_000;

interface WrittenChannel {
  kind: string;
  name?: string;
  min_severity?: Severity;
  timeout_ms?: number;
}

/** Gives each channel a name: its own, or its kind, `slack`, `slack-2`, … as far as nobody else has it. */
export function nameChannels(written: readonly WrittenChannel[]): ChannelConfig[] {
  const taken = new Set(written.map(({ name }) => name));
  // The log channel is there even when the list doesn't name it.
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
