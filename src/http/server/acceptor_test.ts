import assert from "node:assert/strict";
import { Server, type Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { type Clock, fixedClock } from "../../kernel/clock.ts";
import { silentLog } from "../../kernel/log.ts";
import { createProbeJudge, type Probe, startAcceptor } from "./acceptor.ts";
import { DEFAULT_LIMITS } from "./connection_limits.ts";
import { Connections } from "./connections.ts";

/** Returns what follows each of these probes, a second apart, each with the delay of timers during it. */
function actionsAfter(probes: (Probe | [Probe, lagMs: number])[]): string[] {
  const judge = createProbeJudge();
  const clock = fixedClock(0);
  return probes.map((probe) => {
    clock.advance(1_000);
    const [outcome, lagMs] = typeof probe === "string" ? [probe, 0] : probe;
    return judge(outcome, { now: clock.monotonic(), lagMs }).action;
  });
}

Deno.test("a listener is replaced after three probes in a row that were not accepted", () => {
  assert.deepEqual(actionsAfter(["not accepted", "not accepted", "not accepted"]), [
    "none",
    "none",
    "listen",
  ]);
  const interrupted: Probe[] = ["not accepted", "not accepted", "accepted", "not accepted", "not accepted"];
  assert.deepEqual(actionsAfter(interrupted), Array(5).fill("none"));
});

Deno.test("a listener is not replaced while the process is too busy to accept, however long that takes", () => {
  assert.deepEqual(actionsAfter(Array(600).fill(["not accepted", 300])), Array(600).fill("none"));
  const once: [Probe, number][] = [["not accepted", 0], ["not accepted", 5_000], ["not accepted", 0]];
  assert.deepEqual(actionsAfter(once), ["none", "none", "none"]);
});

Deno.test("a listener is replaced by the first probe after descriptors ran out, or at once where it is gone", () => {
  assert.deepEqual(actionsAfter(["no descriptor", "no descriptor", "not accepted"]), [
    "shed",
    "shed",
    "listen",
  ]);
  assert.deepEqual(actionsAfter(["no descriptor", "accepted", "not accepted"]), ["shed", "none", "none"]);
  assert.deepEqual(actionsAfter(["refused"]), ["listen"]);
});

Deno.test("the server gives up after a minute of failures", () => {
  const actions = actionsAfter(Array(61).fill("refused"));
  assert.deepEqual([actions.indexOf("give up"), actions[0]], [60, "listen"]);
});

/** A server that gets none of its connections, as after an error of `accept`. */
class DeafServer extends Server {
  override emit(event: string | symbol, ...values: unknown[]): boolean {
    if (event !== "connection") return super.emit(event, ...values);
    (values[0] as Socket).destroy();
    return true;
  }
}

Deno.test("a listener that accepts nothing is replaced within five seconds, though descriptors are free again", async () => {
  const sleeps: number[] = [];
  // Each wait is over at once.
  const clock: Clock = {
    now: () => 0,
    monotonic: () => sleeps.reduce((sum, ms) => sum + ms, 0),
    sleep: (ms) => (sleeps.push(ms), Promise.resolve()),
  };
  const limits = { ...DEFAULT_LIMITS, connections: 10, perAddress: 10 };
  const connections = new Connections(limits, clock.monotonic, () => {});
  const replaced = Promise.withResolvers<number>();
  let created = 0;
  const create = () => {
    if (created++ > 0) replaced.resolve(clock.monotonic());
    return created === 1 ? new DeafServer() : new Server();
  };
  const at = { host: "127.0.0.1", port: 0, connections, create };
  const acceptor = await startAcceptor({ clock, log: silentLog }, at, (socket) => void socket.destroy());
  const replacedMs = await replaced.promise;
  acceptor.close();
  // Before the first interval there may be one in which connections were still accepted.
  assert.ok(sleeps[0]! + replacedMs <= 5_000, `${sleeps}`);
});

/** A server that listens once: after it is closed, its port can't be listened on again. */
function createServers() {
  const first = new Server();
  let created = 0;
  return {
    close: () => first.close(),
    create() {
      if (created++ === 0) return first;
      const other = new Server();
      other.listen = () => (queueMicrotask(() => other.emit("error", new Error("taken"))), other);
      return other;
    },
  };
}

Deno.test("a server whose port can't be listened on again has failed after a minute", async () => {
  const clock = fixedClock(0);
  const limits = { ...DEFAULT_LIMITS, connections: 10, perAddress: 10 };
  const connections = new Connections(limits, () => clock.monotonic(), () => {});
  const servers = createServers();
  const at = { host: "127.0.0.1", port: 0, connections, create: servers.create };
  const acceptor = await startAcceptor({ clock, log: silentLog }, at, (socket) => void socket.destroy());
  let failedAt: number | undefined;
  acceptor.failed.catch(() => failedAt = clock.monotonic());
  servers.close();
  for (let turn = 0; failedAt === undefined && turn < 100_000; turn++) {
    clock.advance(100);
    await setImmediate();
  }
  assert.ok(failedAt! >= 60_000, `${failedAt}`);
  await assert.rejects(
    acceptor.failed,
    /^PurserError: Cannot accept connections on 127\.0\.0\.1:\d+: none was .* a minute/,
  );
});
