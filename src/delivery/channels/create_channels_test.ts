import assert from "node:assert/strict";
import { fixedClock } from "../../kernel/clock.ts";
import type { Log } from "../../kernel/log.ts";
import { NOTIFICATION } from "./testing/_notifications.ts";
import type { ChannelModule } from "./channel.ts";
import { type Delivery, DeliveryError, type SendResult } from "./notification.ts";
import { createChannels, type NamedChannel } from "./create_channels.ts";

type Send = NamedChannel["send"];

/** A log that records its lines. */
function keepLines(): { log: Log; lines: [string, string, unknown][] } {
  const lines: [string, string, unknown][] = [];
  const line = (level: string) => (message: string, fields?: unknown) =>
    void lines.push([level, message, fields]);
  return {
    lines,
    log: { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") },
  };
}

const plugins = {
  log: () => import("../../../plugins/log/mod.ts"),
  vault: () => Promise.resolve({ default: vault }),
};

/** A scripted kind of channel, with secrets among its settings. */
let onSend: Send = () => ({ ok: true });
let opened = 0;
const vault: ChannelModule = ({ defineChannel, z }) =>
  defineChannel({
    kind: "vault",
    summary: "For tests",
    settings: z.object({
      token: z.string().trim().min(8).meta({ secret: true }),
      url: z.string().optional(),
    }),
    open({ token }, { log }) {
      opened++;
      if (token.includes("unlucky")) throw new Error(`cannot use ${token}`);
      log.info(`opened with ${token}`, { token, deep: [{ [token]: encodeURIComponent(token) }] });
      return { send: (notification, delivery) => onSend(notification, delivery) };
    },
  });

const config = (settings: Record<string, unknown>) => ({
  kind: "vault",
  name: "vault",
  minSeverity: "warning" as const,
  timeoutMs: 5_000,
  settings,
});

function open(
  channels: Parameters<typeof createChannels>[0]["channels"],
  files: Record<string, string> = {},
) {
  const clock = fixedClock("2026-11-21T09:30:00.000Z");
  const { log, lines } = keepLines();
  const made = createChannels({
    channels,
    plugins,
    log,
    clock,
    readTextFile: (path) =>
      path in files
        ? Promise.resolve(files[path]!)
        : Promise.reject(Object.assign(new Error(), { code: "ENOENT" })),
  });
  return { channels: made, clock, lines, files };
}

const delivery = (more: Partial<Delivery> = {}): Delivery => ({
  signal: new AbortController().signal,
  deliveryId: "dlv_1",
  attempt: 1,
  ...more,
});

async function attemptWith(send: Send): Promise<SendResult> {
  const { channels } = open([{ name: "own", send }]);
  return await channels.get("own")!.attempt(NOTIFICATION, delivery());
}

Deno.test("createChannels() has the log channel first, unless the config names it itself", () => {
  assert.deepEqual(open([]).channels.list.map(({ name }) => name), ["log"]);
  const own = { name: "own", send: () => ({ ok: true }) as const };
  assert.deepEqual(open([own]).channels.list.map(({ name, kind }) => [name, kind]), [["log", "log"], [
    "own",
    "custom",
  ]]);
  const named = { ...config({}), kind: "log", name: "console", minSeverity: "critical" as const };
  const { list } = open([own, named]).channels;
  assert.deepEqual(list.map(({ name, minSeverity }) => [name, minSeverity]), [["own", "info"], [
    "console",
    "critical",
  ]]);
});

Deno.test("createChannels() rejects a duplicate and an invalid name", () => {
  const own = { name: "own", send: () => ({ ok: true }) as const };
  assert.throws(() => open([own, own]), {
    code: "invalid",
    message: /channel own: another channel has this name/,
  });
  assert.throws(() => open([{ ...own, name: "log" }]), { message: /channel log: another channel/ });
  assert.throws(() => open([{ ...own, name: "a b" }]), { message: /channel "a b": a name takes letters/ });
});

Deno.test("createChannels() opens a channel once, on first use", async () => {
  opened = 0;
  const { channels } = open([config({ token: "t0kentoken" })]);
  assert.equal(opened, 0);
  assert.equal(await channels.get("vault")!.check(), undefined);
  assert.equal(opened, 0);
  await Promise.all(
    [1, 2].map((attempt) => channels.get("vault")!.attempt(NOTIFICATION, delivery({ attempt }))),
  );
  assert.equal(opened, 1);
  await channels.close();
});

Deno.test("attempt() passes the notification, the delivery id and the number of the attempt", async () => {
  let got: unknown;
  const result = await attemptWith((notification, { deliveryId, attempt, signal }) => {
    got = { notification, deliveryId, attempt, aborted: signal.aborted };
    return { ok: true };
  });
  assert.deepEqual(result, { ok: true });
  assert.deepEqual(got, { notification: NOTIFICATION, deliveryId: "dlv_1", attempt: 1, aborted: false });
});

Deno.test("attempt() ends at the timeout, and aborts its signal, though the channel ignores it", async () => {
  let signal: AbortSignal | undefined;
  const { promise: sending, resolve: started } = Promise.withResolvers<void>();
  const { channels, clock } = open([{
    name: "own",
    timeoutMs: 1_500,
    send: (_, delivery) => {
      signal = delivery.signal;
      started();
      return new Promise(() => {});
    },
  }]);
  const attempt = channels.get("own")!.attempt(NOTIFICATION, delivery());
  await sending;
  clock.advance(1_499);
  assert.equal(signal!.aborted, false);
  clock.advance(1);
  assert.deepEqual(await attempt, { ok: false, retry: true, reason: "no answer within 1.5 s" });
  assert.equal(signal!.aborted, true);
});

Deno.test("attempt() ends when its signal aborts, and does not send after that", async () => {
  let sent = 0;
  const stop = new AbortController();
  const { channels } = open([{
    name: "own",
    send: () => {
      sent++;
      stop.abort();
      return new Promise(() => {});
    },
  }]);
  const stopped = { ok: false, retry: true, reason: "stopped before there was an answer" };
  const own = channels.get("own")!;
  assert.deepEqual(await own.attempt(NOTIFICATION, delivery({ signal: stop.signal })), stopped);
  assert.deepEqual(await own.attempt(NOTIFICATION, delivery({ signal: stop.signal })), stopped);
  assert.equal(sent, 1);
});

Deno.test("attempt() makes an exception retryable, unless the error says otherwise", async () => {
  const failure = (reason: string, retry = true) => ({ ok: false, retry, reason });
  assert.deepEqual(await attemptWith(() => Promise.reject(new Error("oh\nno"))), failure("oh no"));
  const synchronous: Send = () => {
    throw "a text";
  };
  assert.deepEqual(await attemptWith(synchronous), failure("a text"));
  const final = new DeliveryError("never", { retry: false });
  assert.deepEqual(await attemptWith(() => Promise.reject(final)), failure("never", false));
});

Deno.test("attempt() makes an invalid result retryable", async () => {
  const result = async (made: unknown) => await attemptWith((() => made) as Send);
  for (const made of [undefined, null, true, "ok", {}, { ok: 1 }]) {
    assert.deepEqual(await result(made), {
      ok: false,
      retry: true,
      reason: "the channel returned no result",
    });
  }
  assert.deepEqual(await result({ ok: false }), {
    ok: false,
    retry: true,
    reason: "the channel gave no reason",
  });
  assert.deepEqual(await result({ ok: true, more: 1 }), { ok: true });
  assert.deepEqual(await result({ ok: false, retry: true, reason: "a", retryAfterMs: 1e12 }), {
    ok: false,
    retry: true,
    reason: "a",
    retryAfterMs: 3_600_000,
  });
  for (const retryAfterMs of [NaN, -1, "5"]) {
    assert.deepEqual(await result({ ok: false, retry: true, reason: "a", retryAfterMs }), {
      ok: false,
      retry: true,
      reason: "a",
    });
  }
  const long = await result({ ok: false, retry: false, reason: "x".repeat(10_000) }) as { reason: string };
  assert.equal(long.reason.length, 300);
});

Deno.test("a dead, a hanging and a throwing channel don't delay the log channel", async () => {
  const { channels, lines } = open([
    config({ token: "short" }),
    { name: "hangs", send: () => new Promise(() => {}) },
    { name: "throws", send: () => Promise.reject(new Error("no")) },
  ]);
  const stop = new AbortController();
  const attempts = channels.list.map((channel) =>
    channel.attempt(NOTIFICATION, delivery({ signal: stop.signal }))
  );
  assert.deepEqual(await attempts[0], { ok: true });
  assert.deepEqual(lines.map(([level, message]) => [level, message]), [["warn", NOTIFICATION.title]]);
  stop.abort();
  await Promise.all(attempts);
});

Deno.test("no secret appears in reasons and log lines, whatever the plugin does", async () => {
  const token = "t0ken/with+signs";
  const { channels, lines } = open([config({ token: ` ${token} ` })]);
  onSend = () => ({
    ok: false,
    retry: true,
    reason: `refused ${token}, ${encodeURIComponent(token)}: ${token}`,
  });
  const result = await channels.get("vault")!.attempt(NOTIFICATION, delivery());
  assert.deepEqual(result, { ok: false, retry: true, reason: "refused ***, ***: ***" });
  assert.deepEqual(lines, [
    ["info", "opened with ***", { channel: "vault", kind: "vault", token: "***", deep: [{ "***": "***" }] }],
  ]);
});

Deno.test("a channel that can't be opened fails with a reason, without a secret, until it is fixed", async () => {
  const { channels, files } = open([config({ token: { file: "/token" } })]);
  const channel = channels.get("vault")!;
  assert.equal(await channel.check(), "Cannot read /token: no such file or directory");
  assert.deepEqual(await channel.attempt(NOTIFICATION, delivery()), {
    ok: false,
    retry: true,
    reason: "Cannot open the channel vault: Cannot read /token: no such file or directory",
  });
  files["/token"] = "an-unlucky-token\n";
  assert.deepEqual(await channel.attempt(NOTIFICATION, delivery()), {
    ok: false,
    retry: true,
    reason: "Cannot open the channel vault: cannot use ***",
  });
  files["/token"] = "a-lucky-token\n";
  onSend = () => ({ ok: true });
  assert.deepEqual(await channel.attempt(NOTIFICATION, delivery()), { ok: true });
});

Deno.test("an unknown kind is a retryable failure that suggests a known one", async () => {
  const { channels } = open([{ ...config({ token: "t0kentoken" }), kind: "valut" }]);
  const fault = "There is no channel kind valut; did you mean vault?";
  assert.equal(await channels.get("vault")!.check(), fault);
  const result = await channels.get("vault")!.attempt(NOTIFICATION, delivery());
  assert.deepEqual(result, { ok: false, retry: true, reason: `Cannot open the channel vault: ${fault}` });
  assert.deepEqual(await channels.get("vault")!.describe(), { token: "***" });
});

/** A channel whose module, or whose secret file, never finishes loading. */
function openHanging(readTextFile?: () => Promise<string>) {
  const clock = fixedClock(0);
  const never = () => new Promise<never>(() => {});
  const made = createChannels({
    channels: [config({ token: { file: "/token" } })],
    plugins: readTextFile ? plugins : { vault: never },
    log: keepLines().log,
    clock,
    readTextFile,
  });
  return { channels: made, channel: made.get("vault")!, clock };
}

Deno.test("check() and describe() take no longer than the timeout, whatever the plugin does", async () => {
  for (const readTextFile of [undefined, () => new Promise<never>(() => {})]) {
    const { channel, channels, clock } = openHanging(readTextFile);
    const [checking, describing] = [channel.check(), channel.describe()];
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(5_000);
    assert.equal(await checking, "it is not ready after 5 s");
    assert.deepEqual(await describing, { token: { file: "/token" } });
    await channels.close();
  }
});

Deno.test("check() ends when its signal aborts", async () => {
  const { channel } = openHanging();
  const stop = new AbortController();
  const checking = channel.check(stop.signal);
  stop.abort();
  assert.equal(await checking, "it was stopped before it was ready");
  assert.equal(await channel.check(stop.signal), "it was stopped before it was ready");
});

Deno.test("attempt() passes each channel a copy of the notification", async () => {
  const seen: unknown[] = [];
  const vandal: Send = (notification) => {
    const open = notification as { title: string; facts: readonly unknown[]; data: Record<string, unknown> };
    open.title = open.data.alert_id = "changed";
    (open.facts as unknown[]).length = 0;
    (open.data.nested as unknown[]).push("changed");
    return { ok: false, retry: true, reason: "again" };
  };
  const { channels } = open([
    { name: "vandal", send: vandal },
    { name: "honest", send: (notification) => (seen.push(notification), { ok: true }) },
  ]);
  const original = { ...NOTIFICATION, data: { ...NOTIFICATION.data, nested: [] } };
  const before = structuredClone(original);
  for (const name of ["vandal", "honest"]) await channels.get(name)!.attempt(original, delivery());
  assert.deepEqual([seen, original], [[before], before]);
});

Deno.test("close() closes open channels, waits at most for the timeout, and prevents later sends", async () => {
  let closed = 0;
  const own = (name: string, close: NamedChannel["close"]) => ({
    name,
    send: () => ({ ok: true }) as const,
    close,
  });
  const { channels, clock, lines } = open([
    own("good", () => void closed++),
    own("throws", () => Promise.reject(new Error("oh no"))),
    own("hangs", () => new Promise(() => {})),
    own("unused", () => void closed++),
  ]);
  for (const name of ["good", "throws", "hangs"]) await channels.get(name)!.attempt(NOTIFICATION, delivery());
  const closing = channels.close();
  await new Promise((resolve) => setImmediate(resolve));
  clock.advance(10_000);
  await closing;
  assert.equal(closed, 1);
  assert.deepEqual(lines.map(([, message]) => message), [
    "Cannot close the channel throws: oh no",
    "Cannot close the channel hangs: it takes longer than 10 s",
  ]);
  assert.deepEqual(await channels.get("good")!.attempt(NOTIFICATION, delivery()), {
    ok: false,
    retry: true,
    reason: "Cannot send through good: it is closed",
  });
});
