/**
 * The suite that every channel passes: the built-in ones, and any plugin whose author calls `testChannel` in a
 * test file, for `deno test` or for Node's own runner (`node --test`). It needs no network but loopback, and waits for nothing: time is a clock that it sets.
 *
 * @module
 */
import { testFaults } from "./_test_faults.ts";
import { testSettings } from "./_test_settings.ts";
import { testStatuses } from "./_test_statuses.ts";
import { testTexts } from "./_test_texts.ts";
import type { ChannelModule } from "../channel.ts";
import type { Receiver } from "./_receiver.ts";

export { startHttpReceiver, startReceiver } from "./_receiver.ts";
export type { Answer, Behaviour, Connection, HttpReceiver, ReceivedRequest, Receiver } from "./_receiver.ts";

/** Where a test's receiver is. */
export interface TestAddress {
  /** `http://127.0.0.1:41234`, or with https. */
  url: string;
  host: string;
  port: number;
  /** Whether the channel shall speak TLS from the start. */
  isTls: boolean;
}

/** What the suite has to know of a channel. */
export interface ConformanceOptions {
  kind: string;
  /** `http`: it sends through `postJson`. `tcp`: it has a protocol of its own. `nothing`: it stays in the process. */
  reaches: "http" | "tcp" | "nothing";
  /** Right settings for a channel that reaches this address, with every secret that there can be. */
  settings(address: TestAddress): Record<string, unknown>;
  /** The secrets in those settings, each of at least eight characters. */
  secrets: readonly string[];
  /** Settings that are wrong, and what is said of them. */
  wrongSettings: readonly { settings: Record<string, unknown>; says: RegExp }[];
  /** For `tcp`: a server that takes what it is sent. */
  startServer?: () => Receiver | Promise<Receiver>;
}

/** Registers the suite for one kind of channel: its module's default export, or the absolute path of its file. */
export function testChannel(source: ChannelModule | string, options: ConformanceOptions): void {
  const subject = { source, ...options };
  testSettings(subject);
  testTexts(subject);
  if (options.reaches !== "nothing") testFaults(subject);
  if (options.reaches === "http") testStatuses(subject);
}
