import assert from "node:assert/strict";
import { setImmediate } from "node:timers";
import { DAY_MS, fixedClock, systemClock } from "../src/kernel/clock.ts";
import { meter } from "../src/runner/mod.ts";
import { assertProblem } from "./harness/assert_problem.ts";
import { callOptions, fakeModel } from "./harness/fake_model.ts";
import { makeKey, openHttpClient } from "./harness/http_client.ts";
import { openTestPurser } from "./harness/test_purser.ts";
import { add, AT, BUDGETS, DAY, keyed, read, spend } from "./harness/budget_requests.ts";

/** Budgets over REST: the resource, the check of what applies, and the access of keys. The clock stands at noon. */

Deno.test("a budget is added with the defaults, read, listed, changed and removed", async () => {
  await using purser = await openTestPurser();
  const created = await purser.api("POST", BUDGETS, DAY);
  assert.equal(created.status, 201);
  const { budget_id } = created.body;
  const path = `${BUDGETS}/${budget_id}`;
  assert.match(budget_id, /^bud_/);
  assert.equal(created.headers.get("location"), path);
  assert.deepEqual(created.body, {
    budget_id,
    ...DAY,
    ...{
      agent_id: null,
      session_id: null,
      key_id: null,
      tags: null,
      model: null,
      provider: null,
      source: null,
      billing: null,
      each: null,
      mode: "stop",
      action: "refuse",
    },
    ...{ warn_at: [0.8, 1], forecast: false, counts_from: null, allow_unpriced: false, enabled: true },
    ...{ time_zone: "UTC", week_start: "monday", month_start_day: 1 },
    ...{ created_at: AT, updated_at: AT, spent_usd: 0, reserved_usd: 0, extra_usd: 0, left_usd: 50 },
    ...{ window_start: "2026-11-01T00:00:00.000Z", resets_at: "2026-11-02T00:00:00.000Z", state: "ok" },
    ...{ refused_calls: 0, last_refused_at: null, usd_per_hour: 0, reaches_at: null },
  });
  const full = {
    ...{
      name: "日".repeat(200),
      limit_usd: 0.000000001,
      per: "lifetime",
      agent_id: "researcher",
      session_id: null,
    },
    ...{
      key_id: null,
      each: "session",
      mode: "strict",
      action: "watch",
      warn_at: [0.25, 0.5],
      allow_unpriced: true,
    },
    ...{ counts_from: "2026-10-01T00:00:00.000Z", enabled: false },
  };
  purser.clock.advance(1);
  const second = await add(purser, { ...full, warn_at: [0.5, 0.25] });
  assert.deepEqual({ ...second, ...full }, second, "warnings are ascending");
  assert.deepEqual([second.counter, second.unpriced_calls], [null, undefined]);
  assert.deepEqual((await purser.api("GET", BUDGETS)).body, [created.body, second]);
  assert.deepEqual((await purser.api("GET", `${BUDGETS}?name=Day`)).body, [created.body]);
  assert.deepEqual(await read(purser, budget_id), created.body);

  purser.clock.advance(1);
  const changed = await purser.api("PATCH", path, { limit_usd: 20 });
  const updated_at = "2026-11-01T12:00:00.002Z";
  assert.deepEqual(changed.body, { ...created.body, limit_usd: 20, left_usd: 20, updated_at });
  purser.clock.advance(1);
  assert.deepEqual(
    (await purser.api("PATCH", path, { limit_usd: 20 })).body,
    changed.body,
    "nothing differs",
  );
  const all = (await purser.api("PATCH", path, full)).body;
  assert.deepEqual({ ...all, ...full }, all);

  assert.equal((await purser.api("DELETE", path)).status, 204);
  for (const method of ["GET", "DELETE", "PATCH"]) {
    const body = method === "PATCH" ? { enabled: true } : undefined;
    await assertProblem(purser, method, path, body, { status: 404, code: "not_found" });
  }
});

