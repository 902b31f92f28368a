import assert from "node:assert/strict";
import { fixedClock, systemClock } from "../clock.ts";
import { createIds } from "../ids.ts";
import type { Log } from "../log.ts";
import {
  skipSqld,
  type Sqld,
  type SqldDatabase,
  type SqldReplica,
  startSqld,
} from "../../tests/harness/sqld.ts";
import { RemoteStore } from "./remote_store.ts";

const ids = createIds(systemClock);
const COUNT = { sql: "SELECT count(*) FROM t" };
const INSERT = { sql: "INSERT INTO t VALUES (1)" };
const PATIENCE_MS = 20_000;

let primary: Sqld | undefined;
let replica: SqldReplica | undefined;
if (!skipSqld) {
  Deno.test.beforeAll(async () => {
    primary = await startSqld();
    replica = await primary.startReplica();
  });
  Deno.test.afterAll(async () => {
    await replica?.[Symbol.asyncDispose]();
    await primary?.[Symbol.asyncDispose]();
  });
}

type Fetch = typeof globalThis.fetch;

/** A database with the table `t` and a replica, at a time that stands still; `asked` counts requests to either. */
async function open(options: { replica?: SqldDatabase; wrap?: (send: Fetch) => Fetch } = {}) {
  const database = await primary!.createDatabase();
  const copy = options.replica ?? replica!.databaseOf(database);
  const clock = fixedClock("2026-11-21T09:30:00.000Z");
  const logs: [level: string, message: string, reason: unknown][] = [];
  const log: Log = {
    debug() {},
    error() {},
    info: (message, fields) => void logs.push(["info", message, fields?.reason]),
    warn: (message, fields) => void logs.push(["warn", message, fields?.reason]),
  };
  const asked = { primary: 0, replica: 0 };
  const toReplica = (options.wrap ?? ((send) => send))(copy.fetch);
  const store = new RemoteStore({
    url: database.url,
    replicaUrl: copy.url,
    timeoutMs: 10_000,
    clock,
    log,
    newToken: () => ids.next("req"),
    fetch(input, init) {
      const isReplica = (input as Request).url.startsWith(copy.url);
      asked[isReplica ? "replica" : "primary"]++;
      return isReplica ? toReplica(input, init) : database.fetch(input, init);
    },
  });
  await store.write([{ sql: "CREATE TABLE t (a)" }, INSERT]);
  return {
    ...{ database, store, clock, logs, asked },
    /** Reads; gives the count, and whether the replica gave it. */
    async read(): Promise<[count: number, from: "primary" | "replica"]> {
      const before = asked.primary;
      const rows = (await store.readStale([COUNT]))[0]!.rows;
      return [Number(rows[0]![0]), asked.primary === before ? "replica" : "primary"];
    },
    [Symbol.asyncDispose]: () => store.close(),
  };
}

type Opened = Awaited<ReturnType<typeof open>>;

/** Reads until the replica has caught up. */
async function untilReplica(t: Opened): Promise<number> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const [count, from] = await t.read();
    if (from === "replica") return count;
    assert.ok(performance.now() < deadline, "the replica catches up");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const isDown = (_send: Fetch): Fetch => () => Promise.reject(new TypeError("connection refused"));

function test(sentence: string, body: () => Promise<void>): void {
  Deno.test({ name: `readStale: ${sentence}`, ignore: skipSqld, fn: body });
}

test("a replica that has caught up answers, and writes and other reads go to the primary", async () => {
  await using t = await open();
  assert.equal(await untilReplica(t), 1);
  const { replica: before } = t.asked;
  await t.store.write([INSERT]);
  assert.equal((await t.store.read(COUNT)).rows[0]![0], 2n);
  assert.equal((await t.store.readAll([COUNT]))[0]!.rows[0]![0], 2n);
  assert.equal(t.asked.replica, before);
  assert.deepEqual(t.logs, []);
});

