import assert from "node:assert/strict";
import { fixedClock, systemClock } from "../src/kernel/clock.ts";
import { watchServerDurability } from "../src/service/mod.ts";
import type { Statement, Store } from "../src/store/mod.ts";
import { leaveDelivery, until } from "./harness/deliveries.ts";
import { recordingChannel } from "./harness/recording_channel.ts";
import { skipSqld, startSqld } from "./harness/sqld.ts";
import { type Check, check, SCHEMA, WELL, withChannels } from "./harness/doctor.ts";
import { openTestPurser } from "./harness/test_purser.ts";

const MINUTE = 60_000;

/** The time after which commits go over a new connection, which has the server's present mode. */
const CONNECTION_LIFE_MS = MINUTE + 1;
const DAY = 86_400_000;

Deno.test({
  name: "on a libSQL server, leases are judged by the server's clock, not by this machine's",
  ignore: skipSqld,
  async fn() {
    await using sqld = await startSqld();
    const { url, fetch } = await sqld.createDatabase();
    await using purser = await withChannels([recordingChannel("ops")], { config: { dbUrl: url }, fetch });
    const due = { due_at: purser.clock.now() - DAY };
    await leaveDelivery(purser.core, "1", { ...due, lease_until: Date.now() + MINUTE, leased_by: "alive" });
    assert.equal((await check(purser, "waiting deliveries")).status, "ok");
    await purser.core.store.write([{ sql: "UPDATE deliveries SET lease_until = ?", args: [Date.now() - 1] }]);
    assert.equal((await check(purser, "waiting deliveries")).status, "failed");
  },
});

/** A Purser over a real server's database, with its own clock `aheadMs` ahead of that server's. */
async function clockOf(aheadMs: number): Promise<Check> {
  await using sqld = await startSqld();
  const { url, fetch } = await sqld.createDatabase();
  const clock = { ...systemClock, now: () => Date.now() + aheadMs };
  await using purser = await openTestPurser({ config: { dbUrl: url }, fetch, clock });
  return await check(purser, "clock");
}

Deno.test({
  name: "a clock that differs from the remote database's is a warning with the difference",
  ignore: skipSqld,
  async fn() {
    assert.deepEqual(await clockOf(0), { name: "clock", ...WELL, detail: "within 5 s of the database's" });
    const { status, detail, advice } = await clockOf(-90_000);
    assert.deepEqual([status, detail], ["warning", "90 s behind the database's; at most 5 s is fine"]);
    assert.match(advice!, /NTP/);
  },
});

Deno.test({
  name: "a libSQL server's durability is reported as that of the present commits",
  ignore: skipSqld,
  async fn() {
    await using sqld = await startSqld();
    const { name, url, fetch } = await sqld.createDatabase();
    await using purser = await openTestPurser({ config: { dbUrl: url }, fetch });
    const path = `/v1/namespaces/${name}/config`;
    const modes = { strong: "ok", relaxed: "warning", extra: "ok", off: "warning" };
    for (const [durability_mode, status] of Object.entries(modes)) {
      await sqld.admin(path, { ...await sqld.admin(path) as object, durability_mode });
      purser.clock.advance(CONNECTION_LIFE_MS);
      const { advice, ...found } = await check(purser, "database");
      const said = status === "ok"
        ? `libSQL server, schema version ${SCHEMA}, durability strong: every commit is on its disk`
        : `libSQL server, schema version ${SCHEMA}; it is not in its strong durability mode, so a power cut there may lose the last commits`;
      assert.deepEqual(found, { name: "database", status, detail: said }, durability_mode);
      assert.equal(advice !== null, status === "warning");
    }
  },
});

Deno.test({
  name: "a libSQL server that doesn't report its durability is never taken for a strong one",
  ignore: skipSqld,
  async fn() {
    await using sqld = await startSqld({ durability: "strong" });
    const { url, fetch } = await sqld.createDatabase();
    await using purser = await openTestPurser({ config: { dbUrl: url }, fetch });
    const { store } = purser.core;
    const write = store.write.bind(store);
    const isQuestion = (sql: string) => sql.includes("pragma_synchronous");
    for (const answer of [() => Promise.resolve([]), () => Promise.reject(new Error("not allowed"))]) {
      store.write = (statements) =>
        statements.some(({ sql }) => isQuestion(sql)) ? answer() : write(statements);
      const { status, detail, advice } = await check(purser, "database");
      assert.equal(status, "warning");
      assert.equal(
        detail,
        `libSQL server, schema version ${SCHEMA}; it doesn't report how durable a commit is`,
      );
      assert.match(advice!, /GET \/v1\/namespaces\/NAME\/config/);
    }
  },
});

Deno.test({
  name: "a libSQL server whose connections checkpoint when they commit is a warning with the remedy",
  ignore: skipSqld,
  async fn() {
    await using sqld = await startSqld({ durability: "strong", checkpoints: "on commit" });
    await using purser = await openTestPurser({ config: { dbUrl: sqld.url } });
    const { status, detail, advice } = await check(purser, "database");
    assert.equal(status, "warning");
    assert.match(detail, /may hang when several processes write/);
    assert.match(advice!, /--checkpoint-interval-s 10/);
    await watchServerDurability({ ...purser.core, clock: fixedClock("2026-11-21T09:30:00.000Z") });
    assert.match(purser.logs.at(-1)!.message, /^Checkpoints of the libSQL server: /);
  },
});

Deno.test({
  name: "a server warns when the libSQL server under it leaves its strong mode, once each time",
  ignore: skipSqld,
  async fn() {
    await using sqld = await startSqld({ durability: "strong" });
    const { name, url, fetch } = await sqld.createDatabase();
    await using purser = await openTestPurser({ config: { dbUrl: url }, fetch });
    const clock = fixedClock("2026-11-21T09:30:00.000Z");
    const asked: Promise<unknown>[] = [];
    const store: Store = Object.assign(Object.create(purser.core.store), {
      kind: "remote",
      write: (statements: Statement[]) => {
        const answer = purser.core.store.write(statements);
        asked.push(answer);
        return answer;
      },
    });
    const path = `/v1/namespaces/${name}/config`;
    const become = async (durability_mode: string) => {
      await sqld.admin(path, { ...await sqld.admin(path) as object, durability_mode });
      const before = asked.length;
      purser.clock.advance(CONNECTION_LIFE_MS);
      clock.advance(300_000);
      await until(() => asked.length > before);
      await asked.at(-1);
      for (let turn = 0; turn < 10; turn++) await Promise.resolve();
    };
    await watchServerDurability({ ...purser.core, store, clock });
    const warnings = () =>
      purser.logs.filter(({ message }) => message.startsWith("Durability of the libSQL server")).length;
    assert.equal(warnings(), 0);
    for (const [mode, count] of [["relaxed", 1], ["relaxed", 1], ["strong", 1], ["relaxed", 2]] as const) {
      await become(mode);
      await until(() => warnings() === count);
    }
  },
});
