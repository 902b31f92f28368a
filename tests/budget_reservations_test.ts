import assert from "node:assert/strict";
import { assertProblem } from "./harness/assert_problem.ts";
import { createIds } from "../src/kernel/ids.ts";
import { EVENT } from "./harness/bodies.ts";
import { makeKey, openHttpClient } from "./harness/http_client.ts";
import { openTestPurser, type TestPurser } from "./harness/test_purser.ts";

/** Reservations for calls that are made elsewhere. */

const RESERVATIONS = "/budgets/reservations";
const DAY = { name: "Day", limit_usd: 1, per: "day" };

async function add(purser: TestPurser, budget: object): Promise<() => Promise<number[]>> {
  const { status, body } = await purser.api("POST", "/budgets", { ...DAY, ...budget });
  assert.equal(status, 201, JSON.stringify(body));
  return async () => {
    const { spent_usd, reserved_usd, left_usd } =
      (await purser.api("GET", `/budgets/${body.budget_id}`)).body;
    return [spent_usd, reserved_usd, left_usd];
  };
}

const reserve = (purser: TestPurser, more: object, headers?: HeadersInit) =>
  purser.api("POST", RESERVATIONS, { agent_id: "ann", ...more }, headers);

Deno.test("a reservation holds its estimate, of strict budgets its worst case, until it is released", async () => {
  await using purser = await openTestPurser();
  const stop = await add(purser, {});
  const strict = await add(purser, { mode: "strict", agent_id: "ann" });
  const other = await add(purser, { agent_id: "bob" });
  const { status, body, headers } = await reserve(purser, { estimate_usd: 0.1, worst_case_usd: 0.4 });
  assert.equal(status, 201);
  assert.match(body.reservation_id, /^rsv_/);
  assert.equal(headers.get("location"), `${RESERVATIONS}/${body.reservation_id}`);
  assert.deepEqual(body, {
    ...{ reservation_id: body.reservation_id, agent_id: "ann", session_id: null },
    ...{ estimate_usd: 0.1, worst_case_usd: 0.4, expires_at: "2026-11-01T12:05:00.000Z" },
  });
  assert.deepEqual([await stop(), await strict(), await other()], [[0, 0.1, 0.9], [0, 0.4, 0.6], [0, 0, 1]]);
  const path = `${RESERVATIONS}/${body.reservation_id}`;
  assert.equal((await purser.api("DELETE", path)).status, 204);
  assert.deepEqual([await stop(), await strict()], [[0, 0, 1], [0, 0, 1]]);
  await assertProblem(purser, "DELETE", path, undefined, { status: 404, code: "not_found" });
});

Deno.test("a reported call settles its reservation", async () => {
  await using purser = await openTestPurser({ ids: createIds({ now: () => 1 }) });
  const day = await add(purser, { mode: "strict" });
  const { reservation_id } = (await reserve(purser, { worst_case_usd: 0.5, session_id: "s" })).body;
  const call = { ...EVENT, agent_id: "ann", session_id: "s", cost_usd: 0.2, reservation_id };
  assert.equal((await purser.api("POST", "/costs/events", [call])).status, 201);
  assert.deepEqual(await day(), [0.2, 0, 0.8]);
  await assertProblem(purser, "DELETE", `${RESERVATIONS}/${reservation_id}`, undefined, {
    ...{ status: 404, code: "not_found", detail: /settled, released, or its time is over$/ },
  });
});

