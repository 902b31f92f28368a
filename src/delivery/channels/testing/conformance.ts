/**
 * The suite that every channel passes: the built-in ones, and any plugin whose author calls `testChannel` in a test
 * file, for `deno test` or `node --test`. It uses no network but loopback, and a clock of its own, so it never waits.
 *
 * @module
 */
import { testFaults } from "./_test_faults.ts";
import { testSettings } from "./_test_settings.ts";
import { testStatuses } from "./_test_statuses.ts";
import { testTexts } from "./_test_texts.ts";
import type { ChannelModule } from "../channel.ts";
import type { Answer, ReceivedRequest, Receiver } from "./_receiver.ts";

export { startHttpReceiver, startReceiver } from "./_receiver.ts";
export type { Answer, Behaviour, Connection, HttpReceiver, ReceivedRequest, Receiver } from "./_receiver.ts";

/** The address of a test's receiver. */
export interface TestAddress {
  /** `http://127.0.0.1:41234`, or with https. */
  url: string;
  host: string;
  port: number;
  /** True if the channel is to use TLS from the start. */
  isTls: boolean;
}

/** The description of a channel for the suite. */
export interface ConformanceOptions {
  kind: string;
  /** `http`: it sends through `postJson`. `tcp`: it has its own protocol. `nothing`: it stays in the process. */
  reaches: "http" | "tcp" | "nothing";
  /** Returns valid settings for a channel that sends to this address, with every possible secret. */
  settings(address: TestAddress): Record<string, unknown>;
  /** The secrets in those settings, each of at least eight characters. */
  secrets: readonly string[];
  /** Invalid settings, each with a pattern of its error. */
  wrongSettings: readonly { settings: Record<string, unknown>; says: RegExp }[];
  /** For `http`: the statuses by which this service says something else than HTTP does. */
  statuses?: Readonly<Record<number, "refused" | "retried">>;
  /** For `http`: answers by the rules of the service. Default: accepts everything. */
  receive?: (request: ReceivedRequest) => Answer;
  /** For `tcp`: starts a server that accepts messages. */
  startServer?: () => Receiver | Promise<Receiver>;
}

/** Registers the suite for one kind of channel, given its module's default export or the absolute path of its file. */
export function testChannel(source: ChannelModule | string, options: ConformanceOptions): void {
  const subject = { source, ...options };
  testSettings(subject);
  testTexts(subject);
  if (options.reaches !== "nothing") testFaults(subject);
  if (options.reaches === "http") testStatuses(subject);
}
