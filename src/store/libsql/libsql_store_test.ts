import { databaseLogic } from "../../service/parts.ts";
import assert from "node:assert/strict";
import { type Clock, systemClock } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import { createIds } from "../../kernel/ids.ts";
import { ConstraintError, openStore } from "../mod.ts";
import { migrations } from "../migrations/migrations.ts";
import { RemoteStore } from "./libsql_store.ts";
import { eagerClock } from "../../../tests/harness/eager_clock.ts";
import { skipSqld, type Sqld, startSqld } from "../../../tests/harness/sqld.ts";

type Fetch = typeof globalThis.fetch;

const ids = createIds(systemClock);
const INSERT = { sql: "INSERT INTO t VALUES (1)" };
const COUNT = { sql: "SELECT count(*) FROM t" };

let shared: Sqld | undefined;
if (!skipSqld) {
  Deno.test.beforeAll(async () => void (shared = await startSqld()));
  Deno.test.afterAll(async () => await shared?.[Symbol.asyncDispose]());
}

function connect(
  place: { url: string; fetch?: Fetch },
  options: { clock?: Clock; timeoutMs?: number; authToken?: string } = {},
): RemoteStore {
  return new RemoteStore({
    url: place.url,
    fetch: place.fetch,
    authToken: options.authToken,
    timeoutMs: options.timeoutMs ?? 5_000,
    clock: options.clock ?? eagerClock(),
    newToken: () => ids.next("req"),
  });
}

function test(sentence: string, body: () => Promise<void>): void {
  Deno.test({ name: sentence, ignore: skipSqld, fn: body });
}

/** A database with the table `t`, reached through `wrap(fetch)`. */
async function createTable(wrap: (send: Fetch) => Fetch = (send) => send) {
  const place = await shared!.createDatabase();
  const store = connect({ ...place, fetch: wrap(place.fetch) });
  await store.write([{ sql: "CREATE TABLE t (a)" }]);
  return { place, store, [Symbol.asyncDispose]: () => store.close() };
}

function isUnavailable(pattern: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof PurserError, String(error));
    assert.equal(error.code, "unavailable");
    assert.match(error.message, pattern);
    return true;
  };
}

/** Fails the next requests in the given way, one each. */
function faults() {
  const next: ("before" | "after" | Response)[] = [];
  let requests = 0;
  const wrap = (send: Fetch): Fetch => async (input, init) => {
    requests++;
    const fault = next.shift();
    if (fault === "before") throw new TypeError("connection reset by peer");
    if (fault instanceof Response) return fault;
    const answer = await send(input, init);
    if (fault !== "after") return answer;
    await answer.arrayBuffer();
    throw new TypeError("connection closed before message completed");
  };
  return { next, wrap, requests: () => requests };
}

test("a commit whose response is lost is committed exactly once", async () => {
  const { next, wrap } = faults();
  await using t = await createTable(wrap);
  for (let lost = 1; lost <= 3; lost++) {
    next.push(...Array(lost).fill("after"));
    const results = await t.store.write([INSERT, COUNT]);
    assert.equal(results[1]!.rows[0]![0], BigInt(lost), "a SELECT of the unit is answered all the same");
    assert.equal(results.length, 2);
  }
  next.push("after");
  const [, counted] = await t.store.write([INSERT, { sql: `WITH c AS (${COUNT.sql}) SELECT * FROM c` }]);
  assert.equal(counted!.rows[0]![0], 4n, "also one that begins with WITH");
  assert.equal((await t.store.read(COUNT)).rows[0]![0], 4n);
});

test("a commit that was never sent is retried", async () => {
  const { next, wrap } = faults();
  await using t = await createTable(wrap);
  next.push("before", "before");
  assert.equal((await t.store.write([INSERT, COUNT]))[1]!.rows[0]![0], 1n);
  next.push("before", "after", "before");
  assert.equal((await t.store.write([INSERT, COUNT]))[1]!.rows[0]![0], 2n);
  assert.equal((await t.store.read(COUNT)).rows[0]![0], 2n);
});

