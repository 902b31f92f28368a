import assert from "node:assert/strict";
import { openPurser } from "../src/mod.ts";
import { EVENT } from "./harness/bodies.ts";
import { makeKey, openHttpClient } from "./harness/http_client.ts";
import { openTestPurser, rejection, type TestPurser } from "./harness/test_purser.ts";

/** A key is found by its name or its id, and shown by its name, wherever it is named. */

const DAY = { name: "Day", limit_usd: 5, per: "day" };

/** Renames a key as earlier versions let several have one name. */
const rename = (purser: TestPurser, keyId: string, name: string) =>
  purser.core.store.write([{ sql: "UPDATE api_keys SET name = ? WHERE key_id = ?", args: [name, keyId] }]);

async function expect(purser: TestPurser, status: number, method: string, path: string, body?: unknown) {
  const answer = await purser.api(method, path, body);
  assert.equal(answer.status, status, `${method} ${path}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** Reports a call of 1 USD by a key. */
async function spend(purser: TestPurser, key: string, id: string, more: object = {}): Promise<void> {
  const call = { ...EVENT, call_id: id, cost_usd: 1, ...more };
  const { status, body } = await openHttpClient(purser).send("POST", "/costs/events", { key, body: [call] });
  assert.equal(status, 201, JSON.stringify(body));
}

Deno.test("a budget is added and changed by the name of its key or by the id, and shows both", async () => {
  await using purser = await openTestPurser();
  const bob = await makeKey(purser, ["call"], { name: "bob's laptop" });
  const ann = await makeKey(purser, ["call"], { name: "ann" });
  for (const key_id of ["bob's laptop", bob.keyId]) {
    const budget = await expect(purser, 201, "POST", "/budgets", { ...DAY, key_id });
    assert.deepEqual([budget.key_id, budget.key_name], [bob.keyId, "bob's laptop"]);
    const path = `/budgets/${budget.budget_id}`;
    const changed = await expect(purser, 200, "PATCH", path, { key_id: "ann" });
    assert.deepEqual([changed.key_id, changed.key_name], [ann.keyId, "ann"]);
    assert.equal((await expect(purser, 200, "GET", path)).key_name, "ann");
  }
});

Deno.test("an unknown key is refused with the nearest name and stores nothing; a shared name with the ids; a revoked one", async () => {
  await using purser = await openTestPurser();
  const bob = await makeKey(purser, ["call"], { name: "bob" });
  const other = await makeKey(purser, ["call"], { name: "bobby" });
  const { budget_id } = await expect(purser, 201, "POST", "/budgets", DAY);
  const refuse = async (key_id: string, message: RegExp) => {
    for (
      const [method, path, body] of [
        ["POST", "/budgets", { ...DAY, key_id }],
        ["PATCH", `/budgets/${budget_id}`, { key_id }],
        ["GET", `/costs?group_by=agent&key_id=${encodeURIComponent(key_id)}`],
        ["GET", `/costs/total?key_id=${encodeURIComponent(key_id)}`],
        ["GET", `/costs/forecast?key_id=${encodeURIComponent(key_id)}`],
        ["GET", `/costs/what-if?model=demo:echo&key_id=${encodeURIComponent(key_id)}`],
        ["GET", `/budgets/refusals?key_id=${encodeURIComponent(key_id)}`],
      ] as const
    ) {
      if (/revoked/.test(message.source) && method === "GET") continue;
      const problem = await expect(purser, 400, method, path, body);
      assert.match(problem.detail, message, path);
      assert.equal(problem.details.issues[0].path, "key_id");
    }
  };
  await refuse("bpb", /no API key has the name or the id "bpb"; did you mean "bob"\?/);
  await refuse("zzzzzz", /no API key has the name or the id "zzzzzz"; purser keys list shows them$/);
  await refuse(other.key, /that is a key itself; give its name or its id$/);
  await rename(purser, other.keyId, "bob");
  await refuse("bob", new RegExp(`2 keys are named "bob"; give the id of one: key_\\w+, key_\\w+$`));
  await expect(purser, 204, "DELETE", `/keys/${other.keyId}`);
  await expect(purser, 200, "GET", "/costs/total?key_id=bob");
  await expect(purser, 204, "DELETE", `/keys/${bob.keyId}`);
  await refuse(bob.keyId, /the API key "bob" \(key_\w+\) was revoked, so that no call would count/);
  assert.equal((await expect(purser, 200, "GET", "/budgets")).length, 1);
  assert.equal((await expect(purser, 200, "GET", "/budgets"))[0].key_id, null);
});

Deno.test("the budgets of a program name keys by their names, and an unknown one is refused with the nearest", async () => {
  const folder = await Deno.makeTempDir({ prefix: "purser_names_" });
  const db = `${folder}/books.db`;
  const first = await openPurser({ db, env: {} });
  const made = await first.app.request("/keys", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ name: "laptop", scopes: ["call"] }),
  });
  const { key_id } = await made.json();
  await first.close();
  const budget = { name: "Laptop", limit_usd: 5, per: "day" } as const;
  const refusal = await rejection(
    openPurser({ db, env: {}, budgets: [{ ...budget, key_id: "latpop" }] }),
  ) as Error;
  assert.match(
    refusal.message,
    /key_id: no API key has the name or the id "latpop"; did you mean "laptop"\?/,
  );
  // The name at one start and the id at another are one budget.
  const ids: string[] = [];
  for (const named of ["laptop", key_id]) {
    const purser = await openPurser({ db, env: {}, budgets: [{ ...budget, key_id: named }] });
    const [stored, ...others] = await purser.budgets();
    assert.deepEqual([stored!.key_id, stored!.key_name, others.length], [key_id, "laptop", 0]);
    ids.push(stored!.budget_id);
    await purser.close();
  }
  assert.equal(ids[0], ids[1]);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("costs by key have the name beside the id, in JSON and as a field of its own in CSV", async () => {
  await using purser = await openTestPurser();
  const bob = await makeKey(purser, ["run"], { name: 'bob, "the" one' });
  await spend(purser, bob.key, "1");
  await spend(purser, bob.key, "2", { model: "gpt-5-mini" });
  const [row] = await expect(purser, 200, "GET", "/costs?group_by=key");
  assert.deepEqual([row.key_id, row.key_name, row.cost_usd], [bob.keyId, 'bob, "the" one', 2]);
  const [split] = await expect(purser, 200, "GET", "/costs?group_by=model&split_by=key");
  assert.deepEqual([split.key_id, split.key_name], [bob.keyId, 'bob, "the" one']);
  const csv = await (await purser.app.request("/costs?group_by=key", { headers: { accept: "text/csv" } }))
    .text();
  const [head, line] = csv.split("\n");
  assert.match(head!, /^key_id,key_name,/);
  assert.ok(line!.startsWith(`${bob.keyId},"bob, ""the"" one",`), line);
  // A revoked key keeps its name in the books.
  await expect(purser, 204, "DELETE", `/keys/${bob.keyId}`);
  assert.equal((await expect(purser, 200, "GET", "/costs?group_by=key"))[0].key_name, 'bob, "the" one');
});

Deno.test("costs are filtered by the name of a key, and of two keys of one name the active one counts", async () => {
  await using purser = await openTestPurser();
  const old = await makeKey(purser, ["run"], { name: "bob" });
  await spend(purser, old.key, "1");
  await expect(purser, 204, "DELETE", `/keys/${old.keyId}`);
  const bob = await makeKey(purser, ["run"], { name: "bob" });
  for (const id of ["2", "3"]) await spend(purser, bob.key, id);
  const costOf = async (key: string) =>
    (await expect(purser, 200, "GET", `/costs/total?key_id=${encodeURIComponent(key)}`)).cost_usd;
  assert.deepEqual([await costOf("bob"), await costOf(bob.keyId), await costOf(old.keyId)], [2, 2, 1]);
});

Deno.test("a key that may read resolves the names of keys, and sees nothing else of them", async () => {
  await using purser = await openTestPurser();
  const reader = await makeKey(purser, ["read"], { name: "reader" });
  const bob = await makeKey(purser, ["call"], { name: "bob" });
  const old = await makeKey(purser, ["call"], { name: "old" });
  await expect(purser, 204, "DELETE", `/keys/${old.keyId}`);
  const client = openHttpClient(purser);
  const list = async (
    query: string,
    key = reader.key,
  ) => (await client.send("GET", `/key-names${query}`, { key }));
  assert.deepEqual((await list("")).body, [
    { key_id: old.keyId, name: "old", status: "revoked" },
    { key_id: bob.keyId, name: "bob", status: "active" },
    { key_id: reader.keyId, name: "reader", status: "active" },
  ]);
  assert.deepEqual((await list("?name=bob")).body, [{ key_id: bob.keyId, name: "bob", status: "active" }]);
  const first = await list("?limit=2");
  assert.equal((first.body as unknown[]).length, 2);
  const next = /<([^>]*)>/.exec(first.headers.get("link")!)![1]!;
  assert.deepEqual((await client.send("GET", next, { key: reader.key })).body, [
    { key_id: reader.keyId, name: "reader", status: "active" },
  ]);
  for (const path of ["/keys", `/keys/${bob.keyId}`]) {
    assert.equal((await client.send("GET", path, { key: reader.key })).status, 403, path);
  }
  assert.equal((await list("", bob.key)).status, 403, "a key of the gateway alone reads nothing");
  // A key of one agent knows its own name only, whatever it asks for.
  const own = await makeKey(purser, ["read"], { name: "mine", agent_id: "mine" });
  const mine = [{ key_id: own.keyId, name: "mine", status: "active" }];
  assert.deepEqual((await list("", own.key)).body, mine);
  assert.deepEqual((await list("?name=bob", own.key)).body, []);
  for (const named of ["bob", bob.keyId]) {
    const { status, body } = await client.send("GET", `/costs/total?key_id=${named}`, { key: own.key });
    assert.equal(status, 400);
    assert.ok(!JSON.stringify(body).includes("did you mean"), JSON.stringify(body));
  }
  assert.equal((await client.send("GET", "/costs/total?key_id=mine", { key: own.key })).status, 200);
});

Deno.test("a budget or a rule that names an agent or a session near a known one says so, and a new one does not", async () => {
  await using purser = await openTestPurser();
  await purser.api("PUT", "/agents/researcher", { model: "demo:echo" });
  const { body } = await purser.api("POST", "/agents/researcher/runs", {
    input: "Hi",
    session_id: "monday-talk",
  });
  assert.equal(body.status, "completed");
  const unknownOf = async (more: object) =>
    (await expect(purser, 201, "POST", "/budgets", { ...DAY, ...more })).unknown;
  assert.deepEqual(await unknownOf({ agent_id: "research" }), {
    kind: "agent",
    id: "research",
    nearest: "researcher",
  });
  assert.deepEqual(await unknownOf({ session_id: "monday-tlak" }), {
    kind: "session",
    id: "monday-tlak",
    nearest: "monday-talk",
  });
  for (
    const more of [{ agent_id: "researcher" }, { agent_id: "bookkeeper" }, { session_id: "monday-talk" }, {}]
  ) {
    assert.equal(await unknownOf(more), undefined, JSON.stringify(more));
  }
  const rule = { name: "R", threshold_type: "per_day_usd", threshold_usd: 1, severity: "info" };
  const added = await expect(purser, 201, "POST", "/alerts/rules", { ...rule, agent_id: "research" });
  assert.deepEqual(added.unknown, { kind: "agent", id: "research", nearest: "researcher" });
  const fine = await expect(purser, 201, "POST", "/alerts/rules", { ...rule, agent_id: "researcher" });
  assert.equal(fine.unknown, undefined);
  // An agent of the gateway has the name of its key.
  await makeKey(purser, ["call"], { name: "researcher2" });
  assert.equal(await unknownOf({ agent_id: "researcher2" }), undefined);
});

Deno.test("an agent whose name is a slip of a known one is refused with that, and not once it is there", async () => {
  await using purser = await openTestPurser();
  await purser.api("PUT", "/agents/researcher", { model: "demo:echo" });
  const rule = { name: "R", threshold_type: "per_day_usd", threshold_usd: 1, severity: "info" };
  const { budget_id } = await expect(purser, 201, "POST", "/budgets", { ...DAY, agent_id: "researcher" });
  for (const agent_id of ["reseacher", "researchers", "reasercher", "Rezearcher"]) {
    for (
      const [method, path, body] of [
        ["POST", "/budgets", { ...DAY, agent_id }],
        ["PATCH", `/budgets/${budget_id}`, { agent_id }],
        ["POST", "/alerts/rules", { ...rule, agent_id }],
      ] as const
    ) {
      const { detail } = await expect(purser, 400, method, path, body);
      assert.ok(detail.includes(`no agent has the name "${agent_id}"; did you mean "researcher"?`), detail);
    }
  }
  // Numbers tell names apart, and an agent may have a short name.
  for (const agent_id of ["researcher-2", "researcher3", "res"]) {
    await expect(purser, 201, "POST", "/budgets", { ...DAY, agent_id });
  }
  assert.equal((await purser.api("GET", "/budgets")).body.length, 4);
  await purser.api("PUT", "/agents/researchers", { model: "demo:echo" });
  await expect(purser, 201, "POST", "/budgets", { ...DAY, agent_id: "researchers" });
});

Deno.test("refusals are filtered by the name of their budget, whose nearest is in the refusal of an unknown one", async () => {
  await using purser = await openTestPurser();
  const { budget_id } = await expect(purser, 201, "POST", "/budgets", { ...DAY, name: "Evening" });
  for (const text of ["Evening", budget_id, "bud_gone"]) {
    assert.deepEqual(await expect(purser, 200, "GET", `/budgets/refusals?budget_id=${text}`), []);
  }
  const problem = await expect(purser, 400, "GET", "/budgets/refusals?budget_id=Evenign");
  assert.match(problem.detail, /budget_id: no budget has the name "Evenign"; did you mean "Evening"\?/);
  await expect(purser, 201, "POST", "/budgets", { ...DAY, name: "Evening" });
  const shared = await expect(purser, 400, "GET", "/budgets/refusals?budget_id=Evening");
  assert.match(shared.detail, /2 budgets are named "Evening"; give the id of one: bud_\w+, bud_\w+/);
});
