import assert from "node:assert/strict";
import type { BudgetCounterState } from "../src/contract/budgets/budget_state.ts";
import { rollUpTotals } from "../src/ledger/mod.ts";
import { EVENT } from "./harness/bodies.ts";
import { makeKey, openHttpClient } from "./harness/http_client.ts";
import { openTestPurser, type TestPurser } from "./harness/test_purser.ts";

/** All counters of a budget for each agent, key, session or run. */

let calls = 0;

async function spend(purser: TestPurser, cost_usd: number, more: object = {}, key?: string): Promise<void> {
  const at = new Date(purser.clock.now()).toISOString();
  const call = { ...EVENT, call_id: `call-${++calls}`, at, cost_usd, ...more };
  const { status, body } = key === undefined
    ? await purser.api("POST", "/costs/events", [call])
    : await openHttpClient(purser).send("POST", "/costs/events", { key, body: [call] });
  assert.equal(status, 201, JSON.stringify(body));
}

async function add(purser: TestPurser, more: object): Promise<string> {
  const { status, body } = await purser.api("POST", "/budgets", { name: "Each", limit_usd: 10, ...more });
  assert.equal(status, 201, JSON.stringify(body));
  return body.budget_id;
}

const countersOf = async (purser: TestPurser, id: string, query = ""): Promise<BudgetCounterState[]> =>
  (await purser.api("GET", `/budgets/${id}/counters${query}`)).body;

const short = (counters: readonly BudgetCounterState[]) =>
  counters.map(({ id, spent_usd, left_usd, state }) => [id, spent_usd, left_usd, state]);

Deno.test("all keys of a budget for each key are listed by their names, those that have spent nothing too", async () => {
  await using purser = await openTestPurser();
  const keys: { key: string; keyId: string; name: string }[] = [];
  for (let i = 0; i < 12; i++) {
    const name = `person ${i}`;
    keys.push({ ...await makeKey(purser, ["run"], { name }), name });
  }
  for (const [index, { key }] of keys.entries()) {
    if (index < 10) await spend(purser, index + 1, { agent_id: "coder" }, key);
  }
  const id = await add(purser, { per: "day", each: "key", warn_at: [0.8] });
  const expected = [
    ...keys.slice(0, 10).map(({ keyId, name }, index) => ({
      ...{ kind: "key", id: keyId, key_name: name, spent_usd: index + 1, left_usd: 9 - index },
      state: index === 9 ? "reached" : index >= 7 ? "near" : "ok",
    })).reverse(),
    ...keys.slice(10).map(({ keyId, name }) => ({
      ...{ kind: "key", id: keyId, key_name: name, spent_usd: 0, left_usd: 10, state: "ok" },
    })),
  ];
  for (const rollUp of [[], rollUpTotals()]) {
    await purser.core.store.write(rollUp);
    const counters = await countersOf(purser, id);
    assert.deepEqual(
      counters.map(({ kind, id, key_name, spent_usd, left_usd, state }) => ({
        ...{ kind, id, key_name, spent_usd, left_usd, state },
      })),
      expected,
    );
  }
  // In pages.
  const seen: string[] = [];
  let path: string | undefined = `/budgets/${id}/counters?limit=5`;
  while (path !== undefined) {
    const { body, headers } = await purser.api("GET", path);
    seen.push(...body.map(({ key_name }: BudgetCounterState) => key_name));
    path = /<([^>]*)>/.exec(headers.get("link") ?? "")?.[1];
  }
  assert.deepEqual(seen, expected.map(({ key_name }) => key_name));
  // A budget of its own takes the place of each; a revoked key that has spent keeps its counter.
  await add(purser, { name: "Own", per: "day", key_id: "person 9" });
  await purser.api("DELETE", `/keys/${keys[8]!.keyId}`);
  await purser.api("DELETE", `/keys/${keys[11]!.keyId}`);
  const names = (await countersOf(purser, id)).map(({ key_name }) => key_name);
  assert.deepEqual([names.length, names[0], names.includes("person 9"), names.includes("person 11")], [
    10,
    "person 8",
    false,
    false,
  ]);
});

Deno.test("agents, sessions and runs have theirs, in the present window only, within the agent that the budget names", async () => {
  await using purser = await openTestPurser();
  await purser.api("PUT", "/agents/idle", { model: "demo:echo" });
  const yesterday = { at: "2026-10-31T11:00:00.000Z" };
  await spend(purser, 3, { agent_id: "ann", session_id: "s1", run_id: "r1" });
  await spend(purser, 1, { agent_id: "ann", session_id: "s2", run_id: "r2" });
  await spend(purser, 2, { agent_id: "bob", session_id: "s3", run_id: "r3" });
  await spend(purser, 7, { agent_id: "bob", session_id: "s3", run_id: "r3", ...yesterday });
  const listOf = async (more: object) => short(await countersOf(purser, await add(purser, more)));
  assert.deepEqual(await listOf({ per: "day", each: "agent" }), [
    ["ann", 4, 6, "ok"],
    ["bob", 2, 8, "ok"],
    ["idle", 0, 10, "ok"],
  ]);
  assert.deepEqual(await listOf({ per: "lifetime", each: "agent" }), [
    ["bob", 9, 1, "near"],
    ["ann", 4, 6, "ok"],
    ["idle", 0, 10, "ok"],
  ]);
  assert.deepEqual(await listOf({ per: "day", each: "session" }), [
    ["s1", 3, 7, "ok"],
    ["s3", 2, 8, "ok"],
    ["s2", 1, 9, "ok"],
  ]);
  assert.deepEqual(await listOf({ per: "session" }), [
    ["s3", 9, 1, "near"],
    ["s1", 3, 7, "ok"],
    ["s2", 1, 9, "ok"],
  ]);
  assert.deepEqual(await listOf({ per: "run", agent_id: "ann" }), [["r1", 3, 7, "ok"], ["r2", 1, 9, "ok"]]);
  assert.deepEqual(await listOf({ per: "session", agent_id: "bob" }), [["s3", 9, 1, "near"]]);
  for (const one of [{ per: "day" }, { per: "day", agent_id: "ann" }, { per: "session", session_id: "s1" }]) {
    assert.deepEqual(await listOf(one), [], "it has one counter, which the budget itself shows");
  }
  assert.equal((await purser.api("GET", "/budgets/bud_none/counters")).status, 404);
});

