import assert from "node:assert/strict";
import {
  type Claim,
  claimKey,
  type IdempotencyContext,
  type KeyedRequest,
  releaseClaim,
  settleClaim,
  sweepIdempotencyKeys,
} from "../src/keys/idempotency/mod.ts";
import { createRule } from "../src/alerts/mod.ts";
import { DAY_MS, fixedClock } from "../src/kernel/clock.ts";
import { PurserError } from "../src/kernel/errors.ts";
import { createIds } from "../src/kernel/ids.ts";
import { importSession } from "../src/snapshots/mod.ts";
import { ConstraintError, type Store } from "../src/store/mod.ts";
import { dialectKinds } from "./harness/databases.ts";
import { inDirectory } from "./harness/in_directory.ts";
import { snapshotOf } from "./harness/snapshots.ts";
import { startStoreProcess } from "./harness/store_process.ts";
import { openTestPurser, rejection } from "./harness/test_purser.ts";

/** The claims of idempotency keys over every kind of database, and what faults leave of them. */

const RULE = { name: "Daily", threshold_type: "per_day_usd", threshold_usd: 1, severity: "info" } as const;
const keyed = (key: string) => ({ "idempotency-key": key });

const countOf = async (store: Pick<Store, "read">, table: string) =>
  Number((await store.read({ sql: `SELECT count(*) FROM ${table}` })).rows[0]![0]);

const request = (more: Partial<KeyedRequest> = {}): KeyedRequest => ({
  owner: "",
  operation: "POST /alerts/rules",
  key: "k",
  fingerprint: "body",
  ...more,
});

const heldBy = (claimed: Awaited<ReturnType<typeof claimKey>>): Claim => {
  assert.ok("claim" in claimed, JSON.stringify(claimed));
  return claimed.claim;
};

const answer = (text: string) => ({ sql: "?1", args: [JSON.stringify(text)] });