test("a group whose response is lost gives each unit its own results", async () => {
  const { next, wrap } = faults();
  await using t = await createTable(wrap);
  next.push("after");
  const groups = await Promise.all(
    [1, 2, 3].map((n) =>
      t.store.write([{ sql: "INSERT INTO t VALUES (?)", args: [n] }, { sql: "SELECT ? * 10", args: [n] }])
    ),
  );
  assert.deepEqual(groups.map((results) => results[1]!.rows[0]![0]), [10n, 20n, 30n]);
  assert.equal((await t.store.read(COUNT)).rows[0]![0], 3n);
});

test("a refused unit whose response is lost is refused", async () => {
  const { next, wrap } = faults();
  await using t = await createTable(wrap);
  await t.store.write([{ sql: "CREATE UNIQUE INDEX u ON t (a)" }, INSERT]);
  next.push("after");
  await assert.rejects(t.store.write([INSERT]), ConstraintError);
  assert.equal((await t.store.read(COUNT)).rows[0]![0], 1n);
});

test("a group that can't be written is rejected as a whole, and not retried one by one", async () => {
  const { next, wrap, requests } = faults();
  await using t = await createTable(wrap);
  next.push(...Array(1_000).fill("after"));
  const before = requests();
  const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => t.store.write([INSERT])));
  assert.ok(outcomes.every((outcome) => outcome.status === "rejected"));
  assert.ok(requests() - before < 20, `${requests() - before} requests`);
  next.length = 0;
  // All of them may be there, as the answer was lost; none is there twice.
  assert.ok((await t.store.read(COUNT)).rows[0]![0] as bigint <= 20n);
});

test("transient failures of a server are retried", async () => {
  const { next, wrap } = faults();
  await using t = await createTable(wrap);
  next.push(
    new Response("overloaded", { status: 503 }),
    new Response("slow down", { status: 429 }),
    "before",
  );
  await t.store.write([INSERT]);
  next.push(new Response("<html>", { status: 502 }), new Response("not json", { status: 200 }));
  assert.equal((await t.store.read(COUNT)).rows[0]![0], 1n);
});

test("a server that does not respond is unavailable after the timeout", async () => {
  const { next, wrap } = faults();
  await using t = await createTable(wrap);
  next.push(...Array(1_000).fill("before"));
  const clock = eagerClock();
  const impatient = connect({ ...t.place, fetch: wrap(t.place.fetch) }, { clock, timeoutMs: 3_000 });
  const start = clock.monotonic();
  await assert.rejects(
    impatient.read(COUNT),
    isUnavailable(/^Cannot read the database at 127\.0\.0\.1:\d+: connection reset/),
  );
  assert.ok(clock.monotonic() - start <= 3_000);
  await assert.rejects(impatient.write([INSERT]), isUnavailable(/^Cannot write the database at/));
  next.length = 0;
  await impatient.write([INSERT]);
  await impatient.close();
});

test("SQLITE_BUSY is retried", async () => {
  const { next, wrap } = faults();
  await using t = await createTable(wrap);
  const busy = () =>
    Response.json({
      baton: null,
      base_url: null,
      results: [{
        type: "error",
        error: { message: "SQLite error: database is locked", code: "SQLITE_BUSY" },
      }, {
        type: "ok",
        response: { type: "close" },
      }],
    });
  next.push(busy(), busy());
  assert.equal((await t.store.write([INSERT, COUNT]))[1]!.rows[0]![0], 1n);
});

test("a server whose data was replaced by an empty database is unavailable, and stays empty", async () => {
  const { url, fetch } = await shared!.createDatabase();
  const tokens = { isThere: true, commits: 1 }; // the state of an instance that has written to the former database
  const newToken = () => ids.next("req");
  const store = new RemoteStore({ url, fetch, timeoutMs: 5_000, clock: eagerClock(), newToken, tokens });
  const gone = isUnavailable(
    /: no such table: \w+; it was replaced or emptied .*; put its data back, or restart/,
  );
  await assert.rejects(store.write([INSERT]), gone);
  await assert.rejects(store.read(COUNT), gone);
  assert.deepEqual((await store.read({ sql: "SELECT name FROM sqlite_schema" })).rows, []);
  await store.close();
});