Deno.test("a key of one agent is shown its own counters, and those of its runs and sessions", async () => {
  await using purser = await openTestPurser();
  const own = await makeKey(purser, ["read", "run"], { name: "own", agent_id: "mine" });
  const other = await makeKey(purser, ["run"], { name: "other" });
  await spend(
    purser,
    2,
    { agent_id: "mine", call_id: "mine:1", session_id: "mine:s", run_id: "mine:r" },
    own.key,
  );
  await spend(purser, 3, { agent_id: "theirs", session_id: "theirs-s", run_id: "theirs-r" }, other.key);
  const client = openHttpClient(purser);
  const seen = async (more: object) => {
    const id = await add(purser, more);
    const { status, body } = await client.send("GET", `/budgets/${id}/counters`, { key: own.key });
    assert.equal(status, 200);
    assert.ok(!/theirs|other/.test(JSON.stringify(body)), JSON.stringify(body));
    const budget = (await client.send("GET", `/budgets/${id}`, { key: own.key })).body as Record<
      string,
      unknown
    >;
    return [short(body as BudgetCounterState[]), budget.spent_usd, budget.counter];
  };
  const sessions = [["mine:s", 2, 8, "ok"]];
  assert.deepEqual(await seen({ per: "session" }), [sessions, 2, { kind: "session", id: "mine:s" }]);
  assert.deepEqual(await seen({ per: "day", each: "session" }), [sessions, 2, {
    kind: "session",
    id: "mine:s",
  }]);
  assert.deepEqual((await seen({ per: "run" }))[0], [["mine:r", 2, 8, "ok"]]);
  for (const each of ["agent", "key"]) {
    const id = each === "agent" ? "mine" : own.keyId;
    assert.deepEqual(await seen({ per: "day", each }), [[[id, 2, 8, "ok"]], 2, { kind: each, id }]);
  }
});

Deno.test("counters are sorted by what is used or left, or by name, page by page, and are CSV", async () => {
  await using purser = await openTestPurser();
  const id = await add(purser, { name: "Customers", per: "day", each: "tag:customer", mode: "strict" });
  for (const [index, customer] of ["b", "a c", "d"].entries()) {
    await spend(purser, index + 1, { tags: { customer } });
  }
  const order = async (query: string) => (await countersOf(purser, id, query)).map(({ id }) => id);
  assert.deepEqual(await order(""), ["d", "a c", "b"]);
  assert.deepEqual(await order("?sort=name"), ["a c", "b", "d"]);
  // What is reserved counts, and so does a raise of one counter.
  await purser.api("POST", "/budgets/reservations", {
    ...{ agent_id: "coder", worst_case_usd: 4, tags: { customer: "b" } },
  });
  await purser.api("POST", `/budgets/${id}/raises`, { extra_usd: 5, counter: "d" });
  assert.deepEqual(await order("?sort=left"), ["b", "a c", "d"]);
  const { headers, body } = await purser.api("GET", `/budgets/${id}/counters?sort=left&limit=2`);
  assert.deepEqual(body.map(({ id }: BudgetCounterState) => id), ["b", "a c"]);
  const next = /<([^>]*)>; rel="next"/.exec(headers.get("link") ?? "")![1]!;
  assert.deepEqual((await purser.api("GET", next)).body.map(({ id }: BudgetCounterState) => id), ["d"]);
  const { status } = await purser.api("GET", `/budgets/${id}/counters?sort=spent`);
  assert.equal(status, 400);
  const keys = [
    await makeKey(purser, ["run"], { name: "zoe" }),
    await makeKey(purser, ["run"], { name: "Anna" }),
  ];
  for (const { key } of keys) await spend(purser, 1, { agent_id: "coder" }, key);
  const names = async (budgetId: string) =>
    (await countersOf(purser, budgetId, "?sort=name")).map(({ key_name }) => key_name);
  assert.deepEqual(await names(await add(purser, { per: "day", each: "key" })), ["Anna", "zoe"]);
  assert.deepEqual(await names(await add(purser, { per: "day", each: "key", agent_id: "coder" })), [
    "Anna",
    "zoe",
  ]);
  await spend(purser, 1, { session_id: "ses_1" });
  const sessions = await add(purser, { per: "session" });
  assert.equal((await countersOf(purser, sessions, "?sort=left")).length, 1);
});
