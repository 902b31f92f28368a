import assert from "node:assert/strict";
import { add } from "../harness/budget_requests.ts";
import { openTestPurser, type TestPurser } from "../harness/test_purser.ts";

/** Runs that wait for a person. */

const ASK = { name: "Ask", limit_usd: 0, per: "day", action: "ask" };
const turn = () => new Promise((resolve) => setTimeout(resolve, 0));

async function openWaiting() {
  const purser = await openTestPurser({ config: { approvalTimeoutSeconds: 120 } });
  await purser.api("PUT", "/agents/helper", { model: "demo:echo" });
  await add(purser, ASK);
  const answer = purser.api("POST", "/agents/helper/runs", { input: "Hi", session_id: "s1" });
  for (;;) {
    const { body: [ticket] } = await purser.api("GET", "/approvals");
    if (ticket) return { purser, ticket, answer };
    await turn();
  }
}

/** Moves the clock until an answer is there; returns how far. */
async function pass<T>({ clock }: TestPurser, answer: Promise<T>): Promise<{ value: T; ms: number }> {
  const startedAt = clock.now();
  let isDone = false;
  const done = answer.finally(() => isDone = true);
  while (!isDone) {
    for (let n = 0; n < 5; n++) await turn();
    if (!isDone) clock.advance(1_000);
  }
  return { value: await done, ms: clock.now() - startedAt };
}

Deno.test("a run that waits says so, holds nothing, and goes on once its ticket is approved", async () => {
  const { purser, ticket, answer } = await openWaiting();
  await using _closing = purser;
  const path = `/runs/${ticket.run_id}`;
  const { body: run } = await purser.api("GET", path);
  assert.deepEqual([run.status, run.waiting_for], ["running", ticket.ticket_id]);
  const { body: [listed] } = await purser.api("GET", "/runs?status=running");
  assert.equal(listed.waiting_for, ticket.ticket_id);
  const session = (await purser.api("GET", `/sessions/${run.session_id}`)).body;
  const { body: [inList] } = await purser.api("GET", "/sessions");
  assert.deepEqual([session, inList].map(({ status, waiting_for }) => [status, waiting_for]), [
    ["running", ticket.ticket_id],
    ["running", ticket.ticket_id],
  ]);
  const { rows } = await purser.core.store.read({ sql: "SELECT count(*) FROM reservations" });
  assert.deepEqual(rows, [[0n]]);
  const logged = purser.logs.filter(({ message }) => /waits for a person/.test(message));
  assert.deepEqual(logged.map(({ fields }) => fields.ticket_id), [ticket.ticket_id]);
  await purser.api("POST", `/approvals/${ticket.ticket_id}/approve`, { reason: "go on", extra_usd: 1 });
  const { value } = await pass(purser, answer);
  assert.deepEqual([value.status, value.body.output], [200, "You said: Hi"]);
  assert.equal("waiting_for" in (await purser.api("GET", path)).body, false);
});

Deno.test("a run waits for the time of the config, and then ends with the ticket", async () => {
  const { purser, ticket, answer } = await openWaiting();
  await using _closing = purser;
  const { value, ms } = await pass(purser, answer);
  assert.ok(ms >= 119_000 && ms <= 125_000, String(ms));
  assert.deepEqual([value.status, value.body.details.ticket_id], [402, ticket.ticket_id]);
  const { body: run } = await purser.api("GET", `/runs/${ticket.run_id}`);
  assert.deepEqual([run.status, "waiting_for" in run], ["budget_exceeded", false]);
  assert.equal((await purser.api("GET", `/approvals/${ticket.ticket_id}`)).body.state, "waiting");
});

Deno.test("a run that waits can be cancelled", async () => {
  const { purser, ticket, answer } = await openWaiting();
  await using _closing = purser;
  assert.equal((await purser.api("POST", `/runs/${ticket.run_id}/cancel`)).status, 202);
  const { value } = await pass(purser, answer);
  assert.deepEqual([value.status, value.body.status], [200, "cancelled"]);
  const { rows } = await purser.core.store.read({ sql: "SELECT count(*) FROM calls" });
  assert.deepEqual(rows, [[0n]]);
});
