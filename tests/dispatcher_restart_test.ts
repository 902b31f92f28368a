import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { logLines, openWithChannels as open, outbox, statusOf, until } from "./harness/deliveries.ts";
import { removeDirectory } from "./harness/in_directory.ts";
import { hang, passing, type RecordingChannel, recordingChannel } from "./harness/recording_channel.ts";

Deno.test("a process that ends makes first attempts for five seconds, waits three more for open ones, and leaves the rest", async () => {
  const directory = await Deno.makeTempDir({ prefix: "purser-test-" });
  const config = { dbUrl: `${directory}/purser.db` };
  const [fine, slow] = [
    recordingChannel("fine"),
    recordingChannel("slow", { answers: [hang], timeoutMs: 60_000 }),
  ];
  const first = await open([fine, slow], { config });
  await first.run({}, "hello");
  let isClosed = false;
  first.core.close().then(() => isClosed = true);
  await slow.until(1);
  await fine.until(1);
  await setImmediate();
  for (const waitMs of [4_999, 1, 2_999]) {
    first.clock.advance(waitMs);
    for (let turn = 0; turn < 20; turn++) await setImmediate();
    assert.equal(isClosed, false, "it waits");
  }
  await until(() => {
    first.clock.advance(1);
    return isClosed;
  });

  const next = recordingChannel("slow");
  const second = await open([recordingChannel("fine"), next], { config });
  second.clock.advance(10_000);
  await next.until(1);
  assert.equal(next.sent[0]!.delivery.attempt, 2);
  assert.equal(next.sent[0]!.delivery.deliveryId, slow.sent[0]!.delivery.deliveryId);
  await until(async () => await statusOf(second, "slow") === "delivered");
  await second.core.close();
  await removeDirectory(directory);
});

/** The lock that a killed instance leaves beside the database; it is free. */
async function leaveLock(path: string, instanceId: string): Promise<void> {
  await Deno.writeTextFile(`${await Deno.realPath(path)}-instance-${instanceId}`, "");
}

Deno.test("the next process on a file takes over the deliveries of a dead process at once", async () => {
  const directory = await Deno.makeTempDir({ prefix: "purser-test-" });
  const config = { dbUrl: `${directory}/purser.db` };
  const first = await open([recordingChannel("ops", { answers: [passing] })], { config });
  await first.run({}, "hello");
  await until(async () => (await outbox(first, "ops"))[0]!.lastError !== null);
  await first.core.store.write([{
    sql:
      "UPDATE deliveries SET lease_until = ?, leased_by = 'inst_dead/req_1', due_at = 0 WHERE channel = 'ops'",
    args: [first.clock.now() + 100_000],
  }]);
  await first.core.close();
  await leaveLock(config.dbUrl, "inst_dead");
  const ops = recordingChannel("ops");
  const second = await open([ops], { config });
  await ops.until(1);
  await second.core.close();
  await removeDirectory(directory);
});

Deno.test("notifications for channels that no config names any more wait, with a warning", async () => {
  const directory = await Deno.makeTempDir({ prefix: "purser-test-" });
  const config = { dbUrl: `${directory}/purser.db` };
  const first = await open([recordingChannel("gone", { answers: [passing] })], { config });
  await first.run({}, "hello");
  await until(async () => (await outbox(first, "gone"))[0]!.lastError !== null);
  await first.core.close();
  const second = await open([], { config });
  await until(() => second.logs.some(({ message }) => message.startsWith("Notifications wait for channels")));
  assert.equal(await statusOf(second, "gone"), "pending");
  await second.core.close();
  await removeDirectory(directory);
});

Deno.test("a test that was cut off with its process is not repeated", async () => {
  const directory = await Deno.makeTempDir({ prefix: "purser-test-" });
  const config = { dbUrl: `${directory}/purser.db` };
  const first = await open([], { config });
  const { body: [rule] } = await first.api("GET", "/alerts/rules");
  await first.api("POST", `/alerts/rules/${rule.rule_id}/test`);
  await first.core.store.write([{
    sql: "UPDATE deliveries SET status = 'pending', leased_by = 'test', lease_until = 1, settled_at = NULL",
  }]);
  await first.core.close();
  const second = await open([], { config });
  await until(async () => await statusOf(second, "log") === "failed");
  assert.equal((await outbox(second, "log"))[0]!.lastError, "its process ended before the outcome was known");
  assert.equal(logLines(second).length, 0);
  await second.core.close();
  await removeDirectory(directory);
});

/** Reopens a database whose deliveries to `ops` are in their third attempt, by the last of so many killed processes. */
async function openAfterKill(kills: number, ops: RecordingChannel) {
  const directory = await Deno.makeTempDir({ prefix: "purser-test-" });
  const config = { dbUrl: `${directory}/purser.db` };
  const first = await open([recordingChannel("ops", { answers: [passing] })], { config });
  for (const text of ["one", "two"]) await first.run({}, text);
  await until(async () => (await outbox(first, "ops")).every(({ lastError }) => lastError !== null));
  await first.core.store.write([{
    sql:
      `UPDATE deliveries SET lease_until = ?, leased_by = 'inst_dead/req_1', due_at = 0, attempts = 3, lost_claims = ?,
        status = 'pending'
      WHERE channel = 'ops'`,
    args: [first.clock.now() + 100_000, kills - 1],
  }]);
  await first.core.close();
  await leaveLock(config.dbUrl, "inst_dead");
  const second = await open([ops], { config });
  return {
    second,
    config,
    async [Symbol.asyncDispose]() {
      await second.core.close();
      await removeDirectory(directory);
    },
  };
}

