import assert from "node:assert/strict";
import { fixedClock } from "../../kernel/clock.ts";
import { silentLog } from "../../kernel/log.ts";
import type { Channel } from "./channel.ts";
import type { Delivery } from "./notification.ts";
import { createSender } from "./channel_sender.ts";
import { NOTIFICATION } from "./testing/_notifications.ts";
import type { OpenChannel } from "./channel_sender.ts";

const delivery: Delivery = { signal: new AbortController().signal, deliveryId: "dlv_1", attempt: 1 };
const turn = () => new Promise((resolve) => setImmediate(resolve));
const NOT_READY = {
  ok: false,
  retry: true,
  reason: "Cannot open the channel slow: it is not ready after 5 s",
};

/** A sender whose openings the test settles, with a record of sends and closes. */
function open() {
  const clock = fixedClock(0);
  const openings: PromiseWithResolvers<OpenChannel>[] = [];
  const did: string[] = [];
  const warnings: string[] = [];
  const sender = createSender({
    name: "slow",
    timeoutMs: 5_000,
    clock,
    log: { ...silentLog, warn: (message) => void warnings.push(message) },
    open() {
      openings.push(Promise.withResolvers());
      return openings.at(-1)!.promise;
    },
  });
  const finish = (index: number) => {
    const channel: Channel = {
      send() {
        did.push(`sent through ${index}`);
        return { ok: true };
      },
      close: () => void did.push(`closed ${index}`),
    };
    openings[index]!.resolve({ channel, scrub: (text) => text });
  };
  /** An attempt that ends by its time. */
  const attemptInVain = async () => {
    const attempt = sender.attempt(NOTIFICATION, delivery);
    await turn();
    clock.advance(5_000);
    return await attempt;
  };
  return { ...sender, clock, openings, did, warnings, finish, attemptInVain };
}

Deno.test("attempt() opens again when the last opening took longer than its attempt", async () => {
  const slow = open();
  assert.deepEqual(await slow.attemptInVain(), NOT_READY);
  const second = slow.attempt(NOTIFICATION, delivery);
  slow.finish(1);
  assert.deepEqual(await second, { ok: true });
  assert.deepEqual(await slow.attempt(NOTIFICATION, delivery), { ok: true });
  assert.equal(slow.openings.length, 2);
  slow.finish(0);
  await turn();
  assert.deepEqual(
    slow.did,
    ["sent through 1", "sent through 1", "closed 0"],
    "a later opening is closed",
  );
  await slow.close();
  assert.equal(slow.did.at(-1), "closed 1");
});

Deno.test("attempt() uses an opening that finished after its attempt, if there is no other", async () => {
  const slow = open();
  await slow.attemptInVain();
  slow.finish(0);
  await turn();
  assert.deepEqual(await slow.attempt(NOTIFICATION, delivery), { ok: true });
  assert.equal(slow.openings.length, 1);
});

Deno.test("concurrent attempts share one opening, also when one of them is aborted", async () => {
  const slow = open();
  const stop = new AbortController();
  const stopped = slow.attempt(NOTIFICATION, { ...delivery, signal: stop.signal });
  const going = slow.attempt(NOTIFICATION, delivery);
  stop.abort();
  assert.deepEqual(await stopped, { ok: false, retry: true, reason: "stopped before there was an answer" });
  slow.finish(0);
  assert.deepEqual(await going, { ok: true });
  assert.equal(slow.openings.length, 1);
});

Deno.test("close() does not wait for an abandoned opening, which is closed when it finishes", async () => {
  const slow = open();
  await slow.attemptInVain();
  await slow.close();
  slow.finish(0);
  await turn();
  assert.deepEqual([slow.did, slow.warnings], [["closed 0"], []]);
});

Deno.test("close() waits for a running opening, and closes it", async () => {
  const slow = open();
  const attempt = slow.attempt(NOTIFICATION, delivery);
  const closing = slow.close();
  slow.finish(0);
  await closing;
  assert.deepEqual(slow.did, ["closed 0"]);
  assert.deepEqual(await attempt, {
    ok: false,
    retry: true,
    reason: "Cannot open the channel slow: it is closed",
  });
});

Deno.test("close() waits for an opening at most for the timeout", async () => {
  const slow = open();
  const attempt = slow.attempt(NOTIFICATION, delivery);
  const closing = slow.close();
  await turn();
  slow.clock.advance(5_000);
  await closing;
  assert.deepEqual(await attempt, NOT_READY);
});
