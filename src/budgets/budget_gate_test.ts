import assert from "node:assert/strict";
import { setImmediate } from "node:timers";
import { migratedMemory } from "../../tests/harness/migrated_memory.ts";
import { fixedClock } from "../kernel/clock.ts";
import { databaseLogic } from "../service/parts.ts";
import { recordCalls } from "../ledger/mod.ts";
import { openStore, type Statement, type Store } from "../store/mod.ts";
import { countingIds } from "../kernel/ids.ts";
import { modelCall } from "../../tests/harness/model_calls.ts";
import { createBudgetGate, type Grant, RENEW_MS } from "./budget_gate.ts";
import { settleReservations } from "./reservations/reservations.ts";
import { KnownBudgets } from "./known/mod.ts";
import { sweepReservations } from "./reservations/reservations.ts";
import type { CallBounds, Refusal } from "./decide_call.ts";

const RUN = "run_1";
const BUDGET = { limitNanoUsd: 100n, mode: "stop" as const };

function call(estimateNanoUsd: bigint, worst?: bigint): CallBounds {
  return {
    estimateNanoUsd,
    isUnpriced: false,
    ...(worst !== undefined && { worst: { costNanoUsd: worst } }),
  };
}

/** A gate over a database in memory that counts its commits. */
async function open() {
  const ids = countingIds();
  const clock = fixedClock("2026-11-21T09:30:00.000Z");
  const store = await openStore({
    location: { kind: "memory" },
    durability: "normal",
    logic: databaseLogic,
    remoteTimeoutMs: 1_000,
    sqlite: await migratedMemory(),
    clock,
    ids,
  });
  let writes = 0;
  const counted: Store = {
    ...store,
    kind: store.kind,
    read: (statement) => store.read(statement),
    readAll: (statements) => store.readAll(statements),
    write(statements) {
      writes++;
      return store.write(statements);
    },
    writeInSet(writer, item) {
      writes++;
      return store.writeInSet(writer, item);
    },
    close: () => store.close(),
  };
  const known = new KnownBudgets({ store, clock });
  const gate = createBudgetGate({
    store: counted,
    clock,
    instanceId: "inst_1",
    newId: ids.next,
    known,
  });
  return {
    gate,
    known,
    clock,
    instanceId: "inst_1",
    store,
    writes: () => writes,
    /** Books a call as `bookCall` does. */
    async book(grant: Grant, costNanoUsd: bigint) {
      const record = recordCalls([
        modelCall({ callId: ids.next("call"), at: clock.now(), runId: RUN, costNanoUsd }),
      ]);
      await store.write([...record, ...settleReservations([grant])]);
      gate.booked(grant);
    },
    async admit(
      more: {
        estimate?: bigint;
        worst?: bigint;
        signal?: AbortSignal;
        runId?: string | null;
        budget?: null;
      } = {},
    ) {
      const { estimate = 10n, worst, ...rest } = more;
      const scopes = { runId: RUN, agentId: "agent", sessionId: null, keyId: null, budget: BUDGET };
      return await gate.admit({ ...scopes, bound: () => call(estimate, worst), ...rest });
    },
    async reserved() {
      const { rows } = await store.read({
        sql: "SELECT coalesce(sum(estimate_nano_usd), 0) FROM reservations",
      });
      return rows[0]![0] as bigint;
    },
    /** The sum of the bounds that the budget over all calls holds. */
    async held() {
      const { rows } = await store.read({
        sql: "SELECT coalesce(sum(worst_nano_usd), 0) FROM reservations WHERE scope = ''",
      });
      return rows[0]![0] as bigint;
    },
    /** Lets the time pass for calls that wait. */
    async pass(seconds: number) {
      for (; seconds > 0; seconds--) {
        clock.advance(1_000);
        for (let i = 0; i < 5; i++) await new Promise<void>((resolve) => setImmediate(resolve));
      }
    },
    run: (sql: string) => store.write([{ sql }]),
    write: (statements: Statement[]) => store.write(statements),
    [Symbol.asyncDispose]: () => store.close(),
  };
}

/** Follows a call that may have to wait. */
function follow<T>(admission: Promise<T>) {
  const followed = { admission, isOver: false };
  void admission.finally(() => followed.isOver = true);
  return followed;
}

const budgetOf = (per: string, limitNanoUsd: number, mode = "stop") =>
  `INSERT INTO budgets (budget_id, name, limit_nano_usd, per, scope, mode, action, warn_at, allow_unpriced, enabled,
  created_at, updated_at) VALUES ('bud_1', 'B', ${limitNanoUsd}, '${per}', '', '${mode}', 'refuse', '[]', 0, 1, 0, 0)`;

function granted(admission: Awaited<ReturnType<Awaited<ReturnType<typeof open>>["admit"]>>): Grant {
  assert.ok(admission.go && admission.grant);
  return admission.grant;
}

