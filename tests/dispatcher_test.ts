import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { RETRY_WAITS_MS } from "../src/delivery/retry_policy.ts";
import { tables } from "../src/store/mod.ts";
import { logLines, openWithChannels as open, outbox, RULE, statusOf, until } from "./harness/deliveries.ts";
import {
  hang,
  passing,
  permanent,
  type RecordingChannel,
  recordingChannel,
} from "./harness/recording_channel.ts";

Deno.test("an alert goes to every channel once, and the history shows its status", async () => {
  const [ops, mail] = [recordingChannel("ops"), recordingChannel("mail", { answers: [permanent] })];
  await using purser = await open([ops, mail]);
  await purser.run({}, "hello");
  await until(async () =>
    await statusOf(purser, "mail") === "failed" && await statusOf(purser, "ops") !== "pending"
  );
  await until(async () => await statusOf(purser, "log") === "delivered");

  const { body: [record, ...others] } = await purser.api("GET", "/alerts/history");
  assert.equal(others.length, 0);
  assert.deepEqual(
    record.deliveries.map(({ channel, kind, status, attempts, last_error }: Record<string, unknown>) => ({
      channel,
      kind,
      status,
      attempts,
      last_error,
    })),
    [
      { channel: "log", kind: "log", status: "delivered", attempts: 1, last_error: null },
      { channel: "ops", kind: "custom", status: "delivered", attempts: 1, last_error: null },
      { channel: "mail", kind: "custom", status: "failed", attempts: 1, last_error: "HTTP 410" },
    ],
  );
  const [{ notification, delivery }] = ops.sent as [RecordingChannel["sent"][number]];
  assert.equal(delivery.deliveryId, record.deliveries[1].delivery_id);
  assert.equal(notification.id, record.alert_id);
  assert.equal(notification.severity, "warning");
  const { deliveries: _deliveries, ...rest } = record;
  assert.deepEqual(notification.data, { ...rest, environment: "test" });
  assert.equal(logLines(purser).length, 1);
  assert.equal(logLines(purser)[0]!.level, "warn");
});

Deno.test("a channel receives nothing below its minimum severity", async () => {
  const [all, critical] = [
    recordingChannel("all"),
    recordingChannel("critical", { minSeverity: "critical" }),
  ];
  await using purser = await open([all, critical], {
    rules: [RULE, { ...RULE, name: "Bad", severity: "critical" }, {
      ...RULE,
      name: "Well",
      severity: "info",
    }],
  });
  await purser.run({}, "hello");
  await all.until(3);
  await critical.until(1);
  await until(async () => (await outbox(purser, "all")).every(({ status }) => status === "delivered"));
  assert.deepEqual(all.sent.map(({ notification }) => notification.severity).sort(), [
    "critical",
    "info",
    "warning",
  ]);
  assert.deepEqual(critical.sent.map(({ notification }) => notification.severity), ["critical"]);
});

Deno.test("a transient failure is retried on schedule, with the same delivery id", async () => {
  const ops = recordingChannel("ops", { answers: [passing, passing, { ok: true }] });
  await using purser = await open([ops]);
  await purser.run({}, "hello");
  for (const [index, waitMs] of [...RETRY_WAITS_MS].slice(0, 2).entries()) {
    await ops.until(index + 1);
    await until(async () => (await outbox(purser, "ops"))[0]!.leaseUntil === null);
    const [row] = await outbox(purser, "ops");
    const wait = row!.dueAt - purser.clock.now();
    assert.ok(wait >= waitMs && wait <= waitMs * 1.2, `waits ${wait} ms`);
    assert.equal(row!.lastError, "HTTP 503");
    purser.clock.advance(wait - 1);
    await setImmediate();
    assert.equal(ops.sent.length, index + 1, "not before it is due");
    purser.clock.advance(1);
  }
  await ops.until(3);
  await until(async () => await statusOf(purser, "ops") === "delivered");
  assert.deepEqual(ops.sent.map(({ delivery }) => delivery.attempt), [1, 2, 3]);
  assert.equal(new Set(ops.sent.map(({ delivery }) => delivery.deliveryId)).size, 1);
});