Deno.test("what a change results in is checked as a whole, and names the field", async () => {
  await using purser = await openTestPurser();
  const { budget_id } = await add(purser, { ...DAY, agent_id: "researcher" });
  const path = `${BUDGETS}/${budget_id}`;
  const wrong: [changes: object, path: string][] = [
    [{ session_id: "s", per: "run" }, "session_id"],
    [{ each: "agent" }, "each"],
    [{ counts_from: "2026-11-01T00:00:00Z" }, "counts_from"],
    [{ limit_usd: -1 }, "limit_usd"],
    [{ name: " " }, "name"],
    [{ warn_at: [2] }, "warn_at[0]"],
    [{ budget_id: "bud_other" }, "budget_id"],
    [{}, ""],
  ];
  for (const [changes, field] of wrong) {
    await assertProblem(purser, "PATCH", path, changes, { status: 400, code: "invalid", path: field });
  }
  await add(purser, { ...DAY, name: "S", each: "session" });
  assert.equal((await purser.api("PATCH", path, { agent_id: null, each: "agent" })).body.each, "agent");
  await assertProblem(purser, "PATCH", path, { per: "run" }, { status: 400, code: "invalid", path: "each" });
});

Deno.test("the ETag is that of the definition: spending and raises leave it, each change of a field moves it", async () => {
  await using purser = await openTestPurser();
  const { keyId: key_id } = await makeKey(purser, ["call"]);
  const created = await purser.api("POST", BUDGETS, DAY);
  const path = created.headers.get("location")!;
  const etag = created.headers.get("etag")!;
  const present = async () => (await purser.api("GET", path)).headers.get("etag");
  await spend(purser, 1);
  purser.clock.advance(1);
  await purser.api("POST", `${path}/raises`, { extra_usd: 1 });
  assert.equal(await present(), etag);
  const changes = [
    ...[{ name: "D" }, { limit_usd: 1 }, { per: "week" }, { key_id }, { each: "session" }, {
      mode: "strict",
    }],
    ...[{ action: "watch" }, { warn_at: [] }, { allow_unpriced: true }, { enabled: false }],
    ...[{ per: "lifetime", counts_from: "2026-11-01T00:00:00Z" }],
  ];
  let before = etag;
  for (const change of changes) {
    const stale = await purser.api("PATCH", path, change, { "if-match": '"0"' });
    assert.deepEqual([stale.status, stale.body.code], [412, "precondition_failed"]);
    const answer = await purser.api("PATCH", path, change, { "if-match": before });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.notEqual(answer.headers.get("etag"), before, JSON.stringify(change));
    before = answer.headers.get("etag")!;
    assert.equal(await present(), before);
  }
  assert.equal((await purser.api("DELETE", path, undefined, { "if-match": etag })).status, 412);
  assert.equal((await purser.api("DELETE", path, undefined, { "if-match": before })).status, 204);
});

Deno.test("of many changes at once all hold, and of those that expect one ETag the first", async () => {
  await using purser = await openTestPurser();
  const { budget_id } = await add(purser, DAY);
  const path = `${BUDGETS}/${budget_id}`;
  const changes = [{ name: "A" }, { limit_usd: 7 }, { mode: "strict" }, { warn_at: [0.1] }, {
    each: "agent",
  }];
  await Promise.all(changes.map((change) => purser.api("PATCH", path, change)));
  const changed = await read(purser, budget_id);
  assert.deepEqual({ ...changed, ...Object.assign({}, ...changes) }, changed);
  const expecting = { "if-match": (await purser.api("GET", path)).headers.get("etag")! };
  const answers = await Promise.all(
    [1, 2, 3].map((limit_usd) => purser.api("PATCH", path, { limit_usd }, expecting)),
  );
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 412, 412]);
});

Deno.test("a budget or a raise that is sent again under its Idempotency-Key is made once", async () => {
  await using purser = await openTestPurser();
  const add = (limit_usd: number) => purser.api("POST", BUDGETS, { ...DAY, limit_usd }, keyed("b"));
  const answers = await Promise.all([add(1), add(1)]);
  const first = answers.find(({ status }) => status === 201)!;
  const again = await add(1);
  assert.deepEqual([again.status, again.body, again.headers.get("idempotency-replayed")], [
    201,
    first.body,
    "true",
  ]);
  assert.equal((await add(2)).status, 422);
  assert.equal((await purser.api("GET", BUDGETS)).body.length, 1);

  const raises = `${BUDGETS}/${first.body.budget_id}/raises`;
  const raise = (extra_usd: number) => purser.api("POST", raises, { extra_usd }, keyed("r"));
  const raised = await raise(5);
  assert.deepEqual((await raise(5)).body, raised.body);
  assert.equal((await raise(6)).status, 422);
  assert.equal((await purser.api("GET", raises)).body.length, 1);
  const { status } = await purser.api("POST", `${BUDGETS}/bud_x/raises`, { extra_usd: 1 }, keyed("x"));
  assert.equal(status, 404);
  assert.equal(
    (await purser.api("POST", `${BUDGETS}/bud_x/raises`, { extra_usd: 2 }, keyed("x"))).status,
    404,
  );
});