Deno.test("deliveries cut off with their process twice wait, one after the other, behind the others", async () => {
  const ops = recordingChannel("ops");
  await using opened = await openAfterKill(2, ops);
  const { second } = opened;
  await until(async () => (await outbox(second, "ops")).every(({ leaseUntil }) => leaseUntil === null));
  assert.deepEqual((await outbox(second, "ops")).map(({ dueAt }) => dueAt - second.clock.now()), [
    32_000,
    34_000,
  ]);
  assert.equal(ops.sent.length, 0);
  await until(() => {
    second.clock.advance(1_000);
    return ops.sent.length === 2;
  });
  assert.deepEqual(ops.sent.map(({ delivery }) => delivery.attempt), [3, 3], "those claims were no attempts");
});

Deno.test("a delivery whose process has ended eight times is given up", async () => {
  const ops = recordingChannel("ops");
  await using opened = await openAfterKill(8, ops);
  await until(async () => (await outbox(opened.second, "ops")).every(({ status }) => status === "failed"));
  assert.equal(
    (await outbox(opened.second, "ops"))[0]!.lastError,
    "its process ended 8 times before the outcome was known",
  );
  assert.equal(ops.sent.length, 0);
});

Deno.test("a short command resumes earlier attempts, even if it ends at once", async () => {
  const ops = recordingChannel("ops");
  await using opened = await openAfterKill(1, ops);
  await opened.second.core.close();
  assert.ok(ops.sent.length >= 1);
});

Deno.test("an attempt cut short once more waits like a failed one", async () => {
  const ops = recordingChannel("ops", { answers: [hang], timeoutMs: 60_000 });
  await using opened = await openAfterKill(1, ops);
  const { second } = opened;
  await ops.until(1);
  let isClosed = false;
  second.core.close().then(() => isClosed = true);
  await until(() => {
    second.clock.advance(1_000);
    return isClosed;
  });
  const third = await open([recordingChannel("ops")], { config: opened.config });
  third.clock.advance(10_000);
  await setImmediate();
  const [row] = await outbox(third, "ops");
  assert.equal(row!.status, "pending");
  assert.ok(row!.dueAt - third.clock.now() > 15_000, "not at once");
  await third.core.close();
});

Deno.test("an attempt slightly longer than the grace period is not aborted, and so not sent twice", async () => {
  const directory = await Deno.makeTempDir({ prefix: "purser-test-" });
  const config = { dbUrl: `${directory}/purser.db` };
  const answered = Promise.withResolvers<void>();
  const slow = recordingChannel("slow", {
    timeoutMs: 60_000,
    answers: [async () => {
      await answered.promise;
      return { ok: true };
    }],
  });
  const first = await open([slow], { config });
  for (const text of ["one", "two"]) await first.run({}, text);
  const closing = first.core.close();
  await slow.until(1);
  for (let turn = 0; turn < 20; turn++) await setImmediate();
  first.clock.advance(5_000);
  for (let turn = 0; turn < 20; turn++) await setImmediate();
  answered.resolve();
  await closing;
  assert.equal(slow.sent.length, 1, "the second is not started any more");
  const next = recordingChannel("slow");
  const second = await open([next], { config });
  second.clock.advance(6_000);
  await next.until(1);
  await until(async () => (await outbox(second, "slow")).every(({ status }) => status === "delivered"));
  assert.notEqual(next.sent[0]!.delivery.deliveryId, slow.sent[0]!.delivery.deliveryId);
  await second.core.close();
  await removeDirectory(directory);
});

Deno.test("alerts that fire while a process is ending are delivered too, even if another channel hangs", async () => {
  const [slow, fast] = [
    recordingChannel("slow", { answers: [hang], timeoutMs: 60_000 }),
    recordingChannel("fast"),
  ];
  const purser = await open([slow, fast]);
  await purser.run({}, "one");
  await slow.until(1);
  let isDrained = false;
  purser.core.drainDeliveries().then(() => isDrained = true);
  await fast.until(1);
  for (let turn = 0; turn < 20; turn++) await setImmediate();
  await purser.run({}, "late");
  await fast.until(2);
  // Before the clock moves: an attempt that the grace cuts off is made again at a time that this clock never reaches.
  await until(() => logLines(purser).length === 2);
  // No further than the grace of the drain, however slow this machine is: other deadlines of the deliveries come later.
  let seconds = 0;
  await until(() => {
    if (seconds++ < 10) purser.clock.advance(1_000);
    return isDrained;
  });
  await purser.run({}, "later");
  await fast.until(3);
  await until(() => logLines(purser).length === 3);
  let isClosed = false;
  purser.core.close().then(() => isClosed = true);
  await until(() => {
    purser.clock.advance(1_000);
    return isClosed;
  });
});
