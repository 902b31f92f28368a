import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { type Bus, createBus } from "../src/bus/mod.ts";
import { silentLog } from "../src/kernel/log.ts";
import { createTurns } from "../src/kernel/turns.ts";
import { appendEvents, createLogReader, lastEventId, type LogPage } from "../src/sessions/mod.ts";
import { createQuery, type Statement, type Store } from "../src/store/mod.ts";
import { databaseKinds, dialectKinds } from "./harness/databases.ts";
import { eagerClock } from "./harness/eager_clock.ts";
import { openHttpClient } from "./harness/http_client.ts";
import { seededRandom } from "./harness/random.ts";
import { readSse } from "./harness/sse_reader.ts";
import { openTestPurser } from "./harness/test_purser.ts";
import { cases } from "./harness/thorough.ts";

/** One process on a database: its reader of the log, and the number of times that it has read. */
interface Process {
  reader: ReturnType<typeof createLogReader>;
  bus: Bus;
  readings(): number;
  failNext(error: Error | undefined): void;
  /** Appends events of one commit, of sizes around `length`. */
  append(count: number, length?: number): Promise<void>;
}

function openProcess(store: Store, keptCharacters?: number): Process {
  const clock = eagerClock();
  const bus = createBus(silentLog);
  let readings = 0;
  let failure: Error | undefined;
  const counting = new Proxy(store, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      if (name !== "read") return value.bind(target);
      return (statement: Statement) => {
        if (failure) return Promise.reject(failure);
        // A page is looked for first by the sizes of its rows.
        if (/count\(\*\)/.test(statement.sql)) readings++;
        return store.read(statement);
      };
    },
  });
  const query = createQuery(counting);
  const turns = createTurns(() => setImmediate());
  return {
    bus,
    reader: createLogReader({ store: counting, query, clock, bus, turns }, { keptCharacters }),
    readings: () => readings,
    failNext: (error) => void (failure = error),
    async append(count, length = 10) {
      const events = Array.from({ length: count }, (_, i) => ({
        sessionId: null,
        runId: null,
        agentId: `a${i % 3}`,
        event: { type: "model.called" as const, at: clock.now(), payload: { text: "x".repeat(length) } },
      }));
      await store.write(appendEvents(events));
      bus.publish({
        type: "x",
        at: "",
        agent_id: "a",
        session_id: null,
        run_id: null,
        seq: null,
        payload: {},
      });
    },
  };
}

/** Follows the log, and keeps the ids that it got. */
function follow(
  { reader }: Process,
  after: number,
  beforeEach: () => Promise<void> = () => Promise.resolve(),
) {
  const gone = new AbortController();
  const ids: number[] = [];
  const pages: LogPage[] = [];
  const ended = (async () => {
    for await (const page of reader.follow(after, gone.signal)) {
      for (const { eventId, text } of page.events) {
        assert.equal(JSON.parse(text).event_id, eventId);
        ids.push(eventId);
      }
      if (page.events.length > 0) pages.push(page);
      await beforeEach();
    }
  })();
  ended.catch(() => {}); // the test may look at it later
  return {
    ids,
    pages,
    async leave() {
      gone.abort();
      await ended;
    },
    ended,
  };
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await setImmediate();
}

const databases = dialectKinds();

for (const { name, ignore, create } of databases) {
  Deno.test({
    name:
      `${name}: callers that join anywhere, leave, return and are slow get every event once, in order, from two processes`,
    ignore,
    fn: async () => {
      for (let seed = 1; seed <= cases(2); seed++) {
        const random = seededRandom(seed);
        const upTo = (limit: number) => Math.floor(random() * limit);
        await using database = await create();
        const first = await database.open();
        // Memory is of one process.
        const stores = name === "memory" ? [first, first] : [first, await database.open()];
        const processes = stores.map((store) => openProcess(store, 2_000));
        if (name === "memory") processes[1] = processes[0]!;
        await processes[0]!.append(150);
        const callers: { start: number; got: number[]; process: Process; now: ReturnType<typeof follow> }[] =
          [];
        const join = (process: Process, start: number) =>
          follow(process, start, async () => {
            for (let pause = upTo(4) * upTo(8); pause > 0; pause--) await setImmediate();
          });
        for (let round = 0; round < 40; round++) {
          const process = processes[upTo(2)]!;
          const choice = upTo(10);
          if (choice < 4) await process.append(1 + upTo(8), upTo(5) === 0 ? 3_000 : 10);
          else if (choice < 7) {
            const end = await lastEventId({ store: first });
            const start = [0, upTo(end), end][upTo(3)]!;
            callers.push({ start, got: [], process, now: join(process, start) });
          } else if (callers.length > 0) {
            const caller = callers[upTo(callers.length)]!;
            await caller.now.leave();
            caller.got.push(...caller.now.ids);
            // As a client that reconnects, with the last id that it has got, perhaps to the other process.
            caller.process = process;
            caller.now = join(process, caller.got.at(-1) ?? caller.start);
          }
          for (let pause = upTo(3); pause > 0; pause--) await setImmediate();
        }
        await processes[0]!.append(1);
        const end = await lastEventId({ store: first });
        for (const { start, got, now } of callers) {
          await until(() => (now.ids.at(-1) ?? got.at(-1)) === end || start === end);
          await now.leave();
          assert.deepEqual(
            [...got, ...now.ids],
            Array.from({ length: end - start }, (_, i) => start + 1 + i),
            `seed ${seed}`,
          );
        }
        assert.ok(callers.length > 3);
        assert.ok(processes.every(({ bus }) => !bus.hasSubscribers("any")), "no loop is left");
      }
    },
  });
}