test("a wrong token is refused at once, and no token is ever in an error", async () => {
  const secret = "eyJhbGciOiJFZERTQSJ9.very-secret";
  const said = {
    401: "it refused the token; check PURSER_DB_TOKEN",
    403: "it refused the token",
  };
  for (const [status, pattern] of Object.entries(said)) {
    let requests = 0;
    const fetch: Fetch = () => {
      requests++;
      return Promise.resolve(Response.json({ error: "Unauthorized" }, { status: Number(status) }));
    };
    const store = connect({ url: `libsql://db.example.com?authToken=${secret}`, fetch }, {
      authToken: secret,
    });
    for (const attempt of [() => store.read(COUNT), () => store.write([INSERT])]) {
      const before = requests;
      await assert.rejects(attempt(), (error) => {
        isUnavailable(new RegExp(`db\\.example\\.com: .*${pattern}`))(error);
        const everything = Deno.inspect(error, { depth: 20 }) + (error as Error).stack;
        assert.ok(!everything.includes(secret), everything);
        return true;
      });
      assert.equal(requests - before, 1);
    }
    await store.close();
  }
});

test("a real server that requires a token reports it", async () => {
  await using sqld = await startSqld({ args: ["--http-auth", `basic:${btoa("purser:secret")}`] });
  const store = connect(sqld, { authToken: "wrong" });
  await assert.rejects(store.read({ sql: "SELECT 1" }), isUnavailable(/refused the token/));
  await store.close();
});

test("a hanging server is unavailable within the timeout, and the store recovers with it", async () => {
  await using sqld = await startSqld();
  const store = connect(sqld, { clock: systemClock, timeoutMs: 300 });
  await store.write([{ sql: "CREATE TABLE t (a)" }]);
  await sqld.pause();
  const outcomes = await Promise.allSettled([
    store.read(COUNT),
    store.readAll([COUNT, COUNT]),
    store.write([INSERT]),
    store.write([INSERT]),
  ]);
  for (const outcome of outcomes) {
    assert.equal(outcome.status, "rejected");
    isUnavailable(/^Cannot (read|write) the database at 127/)((outcome as PromiseRejectedResult).reason);
  }
  sqld.resume();
  const { rows } = (await store.write([INSERT, COUNT]))[1]!;
  // Those that were given up may have been written after all, but never twice.
  assert.ok(rows[0]![0] as bigint >= 1n && rows[0]![0] as bigint <= 3n, String(rows[0]![0]));
  await store.close();
});

test("units behind an unanswered commit are rejected within the same timeout", async () => {
  await using t = await createTable();
  let isHanging = true;
  const isAsked = Promise.withResolvers<void>();
  const fetch: Fetch = (input, init) => {
    if (!isHanging) return t.place.fetch(input, init);
    isAsked.resolve();
    return new Promise(() => {});
  };
  const store = connect({ ...t.place, fetch }, { clock: systemClock, timeoutMs: 300 });
  const first = store.write([INSERT]);
  await isAsked.promise;
  const waiting = [store.write([INSERT]), store.write([INSERT])];
  const refused = isUnavailable(/^Cannot write the database at/);
  await Promise.all([first, ...waiting].map((write) => assert.rejects(write, refused)));
  isHanging = false;
  await store.write([INSERT]); // which would take longer than its time behind one that hangs
  assert.equal((await t.store.read(COUNT)).rows[0]![0], 1n);
  await store.close();
});

test("a store reconnects to a server that was killed and restarted", async () => {
  await using sqld = await startSqld({ durability: "strong" });
  const store = connect(sqld, { clock: systemClock, timeoutMs: 20_000 });
  await store.write([{ sql: "CREATE TABLE t (a)" }, INSERT]);
  await sqld.kill();
  const whileDown = [store.write([INSERT]), store.read(COUNT)] as const;
  await sqld.restart();
  await whileDown[0];
  const seen = (await whileDown[1] as { rows: unknown[][] }).rows[0]![0];
  assert.ok(seen === 1n || seen === 2n);
  assert.equal((await store.read(COUNT)).rows[0]![0], 2n);
  await store.close();
});

test("eight stores that write without a pause all get their turns", async () => {
  const place = await shared!.createDatabase();
  const stores = Array.from({ length: 8 }, () => connect(place, { clock: systemClock }));
  await stores[0]!.write([{ sql: "CREATE TABLE t (a)" }]);
  // Large enough that the WAL is to be moved into the database all the time.
  const large = { sql: "INSERT INTO t VALUES (zeroblob(100000))" };
  await Promise.all(stores.map(async (store) => {
    for (let i = 0; i < 30; i++) await store.write([large]);
  }));
  assert.equal((await stores[0]!.read(COUNT)).rows[0]![0], 240n);
  for (const store of stores) await store.close();
});