test("many results of one view come in the order of their queries", async () => {
  await using t = await open();
  await untilReplica(t);
  const results = await t.store.readStale([{ sql: "SELECT 1 AS one" }, { sql: "SELECT a FROM t WHERE 0" }, {
    sql: "SELECT ?",
    args: ["x"],
  }]);
  assert.deepEqual(results, [
    { columns: ["one"], rows: [[1n]] },
    { columns: ["a"], rows: [] },
    { columns: ["?"], rows: [["x"]] },
  ]);
});

test("a replica that stands still is left within ten seconds, with one warning, and taken again later", async () => {
  await using t = await open();
  await untilReplica(t);
  // One that no longer hears of its primary never gets to see what was committed there later.
  t.clock.advance(4_000);
  t.store.replica!.note("req_never_seen", t.clock.monotonic());
  assert.deepEqual(await t.read(), [1, "replica"], "it has what was committed four seconds ago");
  t.clock.advance(7_000);
  for (let i = 0; i < 4; i++) assert.deepEqual(await t.read(), [1, "primary"]);
  assert.deepEqual(t.logs, [[
    "warn",
    "The replica is not used for now; the primary answers all reads",
    "it is too far behind",
  ]]);
  t.clock.advance(31_000);
  assert.equal(await untilReplica(t), 1);
  assert.deepEqual(t.logs[1], ["info", "The replica is used again", undefined]);
});

test("a replica that is only a moment late is asked again at once, without a warning", async () => {
  await using t = await open();
  await untilReplica(t);
  t.clock.advance(11_000);
  t.store.replica!.note("req_not_yet_there", t.clock.monotonic());
  assert.deepEqual(await t.read(), [1, "primary"]);
  assert.deepEqual(t.logs, []);
});

test("a replica that is down is asked once and then left alone, and taken again after its rest", async () => {
  let isAway = true;
  await using t = await open({
    wrap: (send) => (input, init) => isAway ? isDown(send)(input, init) : send(input, init),
  });
  for (let i = 0; i < 5; i++) assert.deepEqual(await t.read(), [1, "primary"]);
  assert.equal(t.asked.replica, 1);
  assert.equal(t.logs.length, 1);
  assert.match(String(t.logs[0]![2]), /connection refused/);
  isAway = false;
  t.clock.advance(29_000);
  assert.deepEqual(await t.read(), [1, "primary"]);
  assert.equal(t.asked.replica, 1);
  t.clock.advance(2_000);
  assert.equal(await untilReplica(t), 1);
  assert.deepEqual(t.logs.map(([level]) => level), ["warn", "info"]);
});

test("a replica that hangs is waited for a second at most", async () => {
  const hanging: Fetch = (_input, init) =>
    new Promise((_, reject) => {
      init!.signal!.addEventListener("abort", () => reject(init!.signal!.reason));
    });
  await using t = await open({ wrap: () => hanging });
  assert.deepEqual(await t.read(), [1, "primary"]);
  assert.deepEqual(await t.read(), [1, "primary"]);
  assert.equal(t.asked.replica, 1);
  assert.equal(t.logs.length, 1);
});

test("a process that has been idle for long asks the primary first, and makes a commit to measure by", async () => {
  await using t = await open();
  await untilReplica(t);
  t.clock.advance(60_000);
  assert.deepEqual(await t.read(), [1, "primary"]);
  assert.equal(await untilReplica(t), 1);
});

test("another database is never taken for a replica", async () => {
  const other = await primary!.createDatabase();
  const full = new RemoteStore({
    ...other,
    timeoutMs: 10_000,
    clock: systemClock,
    newToken: () => ids.next("req"),
  });
  await full.write([{ sql: "CREATE TABLE t (a)" }, INSERT, INSERT, INSERT]);
  await full.close();
  await using t = await open({ replica: replica!.databaseOf(other) });
  for (let i = 0; i < 20; i++) assert.deepEqual(await t.read(), [1, "primary"]);
  const problem = t.store.replica!.problem();
  let isKnown = false;
  problem.finally(() => isKnown = true);
  while (!isKnown) {
    t.clock.advance(100);
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  assert.equal(await problem, "it does not show what was just written to the primary");
});
