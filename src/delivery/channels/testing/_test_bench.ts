import assert from "node:assert/strict";
import { fixedClock } from "../../../kernel/clock.ts";
import type { Log } from "../../../kernel/log.ts";
import type { ChannelModule } from "../channel.ts";
import type { Delivery, Notification, SendResult } from "../notification.ts";
import type { ConfiguredChannel } from "../configured_channel.ts";
import type { ConformanceOptions, TestAddress } from "./conformance.ts";
import { NOTIFICATION } from "./_notifications.ts";
import { createChannels } from "../create_channels.ts";

/** The kind of channel under test. */
export type Subject = ConformanceOptions & { source: ChannelModule | string };

export const START = Date.parse("2026-11-21T09:30:00.000Z");
export const TIMEOUT_MS = 5_000;

/** A channel opened by the registry, as in a process, with its log lines and a clock to set. */
export interface Bench extends AsyncDisposable {
  channel: ConfiguredChannel;
  clock: ReturnType<typeof fixedClock>;
  lines: { level: string; message: string; fields: unknown }[];
  /** Makes one attempt, and searches its result and log lines for secrets. */
  attempt(input?: { notification?: Notification; delivery?: Partial<Delivery> }): Promise<SendResult>;
}

/** Opens a channel for a test. */
export function openBench(subject: Subject, options: {
  address?: TestAddress;
  settings?: Record<string, unknown>;
  allowPrivateNetworks?: string[];
}): Bench {
  const { source, kind } = subject;
  const clock = fixedClock(START);
  const lines: Bench["lines"] = [];
  const line = (level: string) => (message: string, fields: unknown) =>
    void lines.push({ level, message, fields });
  const log: Log = { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") };
  const settings = options.settings ?? subject.settings(options.address ?? addressOf(1));
  const channels = createChannels({
    channels: [{ kind, name: "subject", minSeverity: "info", timeoutMs: TIMEOUT_MS, settings }],
    plugins: typeof source === "string" ? {} : { [kind]: () => Promise.resolve({ default: source }) },
    pluginPaths: typeof source === "string" ? [source] : [],
    allowPrivateNetworks: options.allowPrivateNetworks ?? ["127.0.0.0/8"],
    log,
    clock,
    readTextFile: (path) => Promise.reject(new Error(`Cannot read ${path} in a test`)),
    lookup: () => Promise.reject(Object.assign(new Error("no such host"), { code: "ENOTFOUND" })),
  });
  const channel = channels.get("subject")!;
  return {
    channel,
    clock,
    lines,
    async attempt({ notification = NOTIFICATION, delivery = {} } = {}) {
      const result = await channel.attempt(notification, {
        signal: new AbortController().signal,
        deliveryId: "dlv_0001",
        attempt: 1,
        ...delivery,
      });
      assertNoSecret(subject, [result, lines]);
      if (!result.ok) {
        assert.ok(
          result.reason.length > 0 && result.reason.length <= 300,
          "a reason of at most 300 characters",
        );
        assert.doesNotMatch(result.reason, /[\p{Cc}\u202A-\u202E\u2066-\u2069]/u, "a reason in one line");
      }
      return result;
    },
    [Symbol.asyncDispose]: () => channels.close(),
  };
}

/** Fails where a secret is in what was said, as it is or URL-encoded. */
export function assertNoSecret({ secrets }: Subject, said: unknown): void {
  const text = JSON.stringify(said) ?? "";
  for (const secret of secrets) {
    assert.ok(secret.length >= 8, "the suite's secrets have eight characters or more");
    for (const form of [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)]) {
      assert.ok(!text.includes(form), `a secret got out: ${text.slice(0, 500)}`);
    }
  }
}

/** The address of a receiver on this port. */
export function addressOf(port: number, { host = "127.0.0.1", isTls = false } = {}): TestAddress {
  return { url: `${isTls ? "https" : "http"}://${host}:${port}`, host, port, isTls };
}

/** Asserts a retryable or permanent failure. */
export function assertFailure(result: SendResult, expected: { retry: boolean; says?: RegExp }): void {
  assert.ok(!result.ok, "it must fail");
  assert.equal(result.retry, expected.retry, result.reason);
  if (expected.says) assert.match(result.reason, expected.says);
}