test("a server that refuses connections is unavailable, by its address", async () => {
  const sqld = await startSqld();
  await sqld[Symbol.asyncDispose]();
  const store = connect({ url: sqld.url }, { timeoutMs: 500 });
  await assert.rejects(
    store.read({ sql: "SELECT 1" }),
    isUnavailable(/^Cannot read the database at 127\.0\.0\.1:/),
  );
  await store.close();
});

test("an error names the address and the cause, where the runtime's own message says neither", async () => {
  const refused = Object.assign(new Error("connect ECONNREFUSED 10.0.0.9:8080"), { code: "ECONNREFUSED" });
  // As Node reports it: of a host with several addresses, only the attempts have a message.
  const attempts = Object.assign(new AggregateError([new Error("connect ENETUNREACH ::1:8080"), refused]), {
    code: "ECONNREFUSED",
  });
  for (const cause of [refused, attempts]) {
    const fetch = () => Promise.reject(new TypeError("fetch failed", { cause }));
    const store = connect({ url: "http://db.example.com:8080", fetch }, { timeoutMs: 50 });
    const says =
      /^Cannot (read|write) the database at db\.example\.com:8080: connect ECONNREFUSED 10\.0\.0\.9:8080$/;
    await assert.rejects(store.read({ sql: "SELECT 1" }), isUnavailable(says));
    await assert.rejects(store.write([{ sql: "DELETE FROM calls" }]), isUnavailable(says));
    await store.close();
  }
});

test("a server that has answered, and then answers nothing more, is unavailable for the reason that it gave", async () => {
  const answers = [new Response("overloaded", { status: 503 })];
  const fetch = () => answers.length > 0 ? Promise.resolve(answers.pop()!) : new Promise<Response>(() => {});
  const store = connect({ url: "http://db.example.com", fetch }, { timeoutMs: 100 });
  await assert.rejects(store.read({ sql: "SELECT 1" }), isUnavailable(/503/));
  await store.close();
});

test("instances that start at once on an empty database apply each migration once", async () => {
  const place = await shared!.createDatabase();
  const open = () =>
    openStore({
      logic: databaseLogic,
      location: { kind: "remote", url: place.url },
      fetch: place.fetch,
      durability: "full",
      remoteTimeoutMs: 10_000,
      clock: systemClock,
      ids: createIds(systemClock),
    });
  const stores = await Promise.all(Array.from({ length: 6 }, open));
  const history = await stores[0]!.read({ sql: "SELECT version FROM purser_migrations ORDER BY version" });
  assert.deepEqual(history.rows, migrations.map(({ version }) => [BigInt(version)]));
  for (const store of stores) {
    await store.write([{
      sql:
        "INSERT INTO reservations (scope, at, reservation_id, worst_nano_usd, estimate_nano_usd, expires_at) VALUES ('run run', 0, ?, 1, 1, 1)",
      args: [ids.next("req")],
    }]);
  }
  assert.equal((await stores[0]!.read({ sql: "SELECT count(*) FROM reservations" })).rows[0]![0], 6n);
  for (const store of stores) await store.close();
});

test("write tokens are deleted after an hour, and those of the last hour kept", async () => {
  await using t = await createTable();
  await t.store.write([{ sql: "INSERT INTO write_tokens VALUES ('old', 1000)" }]);
  const fresh = connect(t.place);
  await fresh.write([INSERT]); // the first commit of an instance sweeps
  const { rows } = await fresh.read({ sql: "SELECT count(*), sum(token = 'old') FROM write_tokens" });
  assert.deepEqual(rows[0]!.map(Number), [3, 0]);
  await fresh.close();
});

test("the first commit of an instance may fail, and the next one works", async () => {
  const place = await shared!.createDatabase();
  const store = connect(place);
  await assert.rejects(store.write([{ sql: "INSERT INTO nowhere VALUES (1)" }]), /no such table: nowhere/);
  await store.write([{ sql: "CREATE TABLE t (a)" }, INSERT]);
  assert.equal((await store.read(COUNT)).rows[0]![0], 1n);
  await store.close();
});
