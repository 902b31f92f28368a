import assert from "node:assert/strict";
import type { Delivery, Notification, SendResult } from "../delivery/channels/mod.ts";
import { migratedMemory } from "../../tests/harness/migrated_memory.ts";
import { fixedClock } from "../kernel/clock.ts";
import { databaseLogic } from "../service/parts.ts";
import { createBus } from "../bus/mod.ts";
import { createLazyPriceBook } from "../pricing/mod.ts";
import { silentLog } from "../kernel/log.ts";
import { countingIds } from "../kernel/ids.ts";
import { createQuery, openStore } from "../store/mod.ts";
import { noTelemetry } from "../telemetry/mod.ts";
import { rejection } from "../../tests/harness/test_purser.ts";
import { createRule } from "./rules/change_rules.ts";
import { getRule } from "./rules/rules.ts";
import { listAlerts } from "./alerts.ts";
import { testRule } from "./send_alerts.ts";
import { testChannel, type TestContext } from "../delivery/mod.ts";

const RULE = { name: "Daily", threshold_type: "per_day_usd", threshold_usd: 10, severity: "info" } as const;
const AT = "2026-11-01T12:00:00.000Z";

type Send = (notification: Notification, delivery: Delivery) => SendResult | Promise<SendResult>;

/** Opens a database in memory with scripted channels, whose calls are recorded. */
async function open(sends: Record<string, Send>) {
  const clock = fixedClock(AT);
  const store = await openStore({
    location: { kind: "memory" },
    durability: "normal",
    logic: databaseLogic,
    remoteTimeoutMs: 1_000,
    sqlite: await migratedMemory(),
    clock,
    ids: countingIds(),
  });
  const given: { channel: string; notification: Notification; delivery: Delivery }[] = [];
  const ctx: TestContext & Parameters<typeof testRule>[0] & Parameters<typeof createRule>[0] = {
    instanceId: "inst_1",
    store,
    query: createQuery(store),
    clock,
    ids: countingIds(),
    rules: { mayExist: false },
    outboxChannels: [],
    bus: createBus(silentLog),
    log: silentLog,
    author: { actor: "code" as const },
    prices: createLazyPriceBook({}),
    wakeDispatcher() {},
    telemetry: noTelemetry,
    environment: "test",
    stopping: new AbortController().signal,
    channels: {
      list: Object.entries(sends).map(([name, send]) => ({
        name,
        kind: `${name}-kind`,
        minSeverity: "info",
        timeoutMs: 5_000,
        async attempt(notification, delivery) {
          given.push({ channel: name, notification, delivery });
          return await send(notification, delivery);
        },
      })),
    },
  };
  return { ctx, clock, given, [Symbol.asyncDispose]: () => store.close() };
}

const ok: Send = () => ({ ok: true });
const refuse: Send = () => ({ ok: false, retry: true, reason: "HTTP 503", retryAfterMs: 1 });

Deno.test("testRule() makes one attempt in every channel and records each outcome", async () => {
  await using test = await open({ ops: ok, chat: refuse });
  const { rule_id } = await createRule(test.ctx, { ...RULE, agent_id: "researcher" });
  const { alert_id, results } = await testRule(test.ctx, rule_id);
  const body = alert_id.replace("alert_", "");
  assert.deepEqual(results, [
    {
      channel: "ops",
      kind: "ops-kind",
      delivery_id: `dlv_${body}_1`,
      status: "delivered",
      error: null,
      duration_ms: 0,
    },
    {
      channel: "chat",
      kind: "chat-kind",
      delivery_id: `dlv_${body}_2`,
      status: "failed",
      error: "HTTP 503",
      duration_ms: 0,
    },
  ]);
  assert.deepEqual(
    test.given.map(({ channel, notification: { id, type, isTest }, delivery }) => ({
      channel,
      id,
      type,
      isTest,
      deliveryId: delivery.deliveryId,
      attempt: delivery.attempt,
    })),
    [
      {
        channel: "ops",
        id: alert_id,
        type: "alert.triggered",
        isTest: true,
        deliveryId: `dlv_${body}_1`,
        attempt: 1,
      },
      {
        channel: "chat",
        id: alert_id,
        type: "alert.triggered",
        isTest: true,
        deliveryId: `dlv_${body}_2`,
        attempt: 1,
      },
    ],
  );
  assert.deepEqual(await listAlerts(test.ctx), [{
    alert_id,
    rule_id,
    rule_name: "Daily",
    threshold_type: "per_day_usd",
    threshold_usd: 10,
    severity: "info",
    value_usd: 10,
    agent_id: "researcher",
    session_id: null,
    run_id: null,
    window_start: null,
    triggered_at: AT,
    test: true,
    state: "resolved",
    deliveries: [
      {
        delivery_id: `dlv_${body}_1`,
        channel: "ops",
        kind: "ops-kind",
        status: "delivered",
        attempts: 1,
        last_error: null,
        delivered_at: AT,
      },
      {
        delivery_id: `dlv_${body}_2`,
        channel: "chat",
        kind: "chat-kind",
        status: "failed",
        attempts: 1,
        last_error: "HTTP 503",
        delivered_at: null,
      },
    ],
  }]);
  const left = await test.ctx.store.read({ sql: "SELECT 1 FROM deliveries WHERE lease_until IS NOT NULL" });
  assert.deepEqual(left.rows, []);
});

