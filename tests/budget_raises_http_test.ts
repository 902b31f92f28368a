import assert from "node:assert/strict";
import { assertProblem } from "./harness/assert_problem.ts";
import { makeKey } from "./harness/http_client.ts";
import { openTestPurser } from "./harness/test_purser.ts";
import { add, AT, BUDGETS, DAY, read, spend } from "./harness/budget_requests.ts";

/** The raises of a budget over REST. The clock stands at noon. */

Deno.test("a raise holds until its end, and is kept with its reason", async () => {
  await using purser = await openTestPurser();
  const { budget_id } = await add(purser, DAY);
  const raises = `${BUDGETS}/${budget_id}/raises`;
  await spend(purser, 50);
  const { status, body, headers } = await purser.api("POST", raises, { extra_usd: 20, reason: "Release" });
  assert.deepEqual([status, headers.get("location")], [201, raises]);
  assert.match(body.raise_id, /^raise_/);
  assert.deepEqual(body, {
    ...{
      raise_id: body.raise_id,
      budget_id,
      extra_usd: 20,
      until: "2026-11-02T00:00:00.000Z",
      reason: "Release",
    },
    ...{ counter: null, key_id: null, created_at: AT },
  });
  purser.clock.advance(1);
  await purser.api("POST", raises, { extra_usd: 0.5, until: "2026-11-01T13:00:00+00:00" });
  const stateOf = async () => {
    const { extra_usd, left_usd, state, limit_usd } = await read(purser, budget_id);
    return [limit_usd, extra_usd, left_usd, state];
  };
  assert.deepEqual(await stateOf(), [50, 20.5, 20.5, "ok"]);
  purser.clock.advance(3_600_000 - 1);
  assert.deepEqual(await stateOf(), [50, 20, 20, "ok"], "at its end it is over");
  purser.clock.advance(11 * 3_600_000);
  assert.deepEqual(await stateOf(), [50, 0, 50, "ok"]);
  const listed = (await purser.api("GET", raises)).body;
  assert.deepEqual(listed.map(({ extra_usd }: { extra_usd: number }) => extra_usd), [0.5, 20]);
});

Deno.test("a window that has warned warns again after a raise or a new limit, and not after a new name", async () => {
  await using purser = await openTestPurser();
  const { budget_id } = await add(purser, { ...DAY, limit_usd: 10 });
  const path = `${BUDGETS}/${budget_id}`;
  const warned = async () => {
    const { body } = await purser.api("GET", "/alerts/history");
    return body.map(({ rule_id, threshold_usd }: { rule_id: string; threshold_usd: number }) => {
      assert.equal(rule_id, budget_id);
      return threshold_usd;
    }).reverse();
  };
  await spend(purser, 8);
  await spend(purser, 0.5);
  assert.deepEqual(await warned(), [8]);
  await purser.api("PATCH", path, { name: "Another" });
  await spend(purser, 0.5);
  assert.deepEqual(await warned(), [8]);
  await purser.api("POST", `${path}/raises`, { extra_usd: 10 });
  await spend(purser, 6);
  assert.deepEqual(await warned(), [8], "15 is below 80% of 20");
  await spend(purser, 1);
  assert.deepEqual(await warned(), [8, 16]);
  await purser.api("PATCH", path, { limit_usd: 6 });
  await spend(purser, 0.5);
  assert.deepEqual(await warned(), [8, 16, 16], "over the whole limit with its raise");
});

Deno.test("a raise without an end lasts for the present window, or where there is none for good", async () => {
  await using purser = await openTestPurser();
  const ends = {
    ...{
      hour: "2026-11-01T13:00:00.000Z",
      day: "2026-11-02T00:00:00.000Z",
      week: "2026-11-02T00:00:00.000Z",
    },
    ...{ month: "2026-12-01T00:00:00.000Z", run: null, session: null, lifetime: null },
  };
  for (const [per, end] of Object.entries(ends)) {
    const { budget_id } = await add(purser, { ...DAY, per });
    const raise = await purser.api("POST", `${BUDGETS}/${budget_id}/raises`, { extra_usd: 1, until: null });
    assert.equal(raise.body.until, end, per);
  }
});