Deno.test("createBudgetGate() lets a call wait for the run's own budget as long as it takes, and 30 seconds for a budget per run", async () => {
  await using t = await open();
  const first = granted(await t.admit({ estimate: 100n }));
  const second = follow(t.admit());
  await t.pass(60);
  assert.equal(second.isOver, false);
  await t.gate.release(first);
  await t.gate.release(granted(await second.admission));
  await t.run(budgetOf("run", 100));
  t.known.changed();
  granted(await t.admit({ budget: null, estimate: 100n }));
  const third = follow(t.admit({ budget: null }));
  await t.pass(35);
  const refused = await third.admission;
  assert.ok(!refused.go);
  assert.deepEqual(refused.refusals.map(({ reason }) => reason), ["held"]);
});

Deno.test("createBudgetGate() lets a call wait 30 seconds for others, however long it has waited for its own run", async () => {
  await using t = await open();
  await t.run(budgetOf("day", 150));
  const first = granted(await t.admit({ estimate: 100n }));
  const second = follow(t.admit());
  await t.pass(60);
  granted(await t.admit({ runId: "run_2", budget: null, estimate: 160n }));
  await t.gate.release(first);
  await t.pass(25);
  assert.equal(second.isOver, false);
  await t.pass(10);
  const refused = await second.admission;
  assert.ok(!refused.go);
  assert.deepEqual(refused.refusals.map(({ reason, standing }) => [reason, standing.per]), [["held", "day"]]);
});

Deno.test("createBudgetGate() does not count a reservation that has expired", async () => {
  await using t = await open();
  granted(await t.admit({ estimate: 100n }));
  await t.run("UPDATE reservations SET expires_at = 1");
  granted(await t.admit({ estimate: 100n }));
});

Deno.test("createBudgetGate() renews the reservation of a long call, of no short one, and of none that was dropped", async () => {
  await using t = await open();
  const left = async () =>
    (await t.store.read({
      sql: "SELECT count(*) FROM reservations WHERE expires_at > unixepoch('subsec') * 1000 + 50000",
    })).rows[0]![0];
  const age = () => t.run("UPDATE reservations SET expires_at = 1");
  const long = granted(await t.admit({ estimate: 40n }));
  await t.gate.renew();
  assert.equal(t.writes(), 1, "the call has just begun");
  for (let passed = 0; passed < 20 * 60_000; passed += RENEW_MS) {
    await age();
    t.clock.advance(RENEW_MS);
    await t.gate.renew();
    assert.equal(await left(), 1n);
  }
  const writes = t.writes();
  granted(await t.admit({ estimate: 50n }));
  await t.gate.renew();
  assert.equal(t.writes(), writes + 1, "another caller has just renewed");
  await t.gate.release(long);
  t.clock.advance(3 * 3_600_000);
  await age();
  await t.gate.renew();
  assert.equal(await left(), 0n, "a call of three hours was dropped by its caller");
});

Deno.test("createBudgetGate() does not renew what it could not release, and releases it later", async () => {
  await using t = await open();
  const grant = granted(await t.admit({ estimate: 100n }));
  const { write } = t.store;
  t.store.write = () => Promise.reject(new Error("the disk is full"));
  await assert.rejects(t.gate.release(grant), /the disk is full/);
  t.clock.advance(RENEW_MS);
  await assert.rejects(t.gate.renew(), /the disk is full/);
  t.store.write = write;
  assert.equal(await t.reserved(), 100n);
  await t.gate.renew();
  assert.equal(await t.reserved(), 0n);
});

Deno.test("createBudgetGate() frees a reservation whose commit was reported as failed, also where that came after it was freed", async () => {
  await using t = await open();
  await t.run(budgetOf("day", 100, "strict"));
  t.known.changed();
  const { writeInSet } = t.store;
  let commit = () => Promise.resolve<unknown>(undefined);
  t.store.writeInSet = (writer, item) => {
    commit = () => writeInSet.call(t.store, writer, item);
    return Promise.reject(new Error("no answer in time"));
  };
  await assert.rejects(t.admit({ runId: null, budget: null, worst: 60n }), /no answer in time/);
  t.store.writeInSet = writeInSet;
  t.clock.advance(RENEW_MS);
  await t.gate.renew();
  await commit();
  assert.equal(await t.held(), 60n, "it counts, and would for the whole day");
  t.clock.advance(RENEW_MS);
  await t.gate.renew();
  assert.equal(await t.held(), 0n);
  assert.ok((await t.admit({ runId: null, budget: null, worst: 100n })).go);
});

Deno.test("createBudgetGate() keeps what a strict budget reserves for a sent call beyond its lease, and what stop reserves not", async () => {
  await using t = await open();
  await t.run(budgetOf("day", 100, "strict"));
  t.known.changed();
  const ask = (worst: bigint) => t.admit({ runId: null, budget: null, estimate: 10n, worst });
  const grant = granted(await ask(60n));
  await t.run("UPDATE reservations SET expires_at = 1"); // its process was killed
  await sweepReservations(t);
  const refused = await ask(41n);
  assert.ok(!refused.go, "it is refused at once: no call is in progress that could end");
  const [{ standing, reason }] = refused.refusals as [Refusal];
  assert.equal(reason, "would_overshoot");
  const { estimatedNanoUsd, worstNanoUsd, lostNanoUsd } = standing;
  assert.deepEqual([estimatedNanoUsd, worstNanoUsd, lostNanoUsd], [0n, 0n, 60n]);
  assert.ok((await ask(40n)).go);
  await t.book(grant, 5n);
  assert.equal(await t.held(), 40n, "its booking frees it, however late");
});