Deno.test("testRule() leaves the rule as it was, and tests a disabled one too", async () => {
  await using test = await open({ ops: ok });
  const rule = await createRule(test.ctx, { ...RULE, enabled: false });
  const read = () => test.ctx.store.read({ sql: "SELECT * FROM alert_rules" });
  const before = await read();
  test.clock.advance(1_000);
  assert.equal((await testRule(test.ctx, rule.rule_id)).results[0]!.status, "delivered");
  assert.deepEqual(await read(), before);
  assert.deepEqual(await getRule(test.ctx, rule.rule_id), rule);
  assert.deepEqual((await test.ctx.store.read({ sql: "SELECT * FROM alert_claims" })).rows, []);
});

Deno.test("testRule() holds its deliveries in the outbox while it sends", async () => {
  const hang = Promise.withResolvers<SendResult>();
  const sent = Promise.withResolvers<void>();
  await using test = await open({
    slow: () => (sent.resolve(), hang.promise),
    fast: ok,
  });
  const { rule_id } = await createRule(test.ctx, RULE);
  const testing = testRule(test.ctx, rule_id);
  await sent.promise;
  const pending = await test.ctx.store.read({
    sql: "SELECT lease_until, leased_by FROM deliveries WHERE channel = 'slow' AND status = 'pending'",
  });
  assert.deepEqual(pending.rows, [[BigInt(Date.parse(AT) + 65_000), "test/inst_1"]]);
  test.clock.advance(250);
  hang.resolve({ ok: false, retry: false, reason: "no" });
  const { results } = await testing;
  assert.deepEqual(results.map(({ channel, duration_ms }) => [channel, duration_ms])[0], ["slow", 250]);
  const [{ deliveries }] = await listAlerts(test.ctx) as [Awaited<ReturnType<typeof listAlerts>>[number]];
  assert.deepEqual(deliveries.map(({ status }) => status), ["failed", "delivered"]);
});

Deno.test("testRule() sends nothing for an unknown rule", async () => {
  await using test = await open({ ops: ok });
  assert.equal((await rejection(testRule(test.ctx, "rule_nope"))).code, "not_found");
  assert.deepEqual([test.given, await listAlerts(test.ctx)], [[], []]);
});

Deno.test("testChannel() sends a test notification, and leaves no history", async () => {
  await using test = await open({ ops: ok, chat: refuse });
  const result = await testChannel(test.ctx, "chat");
  const { delivery_id } = result;
  assert.deepEqual(result, {
    channel: "chat",
    kind: "chat-kind",
    delivery_id,
    status: "failed",
    error: "HTTP 503",
    duration_ms: 0,
  });
  assert.equal(test.given.length, 1);
  const { notification, delivery } = test.given[0]!;
  assert.equal(delivery.deliveryId, delivery_id);
  assert.deepEqual(notification, {
    id: delivery_id,
    type: "channel.test",
    isTest: true,
    severity: "info",
    title: "Test of channel chat: nothing has happened",
    facts: [
      { label: "Test", value: "this checks that the channel works" },
      { label: "Channel", value: "chat" },
      { label: "Environment", value: "test" },
    ],
    at: AT,
    environment: "test",
    data: { delivery_id, channel: "chat", kind: "chat-kind", test: true, environment: "test" },
  });
  assert.deepEqual(await listAlerts(test.ctx), []);
  assert.equal((await rejection(testChannel(test.ctx, "nope"))).code, "not_found");
});