Deno.test("a raise that can't hold is refused, and no raise is changed or removed but with its budget", async () => {
  await using purser = await openTestPurser();
  const { budget_id } = await add(purser, DAY);
  const raises = `${BUDGETS}/${budget_id}/raises`;
  const refused = { status: 400, code: "invalid" };
  await assertProblem(purser, "POST", raises, { extra_usd: 0 }, { ...refused, path: "extra_usd" });
  for (const until of [AT, "2026-11-01T11:00:00Z", "tomorrow"]) {
    await assertProblem(purser, "POST", raises, { extra_usd: 1, until }, { ...refused, path: "until" });
  }
  await assertProblem(purser, "POST", raises, { extra_usd: 1, reason: "a\nb" }, {
    ...refused,
    path: "reason",
  });
  assert.equal((await purser.api("POST", raises, { extra_usd: 1e9 })).status, 201);
  await assertProblem(purser, "POST", raises, { extra_usd: 1 }, {
    ...{ status: 409, code: "conflict", detail: /can't exceed a billion USD; change its limit_usd$/ },
  });
  for (const sql of ["UPDATE budget_raises SET extra_nano_usd = 1", "DELETE FROM budget_raises"]) {
    await assert.rejects(purser.core.store.write([{ sql }]), /append-only/);
  }
  assert.equal((await purser.api("DELETE", `${BUDGETS}/${budget_id}`)).status, 204);
  const { rows } = await purser.core.store.read({ sql: "SELECT count(*) FROM budget_raises" });
  assert.equal(rows[0]![0], 0n);
});

const MONTH = { limit_usd: 10, per: "month" };

Deno.test("a raise can be for one counter of a budget with many, and is refused for one that isn't there", async () => {
  await using purser = await openTestPurser();
  const each = await add(purser, { name: "Customers", ...MONTH, each: "tag:customer" });
  for (const customer of ["acme", "globex"]) await spend(purser, 1, { tags: { customer } });
  const path = `${BUDGETS}/${each.budget_id}`;
  const raise = (body: object) => purser.api("POST", `${path}/raises`, { extra_usd: 5, ...body });
  const { status, body } = await raise({ counter: "acme" });
  assert.deepEqual([status, body.counter], [201, { kind: "tag:customer", id: "acme" }]);
  assert.equal((await raise({ extra_usd: 1 })).body.counter, null);
  const left = (await purser.api("GET", `${path}/counters`)).body
    .map(({ id, left_usd }: Record<string, unknown>) => [id, left_usd]);
  assert.deepEqual(new Map(left), new Map([["acme", 15], ["globex", 10]]));
  const wrong = await raise({ counter: "amce" });
  assert.deepEqual([wrong.status, wrong.body.details.issues[0].path], [400, "counter"]);
  assert.match(wrong.body.detail, /no counter of tag:customer "amce"; did you mean "acme"/);
  const tiny = await raise({ extra_usd: 1e-10 });
  assert.deepEqual([tiny.status, tiny.body.details.issues[0].path], [400, "extra_usd"]);
  // A refusal and a check name the counter, so that a raise can be for it alone.
  await spend(purser, 14, { tags: { customer: "big & co" } });
  const refused = await purser.api("POST", "/budgets/reservations", {
    ...{ agent_id: "a", estimate_usd: 1, tags: { customer: "big & co" } },
  });
  assert.match(refused.body.detail, /budgets raise bud_\w+ --usd AMOUNT --counter 'big & co'$/);
  const { body: [checked] } = await purser.api(
    "GET",
    `${BUDGETS}/check?tag=${encodeURIComponent("customer:big & co")}`,
  );
  assert.deepEqual(checked.counter, { kind: "tag:customer", id: "big & co" });
  const one = await add(purser, { name: "One", ...MONTH });
  const answer = await purser.api("POST", `${BUDGETS}/${one.budget_id}/raises`, {
    extra_usd: 1,
    counter: "acme",
  });
  assert.match(answer.body.detail, /has one counter only/);
  assert.equal((await purser.api("GET", `${path}/raises`)).body.length, 2);
  const keys = await add(purser, { name: "Keys", ...MONTH, each: "key" });
  const { keyId } = await makeKey(purser, ["call"], { name: "laptop" });
  const ofKey = await purser.api("POST", `${BUDGETS}/${keys.budget_id}/raises`, {
    extra_usd: 1,
    counter: "laptop",
  });
  assert.deepEqual(ofKey.body.counter, { kind: "key", id: keyId });
});
