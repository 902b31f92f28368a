import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { fixedClock } from "../../kernel/clock.ts";
import { createTurns, paced } from "../../kernel/turns.ts";
import { AnswerMemory, type AnswerShare } from "./answer_memory.ts";
import type { Delivery } from "./server_request.ts";

/** A connection that a test reads, or doesn't. */
interface TestDelivery extends Delivery {
  stalledSince: number | undefined;
  isDestroyed: boolean;
  close(): void;
}

function openMemory(limits: { all?: number; perKey?: number; mostMaking?: number } = {}) {
  const { all = 1_000_000, perKey = all, mostMaking = 100 } = limits;
  const clock = fixedClock(0);
  const memory = new AnswerMemory({
    clock,
    turns: createTurns(() => Promise.resolve()),
    limits: { answer_bytes: all, answer_bytes_per_key: perKey },
    mostMaking,
    refuse: (limit) => new Error(limit),
  });
  const open = (key: string) => {
    const listeners: (() => void)[] = [];
    const delivery: TestDelivery = {
      stalledSince: undefined,
      isDestroyed: false,
      onClose: (listener) => void listeners.push(listener),
      destroy: () => delivery.isDestroyed = true,
      close: () => listeners.forEach((listener) => listener()),
    };
    return { share: memory.open(delivery, key, true), delivery };
  };
  return { memory, clock, open };
}

/** Returns whether a promise is settled after everything that is ready has run. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  promise.then(() => settled = true, () => settled = true);
  await new Promise((resolve) => setTimeout(resolve));
  return settled;
}

const isFull = (share: AnswerShare) => share.isFull;

/** Returns how a wait ends: with the message of its error, or with none. */
const endOf = (waiting: Promise<unknown>) => waiting.then(() => undefined, ({ message }: Error) => message);

/** Lets a time pass in steps in which the memory looks around. */
async function pass(clock: ReturnType<typeof fixedClock>, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 250) {
    clock.advance(250);
    await new Promise((resolve) => setTimeout(resolve));
  }
}

Deno.test("an answer is made when there is room, and one that finds none is refused after a moment", async () => {
  const { clock, open } = openMemory({ all: 300, perKey: 200 });
  const [first, second, other] = [open("a"), open("a"), open("b")];
  await first.share.enter();
  first.share.hold(200);
  const waiting = endOf(second.share.enter());
  assert.equal(await isSettled(waiting), false, "the key holds as much as it may");
  await other.share.enter();
  other.share.hold(100);
  await pass(clock, 4_750);
  assert.equal(await isSettled(waiting), false);
  await pass(clock, 250);
  assert.equal(await waiting, "answer_bytes_per_key");
  const third = endOf(open("c").share.enter());
  await pass(clock, 5_000);
  assert.equal(await third, "answer_bytes");
  first.delivery.close();
  await open("a").share.enter();
});

Deno.test("a single answer has room, however large it is", async () => {
  const { open } = openMemory({ all: 10, perKey: 10 });
  const { share, delivery } = open("a");
  await share.enter();
  share.hold(1_000_000);
  assert.throws(() => open("a").share.take("x".repeat(100_000), true), /answer_bytes/);
  delivery.close();
  open("a").share.take("x".repeat(100_000), true);
});

Deno.test("what is small, and what can't be made again, is never refused, and counts", () => {
  const { open } = openMemory({ all: 100_000 });
  open("a").share.take("x".repeat(200_000), true);
  const { share } = open("b");
  share.take("x".repeat(60_000), true);
  share.take(undefined, true);
  share.take(new Uint8Array(1_000_000), true);
  assert.throws(() => share.take("x".repeat(70_000), true), /answer_bytes/);
  share.take("x".repeat(70_000), false);
});

Deno.test("connections that read nothing are closed in favor of others: the longest, of whom holds most", async () => {
  const { clock, open } = openMemory({ all: 400, perKey: 300 });
  const made = async (key: string, bytes: number, stalledSince: number | undefined) => {
    const { share, delivery } = open(key);
    await share.enter();
    share.hold(bytes);
    delivery.stalledSince = stalledSince;
    return delivery;
  };
  const [old, reads, newer] = [
    await made("a", 100, 1),
    await made("a", 100, undefined),
    await made("a", 100, 2),
  ];
  const slow = await made("b", 100, 0);
  clock.advance(4_900);
  const entering = open("c").share.enter();
  assert.equal(await isSettled(entering), false, "a slow client reads some in five seconds");
  await pass(clock, 250);
  await entering;
  assert.deepEqual([old, reads, newer, slow].map(({ isDestroyed }) => isDestroyed), [
    true,
    false,
    false,
    false,
  ]);
  const next = open("a").share;
  await next.enter();
  next.hold(150);
  const last = open("a").share.enter();
  await pass(clock, 250);
  await last;
  assert.deepEqual([reads, newer, slow].map(({ isDestroyed }) => isDestroyed), [false, true, false]);
});

Deno.test("those that wait make their parts in turn by key, a few at a time", async () => {
  const { open } = openMemory({ mostMaking: 2 });
  const making: { key: string; share: AnswerShare }[] = [];
  for (const key of ["a", "a", "a", "a", "a", "b", "c", "b"]) {
    const { share } = open(key);
    void share.enter().then(() => making.push({ key, share }));
  }
  const order: string[] = [];
  for (let made = 0; made < 8; made++) {
    await new Promise((resolve) => setTimeout(resolve));
    assert.ok(making.length <= 2, `${making.length} are made at once`);
    const { key, share } = making.shift()!;
    order.push(key);
    share.hold(10);
  }
  assert.deepEqual(order, ["a", "a", "a", "b", "c", "a", "b", "a"]);
});