Deno.test("what doesn't fit is refused with the budgets, and counted and logged", async () => {
  await using purser = await openTestPurser();
  const day = await add(purser, { mode: "strict" });
  await add(purser, { name: "Wide", limit_usd: 100, per: "month" });
  assert.equal((await reserve(purser, { worst_case_usd: 0.6 })).status, 201);
  const { status, body } = await reserve(purser, { worst_case_usd: 0.6, session_id: "s" });
  assert.equal(status, 402);
  assert.match(
    body.detail,
    /^Cannot reserve for a call of agent ann: the strict budget “Day” \(\$1 per UTC day, all agents\)/,
  );
  const [refusal, ...others] = body.details.refused_by;
  assert.equal(others.length, 0);
  const { name, reserved_usd, spent_usd, needed_usd, mode } = refusal;
  assert.deepEqual([name, reserved_usd, spent_usd, needed_usd, mode], ["Day", 0.6, 0, 0.6, "strict"]);
  assert.deepEqual(await day(), [0, 0.6, 0.4]);
  const [budget] = (await purser.api("GET", "/budgets?name=Day")).body;
  assert.deepEqual([budget.refused_calls, budget.last_refused_at], [1, "2026-11-01T12:00:00.000Z"]);

  const unbounded = await reserve(purser, { estimate_usd: 0.1 });
  assert.deepEqual([unbounded.status, unbounded.body.details.refused_by[0].reason], [402, "unbounded"]);
  const { rows } = await purser.core.store.read({
    sql: "SELECT agent_id, session_id FROM events WHERE type = 'budget.refused' ORDER BY event_id",
  });
  assert.deepEqual(rows, [["ann", null], ["ann", null]], "the session is not in the database");
});

Deno.test("a reservation ends by itself after its time", async () => {
  await using purser = await openTestPurser();
  const day = await add(purser, {});
  const made = await reserve(purser, { estimate_usd: 0.3, ttl_seconds: 900 });
  assert.equal(made.body.expires_at, "2026-11-01T12:15:00.000Z");
  assert.deepEqual(await day(), [0, 0.3, 0.7]);
  // The lease is one of the database's own clock.
  await purser.core.store.write([{ sql: "UPDATE reservations SET expires_at = 1" }]);
  assert.deepEqual(await day(), [0, 0, 1]);
  assert.equal((await purser.api("DELETE", `${RESERVATIONS}/${made.body.reservation_id}`)).status, 404);
});

Deno.test("a reservation that is sent again under its Idempotency-Key is made once", async () => {
  await using purser = await openTestPurser();
  const day = await add(purser, {});
  const keyed = { "idempotency-key": "k" };
  const first = await reserve(purser, { estimate_usd: 0.3 }, keyed);
  const again = await reserve(purser, { estimate_usd: 0.3 }, keyed);
  assert.deepEqual([again.status, again.body, again.headers.get("idempotency-replayed")], [
    201,
    first.body,
    "true",
  ]);
  assert.deepEqual(await day(), [0, 0.3, 0.7]);
  assert.equal((await reserve(purser, { estimate_usd: 0.4 }, keyed)).status, 422);
  // A refusal leaves the key free.
  assert.equal((await reserve(purser, { estimate_usd: 0 }, { "idempotency-key": "z" })).status, 201);
});

Deno.test("a wrong reservation is refused, and names the field", async () => {
  await using purser = await openTestPurser();
  const wrong: [more: object, path: string][] = [
    [{}, "estimate_usd"],
    [{ estimate_usd: -1 }, "estimate_usd"],
    [{ estimate_usd: 2, worst_case_usd: 1 }, "worst_case_usd"],
    [{ estimate_usd: 1, ttl_seconds: 901 }, "ttl_seconds"],
    [{ estimate_usd: 1, session_id: "a b" }, "session_id"],
    [{ estimate_usd: 1, run_id: "run_1" }, "run_id"],
  ];
  for (const [more, path] of wrong) {
    await assertProblem(purser, "POST", RESERVATIONS, { agent_id: "ann", ...more }, {
      status: 400,
      code: "invalid",
      path,
    });
  }
});