Deno.test("a check lists what applies to a call, the tightest first", async () => {
  await using purser = await openTestPurser();
  await purser.api("PUT", "/agents/ann", { model: "demo:echo", cost_budget_usd: 7 });
  const named = (name: string, limit_usd: number, more: object) => add(purser, { name, limit_usd, ...more });
  await named("all", 50, { per: "day" });
  await named("ann", 20, { per: "day", agent_id: "ann" });
  await named("bob", 1, { per: "day", agent_id: "bob" });
  await named("each", 1, { per: "day", each: "agent" });
  await named("each month", 15, { per: "month", each: "agent" });
  await named("session", 6, { per: "session" });
  await named("each session", 8, { per: "day", each: "session", agent_id: "ann" });
  await named("run", 4, { per: "run" });
  await named("key", 1, { per: "day", key_id: (await makeKey(purser, ["call"])).keyId });
  await named("each key", 1, { per: "day", each: "key" });
  await named("off", 1, { per: "day", enabled: false });
  await named("s1", 9, { per: "lifetime", session_id: "s1" });
  await spend(purser, 5, { agent_id: "ann", session_id: "s1" });

  const check = async (query: string) =>
    (await purser.api("GET", `${BUDGETS}/check?${query}`)).body.map((
      { name, scope, left_usd }: { name: string; scope: string; left_usd: number },
    ) => [name, scope, left_usd]);
  assert.deepEqual(await check("agent_id=ann&session_id=s1"), [
    ["session", "session s1", 1],
    ["each session", "session s1", 3],
    ["run", "new run", 4],
    ["s1", "session s1", 4],
    [null, "new run", 7],
    ["each month", "agent ann", 10],
    ["ann", "agent ann", 15],
    ["all", "all", 45],
  ]);
  assert.deepEqual(await check("session_id=s1"), await check("agent_id=ann&session_id=s1"));
  assert.deepEqual(await check("agent_id=cleo"), [
    ["each", "agent cleo", 1],
    ["run", "new run", 4],
    ["session", "new session", 6],
    ["each month", "agent cleo", 15],
    ["all", "all", 45],
  ]);
  assert.deepEqual((await check("")).map(([name]: string[]) => name), ["run", "session", "all"]);
});

Deno.test("a key of one agent reads its own budgets, and no amounts over all agents", async () => {
  await using purser = await openTestPurser();
  const { key, keyId: key_id } = await makeKey(purser, ["read", "run"], { agent_id: "mine" });
  const client = openHttpClient(purser);
  const ids = new Map<string, string>();
  const own = [{ agent_id: "mine" }, { key_id }, { session_id: "ses_mine" }];
  const other = await makeKey(purser, ["read"]);
  const others = [{ agent_id: "theirs" }, { key_id: other.keyId }, { session_id: "ses_theirs" }];
  const shared = [{}, { each: "agent", per: "week" }, { each: "key", per: "week" }, { per: "session" }];
  for (const [kind, budgets] of Object.entries({ own, others, shared })) {
    for (const more of budgets) {
      const name = `${kind} ${JSON.stringify(more)}`;
      ids.set(name, (await add(purser, { ...DAY, name, ...more })).budget_id);
    }
  }
  for (const agent of ["mine", "theirs"]) {
    await spend(purser, 1, { agent_id: agent, session_id: `ses_${agent}` });
  }

  const listed = (await client.send("GET", BUDGETS, { key })).body as Record<string, unknown>[];
  assert.deepEqual(
    listed.map((
      { name, spent_usd, left_usd, state, counter },
    ) => [name, spent_usd, left_usd, state, counter]),
    [
      ['own {"agent_id":"mine"}', 1, 49, "ok", undefined],
      [`own {"key_id":"${key_id}"}`, 0, 50, "ok", undefined],
      ['own {"session_id":"ses_mine"}', 1, 49, "ok", undefined],
      ["shared {}", undefined, undefined, "ok", undefined],
      ['shared {"each":"agent","per":"week"}', 1, 49, "ok", { kind: "agent", id: "mine" }],
      ['shared {"each":"key","per":"week"}', 0, 50, "ok", null],
      ['shared {"per":"session"}', 1, 49, "ok", { kind: "session", id: "ses_mine" }],
    ],
  );
  for (const [name, id] of ids) {
    const expected = name.startsWith("others") ? 404 : 200;
    assert.equal((await client.send("GET", `${BUDGETS}/${id}`, { key })).status, expected, name);
    const raises = (await client.send("GET", `${BUDGETS}/${id}/raises`, { key })).status;
    assert.equal(raises, name === "shared {}" ? 403 : expected, name);
  }
  const checks = (await client.send("GET", `${BUDGETS}/check`, { key })).body as Record<string, unknown>[];
  const amountsOf = (name: string) => {
    const check = checks.find((each) => each.name === name);
    return check && [check.scope, check.limit_usd, check.spent_usd, check.left_usd, check.state];
  };
  assert.deepEqual(amountsOf("shared {}"), ["all", 50, undefined, undefined, "ok"]);
  assert.deepEqual(amountsOf('own {"agent_id":"mine"}'), ["agent mine", 50, 1, 49, "ok"]);
  assert.deepEqual(checks.length, 6, "its agent's, its key's, and those over all agents");
  for (const query of ["agent_id=theirs", "session_id=ses_theirs", "session_id=new"]) {
    assert.equal((await client.send("GET", `${BUDGETS}/check?${query}`, { key })).status, 403, query);
  }
  assert.equal((await client.send("GET", `${BUDGETS}/check?session_id=mine:new`, { key })).status, 200);
});

