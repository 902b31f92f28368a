import { DATABASE_NOW } from "../src/store/mod.ts";
import assert from "node:assert/strict";
import { PurserError } from "../src/kernel/errors.ts";
import { until } from "./harness/deliveries.ts";
import { type DatabaseServer, serverKindsInTime } from "./harness/database_servers.ts";
import { openTestPurser, rejection, type TestPurser } from "./harness/test_purser.ts";

/** A run whose end can't be written, as on a full disk. Returns its id; afterwards writes succeed again. */
async function loseRun(purser: TestPurser): Promise<string> {
  const { store } = purser.core;
  const write = store.write.bind(store);
  store.write = (statements) =>
    statements.some(({ sql }) => sql.startsWith("UPDATE runs SET status"))
      ? Promise.reject(new PurserError("unavailable", "Cannot write: the disk is full"))
      : write(statements);
  const error = await rejection(purser.run({}, "Hello", { sessionId: "s1" }));
  store.write = write;
  assert.equal(error.code, "unavailable");
  const session = (await purser.api("GET", "/sessions/s1")).body;
  assert.deepEqual([session.status, session.active_run_id], ["running", error.extensions.run_id]);
  return session.active_run_id;
}

Deno.test("the next run on a session takes it over from a run whose end could not be written", async () => {
  await using purser = await openTestPurser();
  const lost = await loseRun(purser);
  const result = await purser.run({}, "Hello again", { sessionId: "s1" });
  assert.equal(result.status, "completed");
  assert.equal((await purser.api("GET", `/runs/${lost}`)).body.status, "interrupted");
  assert.equal((await purser.api("GET", "/costs")).body[0].model_calls, 2);
});

Deno.test("cancelling a run whose end could not be written ends it as interrupted", async () => {
  await using purser = await openTestPurser();
  const lost = await loseRun(purser);
  assert.equal((await purser.api("POST", `/runs/${lost}/cancel`)).status, 202);
  assert.equal((await purser.api("GET", `/runs/${lost}`)).body.status, "interrupted");
  assert.equal((await purser.api("GET", "/sessions/s1")).body.active_run_id, null);
});

Deno.test("a process that is ending starts no run any more", async () => {
  await using purser = await openTestPurser();
  purser.core.stop();
  const error = await rejection(purser.run({}, "Hello"));
  assert.equal(error.code, "unavailable");
  assert.match(error.message, /this process is ending/);
});

Deno.test("the event log keeps the definition that a run was started with, and an output with a NUL character unchanged", async () => {
  await using purser = await openTestPurser();
  const { run_id } = await purser.run({ systemPrompt: "Be brief", maxSteps: 3 }, "a\0b", { sessionId: "s1" });
  const started = (await purser.events("s1")).find(({ type }) => type === "run.started")!;
  const definition = started.payload.definition as Record<string, unknown>;
  assert.deepEqual([definition.system_prompt, definition.max_steps], ["Be brief", 3]);
  assert.equal((await purser.api("GET", `/runs/${run_id}`)).body.output, "You said: a\0b");
});

Deno.test("a run whose end could not be written is ended by its own process as soon as writes succeed again", async () => {
  await using purser = await openTestPurser();
  const { store } = purser.core;
  const write = store.write.bind(store);
  let attempts = 0;
  const full = (statements: Parameters<typeof write>[0]) => {
    if (!statements.some(({ sql }) => /^UPDATE runs SET status/.test(sql))) return write(statements);
    attempts++;
    return Promise.reject(new PurserError("unavailable", "Cannot write: the disk is full"));
  };
  store.write = full;
  const runs = await Promise.all(
    ["s1", "s2", "s3"].map((sessionId) => rejection(purser.run({}, "Hello", { sessionId }))),
  );
  const statuses = async () =>
    (await store.read({ sql: "SELECT DISTINCT status FROM runs" })).rows.map(([status]) => status);
  const failed = attempts;
  for (let second = 1; second <= 5; second++) {
    purser.clock.advance(1_000);
    await until(() => attempts > failed + second - 1);
  }
  assert.equal(attempts, failed + 5, "one attempt a second for any number of runs");
  assert.deepEqual(await statuses(), ["running"]);
  store.write = write;
  purser.clock.advance(1_000);
  await until(async () => (await statuses()).join() === "interrupted");
  assert.deepEqual(await statuses(), ["interrupted"]);
  for (const { extensions } of runs) {
    assert.equal((await purser.api("GET", `/sessions/${extensions.session_id}`)).body.active_run_id, null);
  }
});

/** A Purser on a server, with a run of a session left by a dead instance; the test lets its lease expire. */
async function openBesideDead(server: DatabaseServer) {
  const { url, fetch } = await server.createDatabase();
  const purser = await openTestPurser({ config: { dbUrl: url }, fetch });
  const { run_id } = await purser.run({}, "Hello", { sessionId: "s1" });
  await purser.core.store.write([
    {
      sql:
        `UPDATE runs SET status = 'running', instance_id = 'inst_dead', ended_at = NULL, lease_until = ${DATABASE_NOW} + 60000`,
    },
    { sql: "UPDATE sessions SET status = 'running', active_run_id = ?", args: [run_id] },
  ]);
  const read = { sql: "SELECT status FROM runs WHERE run_id = ?", args: [run_id] };
  const status = async () => (await purser.core.store.read(read)).rows[0]![0];
  const endLease = () => purser.core.store.write([{ sql: "UPDATE runs SET lease_until = 1" }]);
  return { purser, status, endLease };
}

for (const kind of serverKindsInTime) {
  Deno.test({
    name:
      `${kind.name}: the next run takes over a session once the dead instance's lease has expired, and not before`,
    ignore: kind.ignore,
    async fn() {
      await using server = await kind.start(false);
      const { purser, status, endLease } = await openBesideDead(server);
      await using _ = purser;
      assert.equal((await rejection(purser.run({}, "Again", { sessionId: "s1" }))).code, "conflict");
      assert.equal(await status(), "running");
      await endLease();
      assert.equal((await purser.run({}, "Again", { sessionId: "s1" })).status, "completed");
      assert.equal(await status(), "interrupted");
    },
  });
}

for (const kind of serverKindsInTime) {
  Deno.test({
    name: `${kind.name}: every instance checks for runs of dead ones every thirty seconds`,
    ignore: kind.ignore,
    async fn() {
      await using server = await kind.start(false);
      const { purser, status, endLease } = await openBesideDead(server);
      await using _ = purser;
      await endLease();
      purser.clock.advance(29_999);
      assert.equal(await status(), "running");
      purser.clock.advance(1);
      await until(async () => await status() === "interrupted");
      assert.equal((await purser.api("GET", "/sessions/s1")).body.active_run_id, null);
    },
  });
}
