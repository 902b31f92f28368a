import assert from "node:assert/strict";
import { join } from "node:path";
import { bookLeftCalls } from "../src/calls/mod.ts";
import { readLedgerId } from "../src/calls/spool/mod.ts";
import { createCallSpool, folderOf } from "../src/calls/spool/call_spool.ts";
import { PurserError } from "../src/kernel/errors.ts";
import { silentLog } from "../src/kernel/log.ts";
import { ConstraintError } from "../src/store/mod.ts";
import { until } from "./harness/deliveries.ts";
import { inDirectory } from "./harness/in_directory.ts";
import { modelCall } from "./harness/model_calls.ts";
import { scrape } from "./harness/scrape.ts";
import { openTestPurser, rejection, type TestPurser } from "./harness/test_purser.ts";

/** Calls that wait in the spool of a service: how they get into the ledger, and who sees them. */

const open = (path: string) => openTestPurser({ sqlite: undefined, config: { dbUrl: path } });

/** Leaves a call, as a process does that ends while it can't be booked. */
async function leaveCall(path: string, callId: string, ledger: string | null): Promise<void> {
  const folder = (await folderOf({ kind: "file", path }, undefined))!;
  const readLedger = () => Promise.resolve(ledger);
  const spool = createCallSpool({ folder, log: silentLog, scrub: (text) => text, readLedger });
  await spool.write({ call: modelCall({ callId, agentId: "left" }), grant: undefined });
  await spool.close();
}

async function databaseCheck(purser: TestPurser) {
  const { body } = await purser.api("GET", "/doctor");
  return body.find(({ name }: { name: string }) => name === "database");
}

const callsOf = async (purser: TestPurser) =>
  (await purser.core.store.read({ sql: "SELECT call_id FROM calls" })).rows.map(([id]) => id);

Deno.test("a call that a process has left is booked when the next opens its database, and not by another database there", () =>
  inDirectory(async (directory) => {
    const path = join(directory, "purser.db");
    let ledger: string | null;
    {
      await using purser = await open(path);
      ledger = await readLedgerId(purser.core.store);
      assert.equal((await databaseCheck(purser)).status, "ok");
    }
    await leaveCall(path, "call_own", ledger);
    {
      await using purser = await open(path);
      assert.deepEqual(await callsOf(purser), ["call_own"]);
      assert.equal((await databaseCheck(purser)).status, "ok");
      assert.deepEqual([...Deno.readDirSync(`${path}-spool`)].length, 0);
    }
    await leaveCall(path, "call_of_another", "1");
    await using purser = await open(path);
    assert.deepEqual(await callsOf(purser), ["call_own"]);
    assert.ok(purser.logs.some(({ message }) => /calls of another database/.test(message)));
    const said = () => purser.logs.filter(({ message }) => /are booked$/.test(message)).length;
    await leaveCall(path, "call_own", ledger);
    await bookLeftCalls(purser.core);
    assert.equal(said(), 0, "it is in the ledger since before");
    const { status, detail, advice } = await databaseCheck(purser);
    assert.equal(status, "warning");
    assert.match(detail, /; a call waits in .*purser\.db-spool to be booked$/);
    assert.match(advice, /the log says why/);
  }));

Deno.test("a scrape shows the calls of its process that wait, and the doctor counts them", () =>
  inDirectory(async (directory) => {
    const path = join(directory, "purser.db");
    await using purser = await open(path);
    const waiting = async () => (await scrape(purser)).values.purser_spooled_calls_waiting;
    assert.equal(await waiting(), "0");
    const kept = await Promise.all(
      ["call_1", "call_2"].map((callId) =>
        purser.core.callSpool.write({ call: modelCall({ callId }), grant: undefined })
      ),
    );
    assert.equal(await waiting(), "2");
    assert.match((await databaseCheck(purser)).detail, /; 2 calls wait in /);
    for (const one of kept) await one.done();
    assert.equal(await waiting(), "0");
    assert.equal((await databaseCheck(purser)).status, "ok");
  }));

/** The fates of the first and the second booking of a call of a run; further ones are made. */
const FATES: Readonly<Record<string, readonly ("committed" | "failed" | "refused" | "made")[]>> = {
  "its commit is not acknowledged": ["committed", "made"],
  "its commit fails once": ["failed", "made"],
  "its commit fails, and is refused at the end of the run": ["failed", "refused"],
  "its commit fails, also at the end of the run": ["failed", "failed"],
  "its commit is refused": ["refused"],
};

for (const [name, fates] of Object.entries(FATES)) {
  Deno.test(`a call of a run is booked once, and holds nothing then, if ${name}`, () =>
    inDirectory(async (directory) => {
      await using purser = await open(join(directory, "purser.db"));
      const { store } = purser.core;
      const limits = { name: "Day", limit_usd: 1, per: "day", mode: "strict" };
      const { body: { budget_id } } = await purser.api("POST", "/budgets", limits);
      const writeInSet = store.writeInSet.bind(store);
      const left = [...fates];
      store.writeInSet = async (writer, item) => {
        const fate = "calls" in (item as object) ? left.shift() : undefined;
        if (fate === "refused") throw new ConstraintError("a trigger refuses it");
        const result = fate === "failed" ? undefined : await writeInSet(writer, item);
        if (fate !== "failed" && fate !== "committed") return result!;
        throw new PurserError("unavailable", "Cannot write: the disk is full");
      };
      await rejection(purser.run({}, "Hello", { sessionId: "s1" }));
      assert.deepEqual(left, []);
      const spool = purser.core.callSpool;
      await until(async () => {
        purser.clock.advance(1_000);
        return spool.kept().length === 0 &&
          (await purser.api("GET", "/sessions/s1")).body.status !== "running";
      });
      const { body } = await purser.api("GET", "/sessions/s1");
      assert.equal(body.token_usage.model_calls, 1);
      const { rows } = await store.read({ sql: "SELECT steps FROM runs" });
      assert.deepEqual([(await callsOf(purser)).length, rows], [1, [[1n]]]);
      const { reserved_usd, held_usd, holds } = (await purser.api("GET", `/budgets/${budget_id}`)).body;
      assert.deepEqual([reserved_usd, held_usd, holds], [0, 0, []]);
    }));
}
