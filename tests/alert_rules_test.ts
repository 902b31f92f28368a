import assert from "node:assert/strict";
import {
  createRule,
  getRule,
  listRules,
  removeRule,
  type RuleChanges,
  updateRule,
} from "../src/alerts/mod.ts";
import { createBus } from "../src/bus/mod.ts";
import { fixedClock, HOUR_MS } from "../src/kernel/clock.ts";
import { countingIds } from "../src/kernel/ids.ts";
import { recordCalls } from "../src/ledger/mod.ts";
import { createLazyPriceBook } from "../src/pricing/mod.ts";
import { silentLog } from "../src/kernel/log.ts";
import { createQuery, type SqlValue, type Store, toObjects } from "../src/store/mod.ts";
import { NO_SUBJECTS } from "./harness/alerts.ts";
import { dialectKinds } from "./harness/databases.ts";
import { modelCall } from "./harness/model_calls.ts";
import { rejection } from "./harness/test_purser.ts";

const RULE = {
  name: "Daily",
  threshold_type: "per_day_usd",
  threshold_usd: 10,
  severity: "warning",
} as const;
const NOW = Date.parse("2026-11-01T12:00:00.000Z");
const MINUTE = 60_000;

type Columns = Record<string, SqlValue>;

/** The state of a rule's decision before and after a change; columns not named in `after` stay. */
const CHANGES: {
  sentence: string;
  before?: Columns;
  changes: RuleChanges;
  after: Columns;
  forgetsClaims?: true;
  changesNothing?: true;
}[] = [
  {
    sentence: "disabling takes the rule out of the decision",
    changes: { enabled: false },
    after: { enabled: 0n, is_armed: 0n },
  },
  {
    sentence: "enabling arms a rule that never fired",
    before: { enabled: 0, is_armed: 0 },
    changes: { enabled: true },
    after: { enabled: 1n, is_armed: 1n },
  },
  {
    sentence: "enabling during the cooldown leaves the rule cooling down",
    before: { enabled: 0, is_armed: 0, cooldown_from: NOW - MINUTE, rests_until: NOW + MINUTE },
    changes: { enabled: true },
    after: { enabled: 1n },
  },
  {
    sentence: "enabling arms a rule whose cooldown ends at this millisecond",
    before: { enabled: 0, is_armed: 0, cooldown_from: NOW - HOUR_MS, rests_until: NOW },
    changes: { enabled: true },
    after: { enabled: 1n, is_armed: 1n },
  },
  {
    sentence: "enabling does not arm a rule that has already fired for this hour",
    before: {
      enabled: 0,
      is_armed: 0,
      is_over: 1,
      cooldown_from: 1,
      rests_until: 2,
      repeat: "once_per_window",
    },
    changes: { enabled: true },
    after: { enabled: 1n },
  },
  {
    sentence: "a shorter cooldown that is over by now arms the rule",
    before: { is_armed: 0, cooldown_from: NOW - 10 * MINUTE, rests_until: NOW + 50 * MINUTE },
    changes: { cooldown_seconds: 600 },
    after: { cooldown_ms: 600_000n, rests_until: BigInt(NOW), is_armed: 1n },
  },
  {
    sentence: "a shorter cooldown that is not over moves its end",
    before: { is_armed: 0, cooldown_from: NOW - 10 * MINUTE, rests_until: NOW + 50 * MINUTE },
    changes: { cooldown_seconds: 601 },
    after: { cooldown_ms: 601_000n, rests_until: BigInt(NOW + 1_000) },
  },
  {
    sentence: "a longer cooldown resumes one that was over",
    before: { cooldown_from: NOW - 2 * HOUR_MS, rests_until: NOW - HOUR_MS },
    changes: { cooldown_seconds: 3 * 3_600 },
    after: { cooldown_ms: BigInt(3 * HOUR_MS), rests_until: BigInt(NOW + HOUR_MS), is_armed: 0n },
  },
  {
    sentence: "a cooldown of a rule that never fired has no end",
    changes: { cooldown_seconds: 0 },
    after: { cooldown_ms: 0n },
  },
  ...([
    { threshold_usd: 9.999999999 },
    { threshold_type: "per_month_usd" },
    { agent_id: "researcher" },
    { repeat: "once_per_window" },
  ] as const).map((changes) => ({
    sentence: `a new ${Object.keys(changes)[0]} forgets the windows that fired, and the cooldown continues`,
    before: { is_armed: 0, is_over: 1, cooldown_from: NOW - MINUTE, rests_until: NOW + 12 * HOUR_MS },
    changes,
    after: {
      ...("threshold_usd" in changes && { threshold_nano_usd: 9_999_999_999n }),
      ...("threshold_type" in changes && { threshold_type: "per_month_usd" }),
      ...("agent_id" in changes && { scope: "researcher" }),
      ...("repeat" in changes && { repeat: "once_per_window" }),
      is_over: 0n,
      rests_until: BigInt(NOW - MINUTE + HOUR_MS),
    },
    forgetsClaims: true as const,
  })),
  {
    sentence: "a threshold changed after the cooldown arms the rule",
    before: { is_armed: 0, is_over: 1, cooldown_from: NOW - 2 * HOUR_MS, rests_until: NOW - HOUR_MS },
    changes: { threshold_usd: 20 },
    after: { threshold_nano_usd: 20_000_000_000n, is_over: 0n, is_armed: 1n },
    forgetsClaims: true,
  },
  {
    sentence: "a changed threshold does not arm a disabled rule",
    before: { enabled: 0, is_armed: 0, is_over: 1 },
    changes: { threshold_usd: 20 },
    after: { threshold_nano_usd: 20_000_000_000n, is_over: 0n },
    forgetsClaims: true,
  },
  {
    sentence: "a rule without an agent watches all agents",
    before: { scope: "researcher" },
    changes: { agent_id: null },
    after: { scope: "" },
    forgetsClaims: true,
  },
  {
    sentence: "an unchanged threshold stays as it is beside a field that changes",
    before: { is_armed: 0, is_over: 1, cooldown_from: NOW - MINUTE, rests_until: NOW + 12 * HOUR_MS },
    changes: { ...RULE, agent_id: null, repeat: "cooldown", cooldown_seconds: 3_600, name: "Daily limit" },
    after: { name: "Daily limit" },
  },
  {
    sentence: "a new name and severity change nothing else",
    before: { is_armed: 0, is_over: 1, cooldown_from: NOW - MINUTE, rests_until: NOW + MINUTE },
    changes: { name: "Weekly; '--", severity: "critical" },
    after: { name: "Weekly; '--", severity: "critical" },
  },
  {
    sentence: "a change to the current values changes nothing",
    before: { is_armed: 0, is_over: 1, cooldown_from: NOW - MINUTE, rests_until: NOW + 12 * HOUR_MS },
    changes: { ...RULE, agent_id: null, repeat: "cooldown", cooldown_seconds: 3_600, enabled: true },
    after: {},
    changesNothing: true,
  },
];