Deno.test("an answer that has begun waits for its next part, until its client leaves", async () => {
  const { clock, open } = openMemory({ all: 200 });
  const [streamed, other] = [open("a"), open("b")];
  const pages = paced(
    (async function* () {
      for (let page = 0; page < 3; page++) yield ["x".repeat(60), "y"];
    })(),
    streamed.share,
  );
  assert.deepEqual((await pages.next()).value, ["x".repeat(60), "y"]);
  other.share.hold(100);
  assert.equal(isFull(other.share), true);
  assert.equal((await pages.next()).done, false, "its own part has been read, which makes room");
  other.share.hold(200);
  const waiting = endOf(pages.next());
  await pass(clock, 60_000);
  assert.equal(await isSettled(waiting), false);
  streamed.delivery.close();
  assert.equal(await waiting, "Cannot answer: its client has left");
  other.share.hold(0);
  assert.equal(isFull(other.share), false);
});

Deno.test("an answer that has a part gets its next one before new answers of its key begin", async () => {
  const { open } = openMemory({ all: 200 });
  const [begun, fresh] = [open("a"), open("a")];
  await begun.share.room();
  begun.share.hold(200);
  const waiting = fresh.share.enter();
  assert.equal(await isSettled(waiting), false);
  await begun.share.room();
  begun.share.hold(0);
  await waiting;
});

Deno.test("a buffer that many clients wait for counts once, as long as one of them does", () => {
  const { open } = openMemory({ all: 150, perKey: 150 });
  const { buffer } = new Uint8Array(100);
  const clients = ["a", "b", "c"].map(open);
  for (const { delivery } of clients) delivery.onStall!(buffer);
  const { share } = open("d");
  assert.equal(isFull(share), false);
  clients[0]!.delivery.onStall!(undefined);
  clients[1]!.delivery.close();
  open("e").delivery.onStall!(new Uint8Array(100).buffer);
  assert.equal(isFull(share), true);
  clients[2]!.delivery.onStall!(undefined);
  assert.equal(isFull(share), false);
});

Deno.test("answers that are arriving wait for room, but for the oldest, so that none waits for ever", async () => {
  const { open } = openMemory({ all: 400_000, perKey: 400_000 });
  const [first, second, third] = [open("a"), open("b"), open("c")];
  assert.equal(first.share.grow(60_000), undefined);
  assert.equal(second.share.grow(200_000), undefined);
  assert.equal(first.share.grow(150_000), undefined);
  const waiting = [third.share.grow(100_000), first.share.grow(250_000)];
  assert.ok(waiting.every((each) => each !== undefined));
  assert.equal(second.share.grow(900_000), undefined, "the oldest of those that are large");
  second.delivery.close();
  assert.equal(
    await isSettled(waiting[1]!),
    false,
    "what arrives for a client that has left counts until it has",
  );
  second.share.hold(900_000);
  await Promise.all(waiting);
});

Deno.test("answers that are arriving wait for those that have arrived and are not read, also the oldest", async () => {
  const { clock, open } = openMemory({ all: 400_000, perKey: 400_000 });
  const [arrived, first, second] = [open("a"), open("b"), open("c")];
  arrived.share.grow(400_000);
  arrived.share.hold(400_000);
  arrived.delivery.stalledSince = clock.monotonic();
  const waiting = [first.share.grow(100_000), second.share.grow(100_000)];
  assert.ok(waiting.every((each) => each !== undefined));
  await pass(clock, 4_750);
  assert.equal(await isSettled(Promise.race(waiting)), false);
  await pass(clock, 250);
  await Promise.all(waiting);
  assert.equal(arrived.delivery.isDestroyed, true);
});

Deno.test("whatever clients do, what is held stays below the limit and a part of each maker, and ends at nothing", async () => {
  const [all, part, mostMaking] = [1_000, 100, 3];
  const step = fc.record({
    client: fc.nat(9),
    act: fc.constantFrom("enter", "make", "read", "stall", "leave", "wait"),
    bytes: fc.integer({ min: 1, max: part }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 120 }), async (steps) => {
      const { memory, clock, open } = openMemory({ all, perKey: 600, mostMaking });
      let held = 0;
      const add = memory.add.bind(memory);
      memory.add = (share, bytes, subject) => (held += bytes, add(share, bytes, subject));
      const clients = Array.from({ length: 10 }, (_, i) => ({ ...open(`k${i % 3}`), state: "out" }));
      const asked: Promise<unknown>[] = [];
      for (const { client, act, bytes } of steps) {
        const one = clients[client]!;
        if (act === "enter" && one.state === "out") {
          one.state = "waits";
          asked.push(one.share.enter().then(() => one.state = "makes", () => one.state = "gone"));
        } else if (act === "make" && one.state === "makes") {
          one.share.hold(bytes);
          one.state = "holds";
        } else if (act === "read" && one.state === "holds") {
          one.share.hold(0);
          one.state = "out";
        } else if (act === "stall" && one.state === "holds") one.delivery.stalledSince = clock.monotonic();
        else if (act === "leave") {
          one.delivery.close();
          one.state = "gone";
        } else if (act === "wait") clock.advance(2_000);
        await new Promise((resolve) => setTimeout(resolve));
        assert.ok(held >= 0 && held <= all + mostMaking * part, `${held} bytes are held`);
      }
      for (const { delivery } of clients) delivery.close();
      for (let beat = 0; beat < 30; beat++) {
        clock.advance(250);
        await new Promise((resolve) => setTimeout(resolve));
      }
      await Promise.all(asked);
      assert.equal(held, 0);
      for (let maker = 0; maker < mostMaking; maker++) await open("new").share.enter();
    }),
    { numRuns: 40 },
  );
});