Deno.test("no request releases what a call in progress here holds", async () => {
  await using purser = await openTestPurser();
  await purser.core.store.write([{
    sql: `INSERT INTO reservations (scope, at, reservation_id, worst_nano_usd, estimate_nano_usd, expires_at)
VALUES ('ann', 1, 'inst_1/req_1', 1, 1, 9000000000000)`,
  }]);
  const { status } = await purser.api("DELETE", `${RESERVATIONS}/${encodeURIComponent("inst_1/req_1")}`);
  assert.equal(status, 404);
  const { rows } = await purser.core.store.read({ sql: "SELECT count(*) FROM reservations" });
  assert.equal(rows[0]![0], 1n);
});

Deno.test("a key of one agent reserves and releases for its agent alone, and sees no amounts of others", async () => {
  await using purser = await openTestPurser();
  await add(purser, { mode: "strict" });
  const theirs = (await reserve(purser, { agent_id: "theirs", worst_case_usd: 0.9 })).body.reservation_id;
  const { key } = await makeKey(purser, ["run"], { agent_id: "ann" });
  const client = openHttpClient(purser);
  const post = (body: object) =>
    client.send("POST", RESERVATIONS, { key, body: { agent_id: "ann", ...body } });
  assert.equal((await post({ agent_id: "theirs", estimate_usd: 0.1 })).status, 403);
  assert.equal((await post({ session_id: "free", estimate_usd: 0.1 })).status, 403);
  const refused = await post({ worst_case_usd: 0.2 });
  assert.equal(refused.status, 402);
  const { details, detail } = refused.body as { details: { refused_by: object[] }; detail: string };
  assert.ok(!("spent_usd" in details.refused_by[0]!) && !("reserved_usd" in details.refused_by[0]!));
  assert.ok(!detail.includes("0.9"), detail);
  const own = await post({ session_id: "ann:new", worst_case_usd: 0.1 });
  assert.equal(own.status, 201);
  const release = (id: string) => client.send("DELETE", `${RESERVATIONS}/${id}`, { key });
  assert.equal((await release(theirs)).status, 404);
  assert.equal((await release((own.body as { reservation_id: string }).reservation_id)).status, 204);
});

Deno.test("a reservation is held by the budgets of its tags and its model; those of the key can't be given up", async () => {
  await using purser = await openTestPurser();
  const anna = await makeKey(purser, ["run"], { name: "anna", tags: { user: "anna" } });
  await purser.api("PUT", "/agents/ann", { model: "demo:echo", system_prompt: "", tags: { team: "search" } });
  const [user, customers, opus, team] = [
    await add(purser, { name: "Anna", tags: { user: "anna" }, mode: "strict" }),
    await add(purser, { name: "Customers", each: "tag:customer" }),
    await add(purser, { name: "Opus", model: "claude-opus-*", source: "report" }),
    await add(purser, { name: "Search", tags: { team: "search" } }),
  ];
  const send = (body: object) =>
    openHttpClient(purser).send("POST", RESERVATIONS, {
      key: anna.key,
      body: { agent_id: "ann", estimate_usd: 0.3, worst_case_usd: 0.4, ...body },
    });
  const call = { model: "claude-opus-5", provider: "anthropic" };
  const { status } = await send({ ...call, tags: { customer: "acme", user: "somebody else" } });
  assert.equal(status, 201);
  assert.deepEqual([await user(), await customers(), await opus(), await team()], [
    [0, 0.4, 0.6],
    [0, 0.3, 0.7],
    [0, 0.3, 0.7],
    [0, 0.3, 0.7],
  ]);
  assert.equal((await send({})).status, 201);
  assert.deepEqual([await user(), await customers(), await opus()], [[0, 0.8, 0.2], [0, 0.3, 0.7], [
    0,
    0.3,
    0.7,
  ]]);
  const refused = await send({ tags: { user: "nobody" } });
  assert.deepEqual([refused.status, refused.body.details.refused_by[0].name], [402, "Anna"]);
  const wrong = await send({ tags: { "a:b": "1" } });
  assert.deepEqual([wrong.status, wrong.body.details.issues[0].path], [400, "tags.a:b"]);
});