function contextOf(store: Store) {
  return {
    store,
    query: createQuery(store),
    clock: fixedClock(NOW),
    ids: countingIds(),
    rules: { mayExist: false },
    outboxChannels: [],
    instanceId: "inst_test",
    bus: createBus(silentLog),
    log: silentLog,
    author: { actor: "code" as const },
    prices: createLazyPriceBook({}),
    wakeDispatcher() {},
  };
}

async function read(store: Store, sql: string): Promise<Columns[]> {
  return toObjects<Columns>(await store.read({ sql }));
}

async function addClaims(store: Store, ruleId: string): Promise<void> {
  await store.write([{
    sql: `INSERT INTO alert_claims (rule_id, "window") VALUES (?1, 'w1'), (?1, 'w2')`,
    args: [ruleId],
  }]);
}

for (const { name, ignore, create } of dialectKinds()) {
  Deno.test({
    name: `${name}: each change of a rule leaves the right state of its decision`,
    ignore,
    async fn(t) {
      await using database = await create();
      const ctx = contextOf(await database.open());
      const other = await createRule(ctx, RULE);
      await addClaims(ctx.store, other.rule_id);
      for (const { sentence, before = {}, changes, after, forgetsClaims, changesNothing } of CHANGES) {
        await t.step(sentence, async () => {
          const { rule_id } = await createRule(ctx, RULE);
          await addClaims(ctx.store, rule_id);
          const set = Object.keys(before).map((column) => `${column} = ?`).concat(
            "updated_at = created_at - 1",
          );
          await ctx.store.write([{
            sql: `UPDATE alert_rules SET ${set.join(", ")} WHERE rule_id = ?`,
            args: [...Object.values(before), rule_id],
          }]);
          const one = `SELECT * FROM alert_rules WHERE rule_id = '${rule_id}'`;
          const [row] = await read(ctx.store, one);
          const rule = await updateRule(ctx, rule_id, changes);
          const updated_at = changesNothing ? row!.updated_at : BigInt(NOW);
          assert.deepEqual(await read(ctx.store, one), [{ ...row, ...after, updated_at }]);
          assert.deepEqual(rule, await getRule(ctx, rule_id));
          const claims = await read(ctx.store, `SELECT * FROM alert_claims WHERE rule_id = '${rule_id}'`);
          assert.equal(claims.length, forgetsClaims ? 0 : 2);
        });
      }
      const kept = await read(ctx.store, `SELECT * FROM alert_claims WHERE rule_id = '${other.rule_id}'`);
      assert.equal(kept.length, 2);
      assert.deepEqual(await getRule(ctx, other.rule_id), other);
    },
  });

  Deno.test({
    name: `${name}: concurrent changes of different fields are all applied`,
    ignore,
    async fn() {
      await using database = await create();
      const stores = [await database.open()];
      if (name === "sqld") stores.push(await database.open());
      const [one, two] = [stores[0]!, stores.at(-1)!].map(contextOf);
      const { rule_id } = await createRule(one!, RULE);
      await addClaims(one!.store, rule_id);
      await Promise.all([
        updateRule(one!, rule_id, { enabled: false }),
        updateRule(two!, rule_id, { threshold_usd: 0.000000001 }),
        updateRule(one!, rule_id, { name: "Mine" }),
        updateRule(two!, rule_id, { severity: "critical" }),
        updateRule(one!, rule_id, { cooldown_seconds: 1 }),
        updateRule(two!, rule_id, { agent_id: "researcher" }),
        updateRule(one!, rule_id, { threshold_type: "per_run_usd" }),
        updateRule(two!, rule_id, { repeat: "once_per_window" }),
      ]);
      const { created_at: _created, updated_at: _updated, ...rule } = await getRule(two!, rule_id);
      assert.deepEqual(rule, {
        rule_id,
        name: "Mine",
        threshold_type: "per_run_usd",
        threshold_usd: 0.000000001,
        severity: "critical",
        cooldown_seconds: 1,
        repeat: "once_per_window",
        ...NO_SUBJECTS,
        ...{ time_zone: "UTC", month_start_day: 1 },
        agent_id: "researcher",
        enabled: false,
        last_fired_at: null,
        value_usd: null,
        window_start: null,
        counter: null,
        usd_per_hour: null,
        reaches_at: null,
      });
      const [state] = await read(one!.store, "SELECT is_armed FROM alert_rules");
      assert.equal(state!.is_armed, 0n);
      assert.deepEqual(await read(one!.store, "SELECT * FROM alert_claims"), []);
    },
  });

  Deno.test({
    name: `${name}: a rule that is added disabled is not evaluated, and its threshold is exact`,
    ignore,
    async fn() {
      await using database = await create();
      const { store, ...ctx } = contextOf(await database.open());
      await createRule({ store, ...ctx }, { ...RULE, threshold_usd: 0.123456789, enabled: false });
      const rows = await read(
        store,
        "SELECT threshold_nano_usd, enabled, is_armed, is_over FROM alert_rules",
      );
      assert.deepEqual(rows, [{ threshold_nano_usd: 123_456_789n, enabled: 0n, is_armed: 0n, is_over: 0n }]);
    },
  });

  Deno.test({
    name: `${name}: removing a rule deletes its claims, and keeps history and due deliveries`,
    ignore,
    async fn() {
      await using database = await create();
      const ctx = contextOf(await database.open());
      const gone = await createRule(ctx, RULE);
      const stays = await createRule(ctx, RULE);
      for (const { rule_id } of [gone, stays]) await addClaims(ctx.store, rule_id);
      await ctx.store.write([
        {
          sql:
            `INSERT INTO alerts (alert_id, rule_id, rule_name, threshold_type, threshold_nano_usd, severity,
            value_nano_usd, triggered_at) VALUES ('alert_1', ?, 'Daily', 'per_day_usd', 1, 'info', 2, 3)`,
          args: [gone.rule_id],
        },
        {
          sql: `INSERT INTO deliveries (delivery_id, subject_id, channel, kind, due_at, created_at)
            VALUES ('dlv_1', 'alert_1', 'log', 'log', 0, 0)`,
        },
      ]);
      await removeRule(ctx, gone.rule_id);
      assert.deepEqual(await listRules(ctx), [stays]);
      const claims = await read(ctx.store, "SELECT DISTINCT rule_id FROM alert_claims");
      assert.deepEqual(claims, [{ rule_id: stays.rule_id }]);
      assert.equal((await read(ctx.store, "SELECT * FROM alerts")).length, 1);
      assert.equal((await read(ctx.store, "SELECT * FROM deliveries WHERE status = 'pending'")).length, 1);
      const errors = await Promise.all([
        removeRule(ctx, gone.rule_id),
        getRule(ctx, gone.rule_id),
        updateRule(ctx, gone.rule_id, { enabled: true }),
      ].map(rejection));
      assert.deepEqual(errors.map(({ code }) => code), ["not_found", "not_found", "not_found"]);
    },
  });

  Deno.test({
    name: `${name}: a call booked before a rule was removed is evaluated by it`,
    ignore,
    async fn() {
      await using database = await create();
      const ctx = contextOf(await database.open());
      const { rule_id } = await createRule(ctx, RULE);
      // By a process that has not read the rule yet.
      const call = modelCall({ callId: "call_1", at: ctx.clock.now(), costNanoUsd: 1_000_000_000_000n });
      await ctx.store.write(recordCalls([call]));
      await removeRule(ctx, rule_id);
      assert.deepEqual(await read(ctx.store, "SELECT rule_id FROM alerts"), [{ rule_id }]);
    },
  });
}
