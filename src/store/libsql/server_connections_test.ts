import assert from "node:assert/strict";
import { fixedClock } from "../../kernel/clock.ts";
import { skipSqld, type Sqld, startSqld } from "../../../tests/harness/sqld.ts";
import { ServerConnections } from "./server_connections.ts";

interface Sent {
  does: "write" | "read" | "end";
  /** False for the first request of a connection. */
  hasBaton: boolean;
  closes: boolean;
}

/** Connections to a server, and the requests that they have sent. */
function connect(sqld: Sqld) {
  const clock = fixedClock(0);
  const sent: Sent[] = [];
  const connections = new ServerConnections({
    url: sqld.url,
    async fetch(request) {
      const text = await request.clone().text();
      const { baton, requests } = JSON.parse(text);
      const does = text.includes("BEGIN IMMEDIATE") ? "write" : text.includes("READONLY") ? "read" : "end";
      sent.push({ does, hasBaton: Boolean(baton), closes: requests.at(-1).type === "close" });
      return await fetch(request);
    },
    clock,
    keepsConnections: true,
  });
  const read = async (until = Infinity) =>
    assert.deepEqual((await connections.read([{ sql: "SELECT 1", args: [] }], until))[0]!.rows[0]![0], 1n);
  return { connections, clock, sent, read };
}

function test(sentence: string, body: (sqld: Sqld) => Promise<void>): void {
  Deno.test({
    name: sentence,
    ignore: skipSqld,
    async fn() {
      await using sqld = await startSqld({ durability: "strong" });
      await body(sqld);
    },
  });
}

test("commits share a connection of the server, and open a new one where it is gone", async (sqld) => {
  const { connections, sent } = connect(sqld);
  const insert = { sql: "INSERT INTO t VALUES (1)", args: [] };
  await connections.commit([{ sql: "CREATE TABLE t (a)", args: [] }]);
  await connections.commit([insert]);
  await assert.rejects(
    connections.commit([{ sql: "INSERT INTO nowhere VALUES (1)", args: [] }]),
    /no such table/,
  );
  await connections.commit([insert]);
  assert.deepEqual(sent.map(({ hasBaton }) => hasBaton), [false, true, true, true]);
  await sqld.kill();
  await sqld.restart();
  const [, counted] = await connections.commit([insert, { sql: "SELECT count(*) FROM t", args: [] }]);
  assert.equal(counted!.rows[0]![0], 3n);
  assert.equal(sent.at(-1)!.hasBaton, false);
  await connections.close();
});

test("reads that come often share a connection; a single one closes its own in its request", async (sqld) => {
  const { connections, sent, read } = connect(sqld);
  for (let i = 0; i < 7; i++) await read();
  assert.deepEqual(sent.map(({ closes }) => closes), [true, true, true, true, false, false, false]);
  assert.deepEqual(sent.map(({ hasBaton }) => hasBaton), [false, false, false, false, false, true, true]);
  await Promise.all(Array.from({ length: 60 }, read));
  assert.equal(sent.filter(({ does }) => does === "read").length, 67);
  await sqld.kill();
  await sqld.restart();
  await read();
  await connections.close();
});

test("reads that come rarely keep no connection", async (sqld) => {
  const { connections, clock, sent, read } = connect(sqld);
  for (let i = 0; i < 6; i++) {
    await read();
    clock.advance(500);
  }
  assert.deepEqual(sent, Array(6).fill({ does: "read", hasBaton: false, closes: true }));
  await connections.close();
});

Deno.test("a read that has waited past its deadline is never sent, nor one that waits when all are closed", async () => {
  const clock = fixedClock(0);
  const unanswered: ((reason: Error) => void)[] = [];
  const connections = new ServerConnections({
    url: "http://127.0.0.1:1",
    fetch: () => new Promise((_, reject) => unanswered.push(reject)),
    clock,
    keepsConnections: false,
  });
  const read = (until: number) => connections.read([{ sql: "SELECT 1", args: [] }], until);
  const failed = (reads: Promise<unknown>[]) =>
    Promise.all(reads.map((one) => one.then(() => "answered", (error) => error.name)));
  const first = failed(Array.from({ length: 20 }, () => read(1_000)));
  const waiting = failed(Array.from({ length: 50 }, () => read(1_000)));
  const later = failed([read(9_000), read(9_000)]);
  const sent = () => new Promise((resolve) => setTimeout(resolve, 0));
  await sent();
  assert.equal(unanswered.length, 20);
  clock.advance(1_000);
  unanswered.shift()!(new TypeError("connection reset"));
  assert.deepEqual(new Set(await waiting), new Set(["TimeoutError"]));
  await sent();
  assert.equal(unanswered.length, 20, "the first of the later ones");
  await connections.close();
  for (const fail of unanswered) fail(new TypeError("connection reset"));
  assert.equal((await later).includes("answered"), false);
  assert.equal(unanswered.length, 20);
  await first;
});