for (const { name, ignore, create } of dialectKinds()) {
  const test = (
    sentence: string,
    body: (ctx: IdempotencyContext, other: IdempotencyContext) => Promise<void>,
  ) =>
    Deno.test({
      name: `${name}: ${sentence}`,
      ignore,
      async fn() {
        await using database = await create();
        const clock = fixedClock(Date.now());
        const ids = createIds(clock);
        const store = await database.open();
        const context = (store: Store) => ({ store, clock, ids, instanceId: ids.next("inst") });
        await body(context(store), context(name === "memory" ? store : await database.open()));
      },
    });

  test("of requests at once under one key one claims it, over several instances", async (one, two) => {
    for (let round = 0; round < 3; round++) {
      const outcomes = await Promise.allSettled(
        Array.from({ length: 8 }, (_, n) => claimKey(n % 2 === 0 ? one : two, request({ key: `k${round}` }))),
      );
      const refused = outcomes.filter((outcome) => outcome.status === "rejected");
      assert.equal(refused.length, 7);
      for (const { reason } of refused) {
        assert.deepEqual([reason.code, reason.details], ["conflict", { retry_after_seconds: 1 }]);
      }
    }
  });

  test("an answer is committed with its effect, and is there for every instance", async (one, two) => {
    const claim = heldBy(await claimKey(one, request()));
    await one.store.write(settleClaim(claim, answer("done")));
    assert.deepEqual(await claimKey(two, request()), { result: '"done"' });
    assert.equal(
      (await rejection(claimKey(two, request({ fingerprint: "other" })))).code,
      "idempotency_mismatch",
    );
    assert.ok("claim" in await claimKey(two, request({ owner: "key_1" })));
    assert.ok("claim" in await claimKey(two, request({ operation: "POST /other" })));
  });

  test("an effect whose claim was lost to another request is refused whole", async (one, two) => {
    const frozen = heldBy(await claimKey(one, request()));
    await releaseClaim(one, frozen, new PurserError("unavailable", "The database has not answered"));
    assert.equal(
      (await rejection(claimKey(two, request({ fingerprint: "other" })))).code,
      "idempotency_mismatch",
    );
    const later = heldBy(await claimKey(two, request()));
    const effect = (claim: Claim, n: number) => [
      { sql: "INSERT INTO tallies VALUES ('test', ?, '', 1)", args: [String(n)] },
      ...settleClaim(claim, answer(`effect ${n}`)),
    ];
    await assert.rejects(one.store.write(effect(frozen, 1)), ConstraintError);
    await two.store.write(effect(later, 2));
    await assert.rejects(two.store.write(effect(later, 3)), ConstraintError, "and none takes effect twice");
    assert.deepEqual(await claimKey(one, request()), { result: '"effect 2"' });
    const { rows } = await one.store.read({ sql: "SELECT name FROM tallies WHERE what = 'test'" });
    assert.deepEqual(rows, [["2"]]);
  });

  test(
    "a claim whose instance is gone is replaced at once, one that has changed nothing for a minute too",
    async (one, two) => {
      const first = heldBy(await claimKey(one, request({ runId: "run_1" })));
      assert.equal((await rejection(claimKey(two, request({ runId: "run_2" })))).code, "conflict");
      const knowing: IdempotencyContext = {
        ...two,
        store: new Proxy(two.store, {
          get: (store, field) =>
            field === "instances"
              ? {
                ...store.instances,
                hold: () => Promise.resolve(),
                isGone: (id: string) => Promise.resolve(id === one.instanceId),
              }
              : typeof Reflect.get(store, field) === "function"
              ? Reflect.get(store, field).bind(store)
              : Reflect.get(store, field),
        }),
      };
      const second = heldBy(await claimKey(knowing, request({ runId: "run_2" })));
      assert.notEqual(second.holder, first.holder);
      assert.equal(second.runId, "run_1", "under one key no two runs can start");
      assert.equal((await rejection(claimKey(two, request()))).code, "conflict", "its instance lives");
      await two.store.write([{ sql: "UPDATE idempotency_keys SET lease_until = lease_until - 60000" }]);
      assert.equal(heldBy(await claimKey(two, request())).runId, "run_1");
    },
  );

  test("a key is kept for a day, and swept then", async (one, two) => {
    const claim = heldBy(await claimKey(one, request()));
    await one.store.write(settleClaim(claim, answer("done")));
    await claimKey(one, request({ key: "young" }));
    const age = (key: string, ms: number) =>
      one.store.write([{
        sql: "UPDATE idempotency_keys SET created_at = created_at - ?2 WHERE idempotency_key = ?1",
        args: [key, ms],
      }]);
    await age("k", DAY_MS - 60_000);
    await sweepIdempotencyKeys(one);
    assert.deepEqual(await claimKey(two, request()), { result: '"done"' });
    await age("k", 60_000);
    assert.ok(
      "claim" in await claimKey(two, request({ fingerprint: "new" })),
      "expired, though not swept yet",
    );
    await age("k", DAY_MS);
    await sweepIdempotencyKeys(one);
    const { rows } = await one.store.read({ sql: "SELECT idempotency_key FROM idempotency_keys" });
    assert.deepEqual(rows, [["young"]]);
  });
}

Deno.test("over a file, the claim of a process that was killed is replaced at once", async () => {
  await inDirectory(async (directory) => {
    const path = `${directory}/purser.db`;
    const clock = fixedClock(Date.now());
    await using purser = await openTestPurser({ clock, ids: createIds(clock), config: { dbUrl: path } });
    const instanceId = "inst_01k9qv3v5e8r6t2y4w7x9z1a3b";
    const other = startStoreProcess({ do: "hold_instance", path, instanceId });
    await other.next();
    await claimKey(purser.core, request());
    await purser.core.store.write([{
      sql: "UPDATE idempotency_keys SET instance_id = ?",
      args: [instanceId],
    }]);
    assert.equal((await rejection(claimKey(purser.core, request()))).code, "conflict");
    await other.kill();
    assert.ok("claim" in await claimKey(purser.core, request()));
  });
});

// Faults