Deno.test("a change of budgets is known to its process at once", async () => {
  await using purser = await openTestPurser();
  const { budgets } = purser.core;
  const isKnown = () => budgets.mayExist && budgets.mayBeStrict && budgets.mayWatch;
  const forget = () => void Object.assign(budgets, { mayExist: false, mayBeStrict: false, mayWatch: false });
  forget();
  const { budget_id } = await add(purser, DAY);
  const path = `${BUDGETS}/${budget_id}`;
  assert.ok(isKnown());
  const changes: [method: string, path: string, body?: object][] = [
    ["PATCH", path, { limit_usd: 1 }],
    ["POST", `${path}/raises`, { extra_usd: 1 }],
    ["DELETE", path],
  ];
  for (const [method, at, body] of changes) {
    forget();
    assert.ok((await purser.api(method, at, body)).status < 300);
    assert.ok(isKnown(), `${method} ${at}`);
  }
});

Deno.test("a call that is booked after midnight, and a late report, count in the day before, which warns no more", async () => {
  const prices = [{
    provider: "local",
    model: "priced",
    input_usd_per_million: 1,
    output_usd_per_million: 4,
  }];
  await using purser = await openTestPurser({ config: { prices } });
  const day = await add(purser, { ...DAY, limit_usd: 0.001 });
  const month = await add(purser, { ...DAY, per: "month", limit_usd: 0.001 });
  const fake = fakeModel(() => {
    purser.clock.advance(DAY_MS / 2);
    return Promise.resolve({ inputTokens: 1_000_000, outputTokens: 1 });
  });
  await meter(purser.core, fake.model, { agentId: "a", provider: "local" }).doGenerate(callOptions("Hello"));
  await spend(purser, 1, { at: AT });
  const { body } = await purser.api("GET", "/alerts/history");
  assert.deepEqual(
    body.map((alert: { rule_id: string; window_start: string }) => [alert.rule_id, alert.window_start]),
    [[month.budget_id, "2026-11-01T00:00:00.000Z"]],
  );
  const { spent_usd, window_start } = await read(purser, day.budget_id);
  assert.deepEqual([spent_usd, window_start], [0, "2026-11-02T00:00:00.000Z"]);
});

Deno.test("a long list of budgets with many counters lets other requests in", async () => {
  await using purser = await openTestPurser({
    clock: { ...fixedClock(Date.parse(AT)), sleep: systemClock.sleep },
  });
  for (let number = 0; number < 40; number++) {
    await add(purser, { name: `B${number}`, limit_usd: 1, per: "run", agent_id: `agent_${number}` });
  }
  await spend(purser, 0.5, { agent_id: "agent_39", run_id: "r1", session_id: "s1" });
  let isListed = false;
  const listed = purser.api("GET", `${BUDGETS}?limit=1000`).finally(() => isListed = true);
  let served = 0;
  while (!isListed) {
    await new Promise<void>((resolve) => setImmediate(resolve));
    served++;
  }
  const { body } = await listed;
  assert.deepEqual([body.length, body.at(-1).spent_usd, body.at(-1).counter], [40, 0.5, {
    kind: "run",
    id: "r1",
    session_id: "s1",
  }]);
  assert.ok(served >= 10, `${served} turns of the event loop`);
});
