import assert from "node:assert/strict";
import { withAccessCheck } from "../../src/http/server/mod.ts";
import { answerTo } from "../harness/answers.ts";
import { add } from "../harness/budget_requests.ts";
import { EVENT } from "../harness/bodies.ts";
import { openWithChannels } from "../harness/deliveries.ts";
import { startFakeProvider } from "../harness/fake_provider.ts";
import { openHttpClient } from "../harness/http_client.ts";
import { recordingChannel } from "../harness/recording_channel.ts";
import { openTestPurser, type TestPurser } from "../harness/test_purser.ts";

/** The answers of people over REST: who may, and what the callers get. */

const ASK = { name: "Each", limit_usd: 1, per: "day", each: "key", action: "ask" };

/** A Purser with the keys of three people, one of whom has spent the budget. */
async function openTeam(more: Parameters<typeof openTestPurser>[0] = {}) {
  const stack = new AsyncDisposableStack();
  const fake = stack.use(await startFakeProvider((request) => answerTo(request, { text: "Hello" })));
  const ops = recordingChannel("ops");
  const purser = stack.use(await openWithChannels([ops], { fake, ...more }));
  const makeKey = async (name: string, scopes: string[], tags: Record<string, string>) =>
    (await purser.api("POST", "/keys", { name, scopes, tags })).body as { key: string; key_id: string };
  const anna = await makeKey("anna", ["call", "report", "read"], { user: "anna", team: "search" });
  const annaToo = await makeKey("anna-2", ["approve", "read"], { user: "anna" });
  const lead = await makeKey("lead", ["approve"], { user: "lena", team: "search" });
  const other = await makeKey("other", ["approve", "read"], { team: "ads" });
  const blind = await makeKey("blind", ["approve"], { team: "ads" });
  const boss = await makeKey("boss", ["admin"], {});
  await add(purser, ASK);
  const client = openHttpClient(purser);
  const send = (method: string, path: string, { key }: { key: string }, body?: unknown) =>
    client.send(method, path, { key, body });
  const spent = await send("POST", "/costs/events", anna, [{
    ...{ ...EVENT, call_id: "spent", at: "2026-11-01T11:00:00.000Z", cost_usd: 1 },
  }]);
  assert.equal(spent.status, 201);
  const call = (signal?: AbortSignal) =>
    withAccessCheck(purser.core, purser.app)(
      new Request("http://purser.example/v1/chat/completions", {
        method: "POST",
        headers: { authorization: `Bearer ${anna.key}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "gpt-4o-mini", messages: [{ role: "user", content: "Hi" }] }),
        signal,
      }),
    );
  return {
    ...{ purser, fake, ops, send, call, anna, annaToo, lead, other, blind, boss },
    /** Waits for the ticket of a call. */
    async asked() {
      for (;;) {
        const { body } = await send("GET", "/approvals", boss);
        if (body.length > 0) return body[0];
        await turn();
      }
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const turn = () => new Promise((resolve) => setTimeout(resolve, 0));

/** Moves the clock until a promise has settled. */
async function pass<T>({ clock }: TestPurser, answer: T | Promise<T>): Promise<T> {
  let isDone = false;
  const done = Promise.resolve(answer).finally(() => isDone = true);
  done.catch(() => {});
  while (!isDone) {
    for (let n = 0; n < 5; n++) await turn();
    if (!isDone) clock.advance(500);
  }
  return await done;
}

Deno.test("the person who asks can't approve, nor by another key; another person can, and the call goes on", async () => {
  await using team = await openTeam();
  const { purser, send, anna, annaToo, lead, boss } = team;
  const call = team.call();
  const ticket = await team.asked();
  assert.deepEqual(
    [ticket.key_name, ticket.key_user, ticket.model, ticket.provider, ticket.counter.id],
    ["anna", "anna", "gpt-4o-mini", "openai", anna.key_id],
  );
  const path = `/approvals/${ticket.ticket_id}`;
  const body = { reason: "release", extra_usd: 2 };
  assert.equal((await send("POST", `${path}/approve`, anna, body)).status, 403, "it lacks the scope");
  const own = await send("POST", `${path}/approve`, annaToo, body);
  assert.equal(own.status, 403);
  assert.match(own.body.detail, /another one of the same person, has asked; another person has to/);
  assert.equal((await send("GET", path, boss)).body.state, "waiting");
  const approved = await send("POST", `${path}/approve`, lead, body);
  assert.equal(approved.status, 200, JSON.stringify(approved.body));
  assert.deepEqual([approved.body.state, approved.body.decided_by, approved.body.reason], [
    ...["approved", "lead", "release"],
  ]);
  assert.equal((await pass(purser, call)).status, 200);
  const again = await send("POST", `${path}/deny`, boss, { reason: "no" });
  assert.equal(again.status, 409);
  assert.match(again.body.detail, /it was approved by lead at 2026-11-01T12:00:0\d/);
  const { body: raises } = await send("GET", `/budgets/${ticket.budget_id}/raises`, boss);
  assert.deepEqual(
    raises.map(({ extra_usd, key_name, reason, counter }: Record<string, unknown>) => [
      ...[extra_usd, key_name, reason, (counter as { id: string }).id],
    ]),
    [[2, "lead", "release", anna.key_id]],
  );
  const { body: audit } = await send("GET", "/audit?limit=1", boss);
  assert.deepEqual([audit[0].action, audit[0].actor_name, audit[0].after.ticket_id], [
    ...["approved", "lead", ticket.ticket_id],
  ]);
});

Deno.test("a key with tags answers only for calls with these tags, and without read sees no others", async () => {
  await using team = await openTeam();
  const { purser, send, other, blind, lead } = team;
  const call = team.call();
  const { ticket_id } = await team.asked();
  for (const answer of ["approve", "deny"]) {
    const path = `/approvals/${ticket_id}/${answer}`;
    const outside = await send("POST", path, other, { reason: "mine" });
    assert.equal(outside.status, 403);
    assert.match(outside.body.detail, /its call has not the tag team=ads/);
    assert.equal((await send("POST", path, blind, { reason: "mine" })).status, 404);
  }
  assert.deepEqual((await send("GET", "/approvals", blind)).body, []);
  assert.equal((await send("GET", "/approvals?state=waiting", lead)).body.length, 1);
  assert.equal((await send("GET", "/approvals?state=denied", lead)).body.length, 0);
  await send("POST", `/approvals/${ticket_id}/deny`, lead, { reason: "wait for tomorrow" });
  const refused = await pass(purser, call);
  assert.equal(refused.status, 402);
  const { error } = await refused.json();
  assert.match(error.message, new RegExp(`Ticket ${ticket_id}, which asked for more, was denied`));
});

Deno.test("a client waits 30 s at most, and its refusal has the ticket and how to go on", async () => {
  await using team = await openTeam();
  const { purser, fake, send, boss, anna } = team;
  const refused = await pass(purser, team.call());
  assert.equal(refused.status, 402);
  assert.equal(refused.headers.get("x-should-retry"), "false");
  const { error } = await refused.json();
  const { ticket_id, refused_by: [by] } = error.details;
  assert.deepEqual([by.reason, by.ticket_id, by.ticket_state], ["spent", ticket_id, "waiting"]);
  assert.match(
    error.message,
    new RegExp(`Ticket ${ticket_id} asks for more until .*; call again once it is approved`),
  );
  const { body: [refusal] } = await send("GET", "/budgets/refusals", boss);
  assert.equal(refusal.refused_by[0].ticket_id, ticket_id);
  await send("POST", `/approvals/${ticket_id}/approve`, boss, { reason: "ok", extra_usd: 1 });
  assert.equal((await pass(purser, team.call())).status, 200);
  assert.equal(fake.calls, 1);
  assert.equal((await send("GET", "/approvals", anna)).body.length, 1, "the caller sees what became of it");
});

Deno.test("people are notified once, with what is asked, by whom, for what and what it costs", async () => {
  await using team = await openTeam();
  const { purser, ops, send, boss } = team;
  const leaving = new AbortController();
  const calls = [team.call(leaving.signal), team.call(leaving.signal), team.call(leaving.signal)];
  const ticket = await team.asked();
  await ops.until(2);
  const asks = ops.sent.map(({ notification }) => notification).filter(({ title }) => /asks for/.test(title));
  assert.equal(asks.length, 1);
  const [{ title, facts, data, severity }] = asks as [typeof asks[0]];
  assert.match(title, /^Budget Each, key anna: anna asks for \$0\.0\d+ more$/);
  const valueOf = (wanted: string) => facts.find(({ label }) => label === wanted)?.value;
  assert.equal(severity, "critical");
  assert.match(valueOf("Asked for")!, /^\$0\.0\d+ more than \$1$/);
  assert.deepEqual([valueOf("Spent"), valueOf("Model"), valueOf("Key")], [
    "$1",
    "openai:gpt-4o-mini",
    "anna",
  ]);
  assert.match(valueOf("The call may cost")!, /^\$0\.0/);
  assert.equal(valueOf("Answer with"), `purser approvals approve ${ticket.ticket_id} --reason TEXT`);
  assert.equal((data as { approval: { ticket_id: string } }).approval.ticket_id, ticket.ticket_id);
  const { body: history } = await send("GET", "/alerts/history", boss);
  assert.deepEqual(
    history.map(({ threshold_type }: { threshold_type: string }) => threshold_type),
    ["budget_ask_usd", "budget_per_day_usd"],
  );
  const detail = await send("GET", `/alerts/history/${history[0].alert_id}`, boss);
  assert.deepEqual([detail.status, detail.body.causes], [200, null]);
  leaving.abort();
  for (const answer of await pass(purser, Promise.all(calls))) assert.equal(answer.status, 503);
  assert.equal((await send("GET", "/approvals", boss)).body[0].state, "waiting");
});

Deno.test("a reservation elsewhere is refused with the budget's one ticket, and made once that is approved", async () => {
  await using team = await openTeam();
  const { purser, ops, send, boss, lead } = team;
  const runner = (await purser.api("POST", "/keys", {
    ...{ name: "runner", scopes: ["run"], tags: { team: "search" } },
  })).body as { key: string; key_id: string };
  const reserve = (more: object = {}, headers: Record<string, string> = {}) =>
    openHttpClient(purser).send("POST", "/budgets/reservations", {
      ...{
        key: runner.key,
        headers,
        body: { agent_id: "helper", estimate_usd: 1.5, model: "gpt-4o-mini", ...more },
      },
    });
  const keyed = { "idempotency-key": "one" };
  const refused = await reserve({}, keyed);
  const again = await reserve({ estimate_usd: 3 });
  const { body: [ticket, ...others] } = await send("GET", "/approvals", boss);
  assert.deepEqual(others, []);
  assert.deepEqual(
    [ticket.asked_usd, ticket.cost_usd, ticket.key_name, ticket.model, ticket.state],
    [0.5, 1.5, "runner", "gpt-4o-mini", "waiting"],
  );
  for (const { status, body: { detail, details } } of [refused, again]) {
    assert.deepEqual([status, details.ticket_id], [402, ticket.ticket_id], detail);
    assert.match(detail, new RegExp(`Ticket ${ticket.ticket_id} asks for more until`));
    assert.deepEqual([details.refused_by[0].reason, details.refused_by[0].ticket_state], [
      ...["would_overshoot", "waiting"],
    ]);
  }
  await ops.until(2);
  const asks = ops.sent.filter(({ notification: { title } }) => /asks for/.test(title));
  assert.deepEqual(asks.map(({ notification }) => notification.title), [
    "Budget Each, key runner: runner asks for $0.5 more",
  ]);
  const own = await send("POST", `/approvals/${ticket.ticket_id}/approve`, runner, { reason: "mine" });
  assert.equal(own.status, 403);
  assert.equal(
    (await send("POST", `/approvals/${ticket.ticket_id}/approve`, lead, { reason: "ok" })).status,
    200,
  );
  assert.equal((await reserve({}, keyed)).status, 201, "the refusal has left the key free");
  assert.equal((await reserve({ estimate_usd: 0.1 })).body.details.refused_by[0].reason, "held");
  purser.clock.advance(6_000);
  assert.equal((await reserve({ estimate_usd: 2 })).status, 402);
  const { body: [next] } = await send("GET", "/approvals?state=waiting", boss);
  assert.notEqual(next.ticket_id, ticket.ticket_id);
  await send("POST", `/approvals/${next.ticket_id}/deny`, lead, { reason: "tomorrow" });
  const denied = await reserve({ estimate_usd: 2 });
  assert.match(denied.body.detail, new RegExp(`Ticket ${next.ticket_id}, which asked for more, was denied`));
});

Deno.test("a ticket of a counter that its budget has no more has expired, and raises nothing", async () => {
  await using team = await openTeam();
  const { purser, send, boss } = team;
  const call = team.call();
  const { ticket_id, budget_id } = await team.asked();
  assert.equal((await send("PATCH", `/budgets/${budget_id}`, boss, { each: "tag:team" })).status, 200);
  const late = await send("POST", `/approvals/${ticket_id}/approve`, boss, { reason: "late" });
  assert.deepEqual([late.status, late.body.details.state], [409, "expired"], JSON.stringify(late.body));
  assert.deepEqual((await send("GET", `/budgets/${budget_id}/raises`, boss)).body, []);
  await pass(purser, call);
});

Deno.test("an approval of more than raises may sum up to changes nothing, and the ticket waits on", async () => {
  await using team = await openTeam();
  const { purser, send, boss } = team;
  const call = team.call();
  const { ticket_id, budget_id } = await team.asked();
  await send("POST", `/budgets/${budget_id}/raises`, boss, { extra_usd: 1e9, counter: "other" });
  const refused = await send("POST", `/approvals/${ticket_id}/approve`, boss, {
    reason: "all",
    extra_usd: 5,
  });
  assert.equal(refused.status, 409, JSON.stringify(refused.body));
  assert.match(refused.body.detail, /the raises of budget bud_\w+ at a time can't exceed a billion USD/);
  assert.equal((await send("GET", `/approvals/${ticket_id}`, boss)).body.state, "waiting");
  assert.equal((await send("POST", `/approvals/${ticket_id}/deny`, boss, { reason: "no" })).status, 200);
  await pass(purser, call);
  await send("DELETE", `/budgets/${budget_id}`, boss);
  assert.equal((await send("GET", `/approvals/${ticket_id}`, boss)).status, 404);
});

Deno.test("a check of a budget that asks opens no ticket, and names the one that waits or was denied", async () => {
  await using team = await openTeam();
  const { purser, send, boss, anna } = team;
  const check = async () => {
    const { body } = await send("GET", "/budgets/check", anna);
    const { ticket_id, ticket_state, asks_again_at, counter } = body[0];
    assert.equal(counter.id, anna.key_id);
    return [ticket_id, ticket_state, asks_again_at];
  };
  assert.deepEqual(await check(), [null, undefined, undefined]);
  assert.deepEqual((await send("GET", "/approvals", boss)).body, []);
  const call = team.call();
  const { ticket_id } = await team.asked();
  assert.deepEqual(await check(), [ticket_id, "waiting", undefined]);
  await send("POST", `/approvals/${ticket_id}/deny`, boss, { reason: "no" });
  assert.equal((await pass(purser, call)).status, 402);
  const [id, state, again] = await check();
  assert.deepEqual([id, state], [ticket_id, "denied"]);
  assert.ok(Date.parse(again) > purser.clock.now());
});