/** The operations that take a key, each with the table of its effect. */
const OPERATIONS = [
  { path: "/agents/a/runs", body: { input: "Hi", session_id: "s" }, effects: "runs" },
  { path: "/alerts/rules", body: RULE, effects: "alert_rules" },
  {
    path: "/agents/snapshot/restore",
    body: snapshotOf({ agent_id: "a", session_id: "s" }),
    effects: "events WHERE type = 'session.restored'",
  },
  {
    path: "/budgets/reservations",
    body: { agent_id: "a", estimate_usd: 0.1 },
    effects: "reservations",
  },
];

/**
 * Fails the nth write of a store from now on, before or after its commit, and all further ones where the process dies with
 * it. Returns the function that ends it, and returns whether a write failed.
 */
function failWrite(store: Store, nth: number, when: "before" | "after", isDying: boolean): () => boolean {
  const write = store.write.bind(store);
  let count = 0;
  store.write = async (statements) => {
    const isFailing = ++count === nth || (isDying && count > nth);
    const isLost = isFailing && (when === "before" || count > nth);
    const results = isLost ? [] : await write(statements);
    if (isFailing) throw new PurserError("unavailable", "Cannot use the database: it has not answered");
    return results;
  };
  return () => {
    store.write = write;
    return count >= nth;
  };
}

for (const { path, body, effects } of OPERATIONS) {
  Deno.test(`POST ${path} that is sent again until it is answered takes effect once, whichever commit or answer is lost`, async () => {
    let faults = 0;
    const kinds = [["before", false], ["after", false], ["before", true], ["after", true]] as const;
    for (const [when, isDying] of kinds) {
      for (let nth = 1;; nth++) {
        await using purser = await openTestPurser();
        const { store } = purser.core;
        await purser.api("PUT", "/agents/a", { model: "demo:echo" });
        const endFaults = failWrite(store, nth, when, isDying);
        let hasFailed = false;
        const statuses: number[] = [];
        let last;
        for (let attempt = 0; attempt < 4; attempt++) {
          last = await purser.api("POST", path, body, keyed("k"));
          if (isDying && attempt === 0) hasFailed = endFaults(); // the next attempt is answered by another process
          statuses.push(last.status);
          if (last.status < 300 || (last.status === 409 && !last.headers.has("retry-after"))) break;
          purser.clock.advance(60_000); // the client waits until the first request's lease has ended at the latest
        }
        hasFailed ||= endFaults();
        const where = `${isDying ? "dies " : ""}${when} commit ${nth}: ${statuses}`;
        const isInterrupted = last!.status === 409 && path === "/agents/a/runs";
        assert.ok(last!.status < 300 || isInterrupted, where);
        assert.equal(await countOf(store, effects), 1, where);
        const again = await purser.api("POST", path, body, keyed("k"));
        assert.deepEqual([again.status, again.body], [last!.status, last!.body], where);
        assert.equal(await countOf(store, effects), 1, where);
        if (!hasFailed) break;
        faults++;
      }
    }
    assert.ok(faults >= 8, `${faults} faults`);
  });
}

// What holds a claim and is too late

Deno.test("a rule and a restore that are too late change nothing", async () => {
  await using purser = await openTestPurser();
  const { core } = purser;
  const lostClaim = async (key: string) => {
    const lost = heldBy(await claimKey(core, request({ key })));
    purser.clock.advance(60_000);
    heldBy(await claimKey(core, request({ key })));
    return lost;
  };
  const [first, second] = [await lostClaim("k1"), await lostClaim("k2")];
  await assert.rejects(
    createRule(core, RULE, (rule) => settleClaim(first, { sql: "?1", args: [JSON.stringify(rule)] })),
    ConstraintError,
  );
  assert.equal(await countOf(core.store, "alert_rules"), 0);
  const bytes = new Blob([JSON.stringify(snapshotOf({ session_id: "s" }))]).stream();
  await assert.rejects(
    importSession(core, bytes, { once: (restore) => restore((result) => settleClaim(second, result)) }),
    ConstraintError,
  );
  for (const table of ["sessions", "messages", "events"]) {
    assert.equal(await countOf(core.store, table), 0, table);
  }
});