for (const mode of ["stop", "strict"] as const) {
  Deno.test(`createBudgetGate() ${mode === "strict" ? "holds" : "frees"} what a ${mode} budget reserves for a call that is neither booked nor free`, async () => {
    await using t = await open();
    await t.run(budgetOf("day", 100, mode));
    t.known.changed();
    const grant = granted(await t.admit({ runId: RUN, budget: null, estimate: 10n, worst: 60n }));
    await t.gate.hold(grant);
    assert.deepEqual([await t.reserved(), await t.held()], mode === "strict" ? [0n, 60n] : [0n, 0n]);
    await t.write(t.gate.endRun(RUN));
    assert.equal(await t.held(), mode === "strict" ? 60n : 0n, "also beyond the end of its run");
  });
}

Deno.test("createBudgetGate() leaves the reservation of a call in the spool to its booking, beyond the end of its run", async () => {
  await using t = await open();
  await t.run(budgetOf("day", 100, "strict"));
  t.known.changed();
  const spooled = granted(await t.admit({ budget: null, worst: 60n }));
  granted(await t.admit({ budget: null, worst: 40n })); // reserved, and never sent
  t.gate.keep(spooled);
  await t.write(t.gate.endRun(RUN));
  assert.equal(await t.held(), 60n);
  await t.book(spooled, 5n);
  assert.equal(await t.held(), 0n);
});

Deno.test("createBudgetGate() keeps a lost call charged to the budget of its run until that ends, whatever its lease was", async () => {
  await using t = await open();
  const grant = granted(await t.admit({ estimate: 40n }));
  grant.lostNanoUsd = 30n;
  await t.write(settleReservations([grant]));
  t.gate.booked(grant);
  const held = async () =>
    (await t.store.read({ sql: "SELECT worst_nano_usd, is_lost FROM reservations" })).rows;
  for (const pass of [() => t.gate.release(grant), () => sweepReservations(t), () => t.gate.renew()]) {
    t.clock.advance(30 * 86_400_000);
    if (pass.name !== "") await pass();
    assert.deepEqual(await held(), [[30n, 1n]]);
  }
  await t.write(t.gate.endRun(RUN));
  assert.deepEqual(await held(), []);
});

Deno.test("sweepReservations() removes what has expired, and nothing else", async () => {
  await using t = await open();
  granted(await t.admit({ estimate: 40n }));
  await t.run("UPDATE reservations SET expires_at = 1");
  const kept = granted(await t.admit({ estimate: 50n }));
  for (let i = 0; i < 2; i++) await sweepReservations(t);
  const { rows } = await t.store.read({ sql: "SELECT reservation_id FROM reservations" });
  assert.deepEqual(rows, [[kept.reservationId]]);
});

Deno.test("createBudgetGate() wakes up from waiting when room is made", async () => {
  await using t = await open();
  const first = granted(await t.admit({ estimate: 100n }));
  let isIn = false;
  const second = t.admit().then((admission) => {
    isIn = true;
    return admission;
  });
  const wait = async () => {
    for (let i = 0; i < 10; i++) {
      t.clock.advance(1_000);
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
  };
  await wait();
  assert.equal(isIn, false);
  await t.gate.release(first);
  await wait();
  granted(await second);
});

/** Adds a budget over all calls, as another process would. */
function addBudget(t: { run(sql: string): unknown }, per: string, limit: number, allowUnpriced = false) {
  return t.run(
    `INSERT INTO budgets (budget_id, name, limit_nano_usd, per, scope, mode, action, warn_at, allow_unpriced,
    enabled, created_at, updated_at) VALUES ('bud_1', 'b', ${limit}, '${per}', '', 'strict', 'refuse', '[]',
    ${Number(allowUnpriced)}, 1, 0, 0)`,
  );
}

const SCOPES = { runId: RUN, agentId: "agent", sessionId: null, keyId: null, budget: null };

Deno.test("createBudgetGate() lets an unpriced call in that a strict budget allows, whatever others hold", async () => {
  await using t = await open();
  await addBudget(t, "day", 100, true);
  const worst = { costNanoUsd: 90n };
  assert.ok(
    (await t.gate.admit({ ...SCOPES, bound: () => ({ estimateNanoUsd: 1n, isUnpriced: false, worst }) })).go,
  );
  await t.run("UPDATE budgets SET limit_nano_usd = 50");
  const unpriced = { estimateNanoUsd: 0n, isUnpriced: true };
  assert.ok((await t.gate.admit({ ...SCOPES, bound: () => unpriced })).go);
});
