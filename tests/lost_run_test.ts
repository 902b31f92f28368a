import assert from "node:assert/strict";
import { PurserError } from "../src/errors.ts";
import { openTestPurser, rejection, type TestPurser } from "./harness/test_purser.ts";

/** A run whose end can't be written, as on a full disk. Gives its id; afterwards the disk has room again. */
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

Deno.test("the next run on a session takes it back from a run whose end could not be written", async () => {
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

Deno.test("the event log keeps the definition that a run was made with, and an answer with a zero character whole", async () => {
  await using purser = await openTestPurser();
  const { run_id } = await purser.run({ systemPrompt: "Be brief", maxSteps: 3 }, "a\0b", { sessionId: "s1" });
  const started = (await purser.events("s1")).find(({ type }) => type === "run.started")!;
  const definition = started.payload.definition as Record<string, unknown>;
  assert.deepEqual([definition.system_prompt, definition.max_steps], ["Be brief", 3]);
  assert.equal((await purser.api("GET", `/runs/${run_id}`)).body.output, "You said: a\0b");
});