async function inMemory(test: (store: Store) => Promise<void>): Promise<void> {
  const memory = databaseKinds().find(({ name }) => name === "memory")!;
  await using database = await memory.create();
  await test(await database.open());
}

Deno.test("a hundred callers cost the readings of one, and get the same page", () =>
  inMemory(async (store) => {
    const process = openProcess(store);
    const callers = Array.from({ length: 100 }, () => follow(process, 0));
    await until(() => process.readings() > 0);
    const before = process.readings();
    for (let commit = 1; commit <= 10; commit++) {
      await process.append(3);
      await until(() => callers.every(({ ids }) => ids.length === 3 * commit));
    }
    // Each commit is read once, and perhaps once more for the wake-up that came while it was read.
    assert.ok(process.readings() - before <= 25, `${process.readings() - before} readings`);
    for (const { pages } of callers) {
      assert.ok(pages.every((page, index) => page === callers[0]!.pages[index]), "each text is made once");
    }
    for (const caller of callers) await caller.leave();
  }));

Deno.test("a caller that takes nothing holds up no other, and no page for itself", () =>
  inMemory(async (store) => {
    const process = openProcess(store, 2_000);
    const opened = Promise.withResolvers<void>();
    const slow = follow(process, 0, () => opened.promise);
    const quick = follow(process, 0);
    for (let commit = 1; commit <= 50; commit++) {
      await process.append(10, 100);
      await until(() => quick.ids.length === 10 * commit);
    }
    assert.ok(slow.ids.length <= 20, `${slow.ids.length} events were taken`);
    // What it missed is not kept any more: it is read for it.
    const before = process.readings();
    opened.resolve();
    await until(() => slow.ids.length === 500);
    assert.ok(process.readings() > before);
    assert.deepEqual(slow.ids, quick.ids);
    await Promise.all([slow.leave(), quick.leave()]);
  }));

Deno.test("a failure to read ends every caller with its error, and the next caller begins anew", () =>
  inMemory(async (store) => {
    const process = openProcess(store);
    const callers = Array.from({ length: 3 }, () => follow(process, 0));
    await process.append(1);
    await until(() => callers.every(({ ids }) => ids.length === 1));
    const broken = new Error("the disk");
    process.failNext(broken);
    await process.append(1);
    for (const { ended } of callers) await assert.rejects(ended, (error: Error) => error.cause === broken);
    assert.equal(process.bus.hasSubscribers("model.called"), false);
    process.failNext(undefined);
    const again = follow(process, 1);
    await until(() => again.ids.length === 1);
    await again.leave();
  }));

Deno.test("streams of a key end within five seconds of its revocation by another process", async () => {
  const directory = await Deno.makeTempDir();
  try {
    const config = { dbUrl: `file:${directory}/purser.db` };
    await using a = await openTestPurser({ config });
    await using b = await openTestPurser({ config });
    const { body: { key, key_id } } = await a.api("POST", "/keys", { name: "reader", scopes: ["read"] });
    const client = openHttpClient(b);
    const streams = await Promise.all(
      Array.from({ length: 3 }, async () => readSse(await client.fetch("GET", "/events", { key }))),
    );
    await a.api("DELETE", `/keys/${key_id}`);
    let ended = 0;
    const all = Promise.all(streams.map((stream) => stream.rest().then(() => ended++)));
    let passedMs = 0;
    while (ended < streams.length) {
      await setImmediate();
      if (passedMs < 5_000) {
        b.clock.advance(50);
        passedMs += 50;
      }
    }
    await all;
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});