Deno.test("a receiver's Retry-After is honored", async () => {
  const ops = recordingChannel("ops", { answers: [{ ...passing, retryAfterMs: 3_600_000 }, { ok: true }] });
  await using purser = await open([ops]);
  await purser.run({}, "hello");
  await ops.until(1);
  await until(async () => (await outbox(purser, "ops"))[0]!.leaseUntil === null);
  assert.equal((await outbox(purser, "ops"))[0]!.dueAt - purser.clock.now(), 3_600_000);
});

Deno.test("after eight attempts a delivery is given up, with a warning", async () => {
  const ops = recordingChannel("ops", { answers: [passing] });
  await using purser = await open([ops]);
  await purser.run({}, "hello");
  for (let attempt = 1; attempt <= 8; attempt++) {
    await ops.until(attempt);
    await until(async () => (await outbox(purser, "ops"))[0]!.leaseUntil === null);
    await setImmediate();
    purser.clock.advance(24 * 3_600_000);
  }
  await until(async () => await statusOf(purser, "ops") === "failed");
  assert.equal(ops.sent.length, 8);
  const [warning] = purser.logs.filter(({ message }) => message === "A notification was given up");
  assert.equal(warning!.level, "warn");
  assert.equal(warning!.fields.channel, "ops");
  assert.equal(warning!.fields.because, "exhausted");
});

const broken: [name: string, channel: () => RecordingChannel][] = [
  ["a dead channel", () => recordingChannel("ops", { answers: [passing] })],
  ["a hanging channel", () => recordingChannel("ops", { answers: [hang] })],
  [
    "a channel that throws",
    () =>
      recordingChannel("ops", {
        answers: [() => {
          throw new Error("boom");
        }],
      }),
  ],
];
for (const [name, create] of broken) {
  Deno.test(`beside ${name} the log and the other channels are served, though no time passes`, async () => {
    const [ops, other] = [create(), recordingChannel("other")];
    const purser = await open([ops, other]);
    for (const runs of [1, 2, 3]) {
      await purser.run({}, "hello");
      await other.until(runs);
      await until(() => logLines(purser).length === runs);
    }
    assert.ok(ops.sent.length >= 1);
    let isClosed = false;
    purser.core.close().then(() => isClosed = true);
    await until(() => {
      purser.clock.advance(1_000);
      return isClosed;
    });
  });
}

Deno.test("a channel that hangs is aborted at its timeout, and retried", async () => {
  const ops = recordingChannel("ops", { timeoutMs: 2_000, answers: [hang, { ok: true }] });
  await using purser = await open([ops]);
  await purser.run({}, "hello");
  await ops.until(1);
  purser.clock.advance(1_999);
  await setImmediate();
  assert.equal((await outbox(purser, "ops"))[0]!.lastError, null);
  purser.clock.advance(1);
  await until(async () => (await outbox(purser, "ops"))[0]!.lastError === "no answer within 2 s");
  assert.ok(ops.sent[0]!.delivery.signal.aborted);
  purser.clock.advance(6_001);
  await until(async () => await statusOf(purser, "ops") === "delivered");
});

Deno.test("one channel has one notification in flight at a time, in the order in which they fired", async () => {
  let inFlight = 0;
  const ops = recordingChannel("ops", {
    answers: [async () => {
      assert.equal(++inFlight, 1);
      await setImmediate();
      inFlight--;
      return { ok: true };
    }],
  });
  await using purser = await open([ops]);
  const runs = [];
  for (const text of ["one", "two", "three"]) runs.push((await purser.run({}, text)).run_id);
  await ops.until(3);
  assert.deepEqual(ops.sent.map(({ notification }) => notification.data.run_id), runs);
});

/** Inserts alerts for the channel "ops" at once, as of a run each. */
const putAlerts = ({ core: { store, clock } }: Awaited<ReturnType<typeof open>>, count: number) =>
  store.write([{
    sql: `INSERT INTO alerts (alert_id, rule_id, rule_name, threshold_type, threshold_nano_usd, severity,
        value_nano_usd, triggered_at, is_test, channels)
      SELECT 'alert_' || j.key, 'rule_x', 'x', 'per_run_usd', 1, 'warning', 1, ?1, 0, '[["ops","custom",0]]'
      FROM json_each(?2) j`,
    args: [clock.now(), JSON.stringify(Array(count).fill(0))],
  }]);

Deno.test("the history keeps the newest 500 alerts, and older ones with pending deliveries", async () => {
  const ops = recordingChannel("ops", { answers: [passing, { ok: true }] });
  await using purser = await open([ops]);
  await purser.run({ model: "demo:echo" }, "hello");
  await putAlerts(purser, 509);
  purser.core.wakeDispatcher([]);
  await until(async () =>
    (await outbox(purser, "ops")).filter(({ status }) => status === "pending").length === 1
  );
  await until(async () => (await outbox(purser, "log")).every(({ status }) => status === "delivered"));
  const kept = await purser.core.query.select().from(tables.alerts).orderBy(tables.alerts.position);
  const oldest = ops.sent[0]!.notification.id;
  assert.equal(kept[0]!.alertId, oldest, "it is still to be delivered");
  assert.ok(kept.length <= 502, `${kept.length} are kept`);
  const { body } = await purser.api("GET", "/alerts/history");
  assert.equal(body.length, 500);
  purser.clock.advance(6_001);
  await until(async () =>
    (await purser.core.query.select().from(tables.alerts)).every(({ alertId }) => alertId !== oldest)
  );
  assert.equal((await outbox(purser, "ops")).length, 500, "deliveries are deleted with their alerts");
});

Deno.test("a clock that was a month ahead delays no delivery by a month", async () => {
  const ops = recordingChannel("ops", { answers: [passing, { ok: true }] });
  await using purser = await open([ops]);
  purser.clock.advance(31 * 86_400_000);
  await purser.run({}, "hello");
  await until(async () => (await outbox(purser, "ops"))[0]?.lastError === "HTTP 503");
  purser.clock.advance(-31 * 86_400_000);
  await purser.run({}, "hello");
  await until(async () => (await outbox(purser, "ops")).every(({ status }) => status === "delivered"));
  assert.deepEqual(ops.sent.map(({ delivery }) => delivery.attempt).sort(), [1, 1, 2]);
});

Deno.test("a channel with invalid settings uses up no attempt, and delivers once they are fixed", async () => {
  const directory = await Deno.makeTempDir({ prefix: "purser-test-" });
  const secret = `${directory}/url`;
  const slack = { kind: "slack", name: "slack", minSeverity: "info", timeoutMs: 10_000 } as const;
  const purser = await open([], {
    config: {
      channels: [{ ...slack, settings: { url: { file: secret } } }],
      allowPrivateNetworks: ["127.0.0.0/8"],
    },
  });
  await purser.run({}, "hello");
  const waits = () =>
    purser.logs.filter(({ message }) => message.startsWith("Notifications wait for a channel whose"));
  await until(() => waits().length > 0);
  assert.match(String(waits()[0]!.fields.reason), /url/);
  assert.equal((await outbox(purser, "slack"))[0]!.attempts, 0);

  const received = Promise.withResolvers<string>();
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    received.resolve(await request.text());
    return new Response("ok");
  });
  await Deno.writeTextFile(secret, `http://127.0.0.1:${server.addr.port}/services/T/B/X\n`);
  purser.clock.advance(60_000);
  assert.match(await received.promise, /Every run/);
  await server.shutdown();
  await purser.core.close();
  await Deno.remove(directory, { recursive: true });
});

Deno.test("a log that can't be written stops neither runs nor deliveries", async () => {
  const ops = recordingChannel("ops", { answers: [permanent] });
  const fail = () => {
    throw new Error("the pipe is broken");
  };
  await using purser = await open([ops], { log: { debug: fail, info: fail, warn: fail, error: fail } });
  await purser.run({}, "one");
  await purser.run({}, "two");
  await until(async () =>
    (await outbox(purser, "ops")).filter(({ status }) => status === "failed").length === 2
  );
  await until(async () =>
    (await outbox(purser, "log")).filter(({ status }) => status !== "pending").length === 2
  );
});

Deno.test("a backlog is kept whole until it is delivered, then its newest 500", async () => {
  const ops = recordingChannel("ops");
  await using purser = await open([ops], { rules: [] });
  const { query } = purser.core;
  const kept = async () => (await query.select().from(tables.alerts)).length;
  await putAlerts(purser, 600);
  assert.equal(await kept(), 600);
  purser.core.wakeDispatcher([]);
  await ops.until(600);
  await until(async () => (await outbox(purser, "ops")).every(({ status }) => status === "delivered"));
  assert.equal(await kept(), 500);
  assert.equal((await outbox(purser, "ops")).length, 500);
});
