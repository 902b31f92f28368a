import assert from "node:assert/strict";
import { createBudget, readStandingsOf, removeBudget, updateBudget } from "../src/budgets/mod.ts";
import { bookLooseCalls, rollUp } from "../src/calls/mod.ts";
import { createBooking } from "./harness/booking.ts";
import { add, BUDGETS, read, spend } from "./harness/budget_requests.ts";
import { dialectKinds } from "./harness/databases.ts";
import { makeKey, openHttpClient } from "./harness/http_client.ts";
import { modelCall } from "./harness/model_calls.ts";
import { openTestPurser } from "./harness/test_purser.ts";

/** Budgets of tags, models, providers and sources, alone and together, and of each of them. The clock stands at noon. */

const NONE = {
  ...{
    agent_id: null,
    session_id: null,
    key_id: null,
    tags: null,
    model: null,
    provider: null,
    source: null,
    billing: null,
  },
};
const ACME = { tags: { customer: "acme" } };
const MONTH = { limit_usd: 10, per: "month" };

Deno.test("a budget of one tag counts the calls with it, also those from before it existed", async () => {
  await using purser = await openTestPurser();
  await spend(purser, 1, ACME);
  await spend(purser, 2, { tags: { customer: "globex" } });
  await spend(purser, 4);
  const budget = await add(purser, { name: "Acme", ...MONTH, ...ACME });
  assert.deepEqual({ ...budget, ...NONE, ...ACME, each: null, spent_usd: 1, left_usd: 9 }, budget);
  assert.equal(budget.unknown, undefined);
  await spend(purser, 0.5, { tags: { customer: "acme", team: "search" } });
  assert.equal((await read(purser, budget.budget_id)).spent_usd, 1.5);
  assert.ok((await read(purser, budget.budget_id)).usd_per_hour > 0);
});

Deno.test("a budget of several subjects counts the calls that are of all of them", async () => {
  await using purser = await openTestPurser();
  const named = {
    ...ACME,
    model: "claude-opus-*",
    provider: "anthropic",
    source: "report",
    agent_id: "researcher",
  };
  const { budget_id, ...budget } = await add(purser, { name: "Opus for Acme", ...MONTH, ...named });
  assert.deepEqual({ ...budget, ...named, session_id: null, key_id: null }, budget);
  assert.deepEqual(budget.unknown, {
    kind: "calls",
    id: "agent researcher, model claude-opus-*, provider anthropic, source report, tag customer=acme",
    nearest: null,
  });
  const opus = { agent_id: "researcher", provider: "anthropic", model: "claude-opus-5" };
  await spend(purser, 1, { ...opus, ...ACME });
  await spend(purser, 2, { ...opus, ...ACME, model: "claude-haiku-5" });
  await spend(purser, 4, { ...opus, ...ACME, agent_id: "writer" });
  await spend(purser, 8, { ...opus, tags: { customer: "globex" } });
  await spend(purser, 16, opus);
  const after = await read(purser, budget_id);
  assert.deepEqual([after.spent_usd, after.unknown], [1, undefined]);
  const changed = await purser.api("PATCH", `${BUDGETS}/${budget_id}`, {
    tags: null,
    model: "anthropic:claude-*",
  });
  assert.deepEqual([changed.body.spent_usd, changed.body.tags, changed.body.model], [
    27,
    null,
    "anthropic:claude-*",
  ]);
});

Deno.test("a budget of each value of a tag has a counter for each, and stands aside where another names the value", async () => {
  await using purser = await openTestPurser();
  const each = await add(purser, {
    name: "Customers",
    ...MONTH,
    provider: "anthropic",
    each: "tag:customer",
  });
  const of = (customer: string, provider = "anthropic") => ({ provider, model: "m", tags: { customer } });
  await spend(purser, 1, of("acme"));
  await spend(purser, 3, of("big & co"));
  await spend(purser, 7, of("acme", "openai"));
  await spend(purser, 9);
  const counters = async () =>
    (await purser.api("GET", `${BUDGETS}/${each.budget_id}/counters`)).body
      .map(({ kind, id, spent_usd, left_usd }: Record<string, unknown>) => [kind, id, spent_usd, left_usd]);
  assert.deepEqual(await counters(), [["tag:customer", "big & co", 3, 7], ["tag:customer", "acme", 1, 9]]);
  const { counter, spent_usd } = await read(purser, each.budget_id);
  assert.deepEqual([counter, spent_usd], [{ kind: "tag:customer", id: "big & co" }, 3]);
  const own = await add(purser, {
    name: "Big",
    limit_usd: 100,
    per: "month",
    provider: "anthropic",
    tags: { customer: "big & co" },
  });
  assert.deepEqual(await counters(), [["tag:customer", "acme", 1, 9]]);
  const check = async (query: string) =>
    (await purser.api("GET", `${BUDGETS}/check?${query}`)).body
      .map(({ name, scope, spent_usd }: Record<string, unknown>) => [name, scope, spent_usd]);
  assert.deepEqual(await check("provider=anthropic&tag=customer:acme"), [
    ["Customers", "provider anthropic, tag customer=acme", 1],
  ]);
  assert.deepEqual(await check(`provider=anthropic&tag=${encodeURIComponent("customer:big & co")}`), [
    ["Big", "provider anthropic, tag customer=big & co", 3],
  ]);
  assert.deepEqual(await check("tag=customer:acme"), []);
  await purser.api("DELETE", `${BUDGETS}/${own.budget_id}`);
  assert.equal((await counters()).length, 2);
});

Deno.test("a check of a key has the limits of the tags that its calls bear, its own the narrower first", async () => {
  await using purser = await openTestPurser();
  const { keyId } = await makeKey(purser, ["call"], { name: "laptop", tags: { user: "anna" } });
  await add(purser, { name: "Anna", limit_usd: 5, per: "day", tags: { user: "anna" } });
  await add(purser, {
    name: "Opus of a key",
    limit_usd: 2,
    per: "day",
    key_id: "laptop",
    model: "claude-opus-*",
  });
  await add(purser, { name: "Bob", limit_usd: 1, per: "day", tags: { user: "bob" } });
  const { status, body } = await purser.api("GET", `${BUDGETS}/check?key_id=laptop&model=claude-opus-5`);
  assert.equal(status, 200);
  assert.deepEqual(
    body.map((
      { name, scope, key_name, left_usd }: Record<string, unknown>,
    ) => [name, scope, key_name, left_usd]),
    [
      ["Opus of a key", `key ${keyId}, model claude-opus-*`, "laptop", 2],
      ["Anna", "tag user=anna", undefined, 5],
    ],
  );
  const byName = await purser.api("GET", `${BUDGETS}/check?key_id=laptop&model=anthropic:claude-opus-5`);
  assert.deepEqual(byName.body, body, "a model's name may have its provider");
  const unknown = await purser.api("GET", `${BUDGETS}/check?key_id=latpop`);
  assert.match(unknown.body.detail, /did you mean "laptop"/);
});

Deno.test("a key of one agent sees the budgets that name its agent or itself besides other subjects, and no other of subjects", async () => {
  await using purser = await openTestPurser();
  const { key, keyId } = await makeKey(purser, ["read", "call"], { agent_id: "researcher" });
  const opus = { model: "claude-opus-*" };
  await add(purser, { name: "Own", ...MONTH, agent_id: "researcher", ...opus });
  await add(purser, { name: "Own tag", ...MONTH, agent_id: "researcher", provider: "anthropic", ...ACME });
  await add(purser, { name: "Own key", ...MONTH, key_id: keyId, ...ACME });
  await add(purser, { name: "Other", ...MONTH, agent_id: "researcher2", ...opus });
  await add(purser, { name: "Other agent", ...MONTH, agent_id: "re", ...ACME });
  await add(purser, { name: "All", ...MONTH, ...ACME });
  await add(purser, { name: "Each", ...MONTH, each: "tag:customer" });
  await spend(purser, 2, { agent_id: "researcher", provider: "anthropic", model: "claude-opus-5", ...ACME });
  const { body } = await openHttpClient(purser).send("GET", BUDGETS, { key });
  assert.deepEqual(
    body.map(({ name, spent_usd }: Record<string, unknown>) => [name, spent_usd]),
    [["Own", 2], ["Own tag", 2], ["Own key", 0]],
  );
});

Deno.test("what a budget can't name is refused by its field, and nothing is changed", async () => {
  await using purser = await openTestPurser();
  const refuse = async (fields: object, path: string) => {
    const { status, body } = await purser.api("POST", BUDGETS, { name: "B", ...MONTH, ...fields });
    assert.deepEqual(
      [status, body.code, body.details?.issues[0].path],
      [400, "invalid", path],
      JSON.stringify(body),
    );
  };
  const tags = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, "v"]));
  await refuse({ tags: { "a:b": "c" } }, "tags.a:b");
  await refuse({ tags: tags(1_000) }, "tags");
  await refuse({ tags: tags(5) }, "tags");
  await refuse({ tags: tags(4), each: "tag:other" }, "tags");
  await refuse({ ...ACME, each: "tag:customer" }, "each");
  await refuse({ each: "tag:a:b" }, "each");
  await refuse({ each: "customer" }, "each");
  await refuse({ model: "claude opus" }, "model");
  await refuse({ model: "claude-[a]" }, "model");
  await refuse({ source: "moon" }, "source");
  await refuse({ limit_usd: 1e-10 }, "limit_usd");
  await refuse({ billing: "moon" }, "billing");
  await refuse({ billing: "plan", mode: "strict" }, "billing");
  await refuse({ billing: "billed", per: "run" }, "billing");
  await refuse({ per: "run", ...ACME }, "tags");
  await refuse({ per: "run", model: "claude-*" }, "model");
  await refuse({ key_id: "anna", ...ACME }, "key_id");
  assert.deepEqual((await purser.api("GET", BUDGETS)).body, []);
});

Deno.test("a tag that nothing has used is accepted, and pointed out with the nearest one that has", async () => {
  await using purser = await openTestPurser();
  await spend(purser, 1, ACME);
  await add(purser, { name: "Acme", ...MONTH, ...ACME });
  const { unknown } = await add(purser, { name: "Typo", ...MONTH, tags: { customer: "amce" } });
  assert.deepEqual(unknown, { kind: "tag:customer", id: "amce", nearest: "acme" });
  const exact = await add(purser, { name: "Opus", ...MONTH, model: "claude-opsu-5" });
  assert.deepEqual(exact.unknown, { kind: "model", id: "claude-opsu-5", nearest: null });
});

const OWN_PRICE = { provider: "own", model: "Fast-1", input_usd_per_million: 1, output_usd_per_million: 2 };

Deno.test("a pattern that matches no model is refused with the nearest one, wherever it is given, and nothing changes", async () => {
  await using purser = await openTestPurser();
  const opus = await add(purser, { name: "Opus", ...MONTH, model: "claude-opus-*" });
  assert.deepEqual(opus.unknown, { kind: "model", id: "claude-opus-*", nearest: null });
  const rule = { name: "Opus", threshold_type: "per_day_usd", threshold_usd: 1, severity: "info" };
  const { body: made } = await purser.api("POST", "/alerts/rules", { ...rule, model: "claude-opus-*" });
  const budget = { name: "B", ...MONTH };
  const all = async () => [
    (await purser.api("GET", BUDGETS)).body,
    (await purser.api("GET", "/alerts/rules")).body,
    (await purser.api("GET", "/audit")).body.length,
  ];
  const before = await all();
  const refuse = async (model: string, method: string, path: string, body: object, field = "model") => {
    const { status, body: { code, details } } = await purser.api(method, path, body);
    const [issue] = details?.issues ?? [];
    assert.deepEqual([status, code, issue?.path], [400, "invalid", field], JSON.stringify([model, details]));
    assert.match(issue.message, /^no model with a price or a call matches the pattern ".+"/);
    return issue.message as string;
  };
  const message = await refuse("claude-opsu-*", "POST", BUDGETS, { ...budget, model: "claude-opsu-*" });
  assert.match(
    message,
    /the nearest is \w+:claude-opus-\S+; name a new model without a star, or set its price/,
  );
  for (const model of ["anthropic:gpt-*", "unknown:*", "own:*", "*-fast-*-1"]) {
    await refuse(model, "POST", BUDGETS, { ...budget, model });
  }
  const model = "claude-*-of-2019";
  await refuse(model, "PATCH", `${BUDGETS}/${opus.budget_id}`, { model });
  await refuse(model, "POST", "/alerts/rules", { ...rule, model });
  await refuse(model, "PATCH", `/alerts/rules/${made.rule_id}`, { model });
  const budgets = { label: "f", budgets: [{ ...budget, model }], rules: [{ ...rule, name: "R" }] };
  await refuse(model, "POST", "/apply", budgets, "budgets[0].model");
  const rules = { label: "f", rules: [{ ...rule, name: "R", model }] };
  await refuse(model, "POST", "/apply", rules, "rules[0].model");
  assert.deepEqual(await all(), before);
  for (const model of ["*", "claude:claude-*", "bedrock:*claude*", "demo:*", "CLAUDE-*"]) {
    await add(purser, { ...budget, name: model, model });
  }
});

Deno.test("a pattern matches what has been called, what has a price in the same file, and stays where it is", async () => {
  await using purser = await openTestPurser();
  await spend(purser, 1, { provider: "own", model: "Slow_2" });
  assert.equal((await add(purser, { name: "Called", ...MONTH, model: "own:Slow_*" })).unknown, undefined);
  const priced = { name: "Priced", ...MONTH, model: "own:Fast-*" };
  const file = { label: "f", budgets: [priced], prices: [OWN_PRICE] };
  assert.equal((await purser.api("POST", "/apply", file)).status, 200);
  const [{ price_id }] = (await purser.api("GET", "/prices/rows")).body;
  assert.equal((await purser.api("DELETE", `/prices/rows/${price_id}`)).status, 204);
  const [, { budget_id }] = (await purser.api("GET", BUDGETS)).body;
  const changed = await purser.api("PATCH", `${BUDGETS}/${budget_id}`, { ...priced, limit_usd: 20 });
  assert.deepEqual([changed.status, changed.body.limit_usd], [200, 20], JSON.stringify(changed.body));
  assert.equal((await purser.api("POST", BUDGETS, { ...priced, name: "New" })).status, 400);
});

Deno.test("a tag that a key bears is known before its first call, and near to one that is misspelled", async () => {
  await using purser = await openTestPurser();
  const { keyId } = await makeKey(purser, ["call"], { tags: { user: "anna" } });
  const unknownOf = async (user: string) =>
    (await add(purser, { name: user, ...MONTH, tags: { user } })).unknown;
  assert.equal(await unknownOf("anna"), undefined);
  assert.deepEqual(await unknownOf("ana"), { kind: "tag:user", id: "ana", nearest: "anna" });
  await purser.api("DELETE", `/keys/${keyId}`);
  const budgets = (await purser.api("GET", "/budgets")).body;
  assert.deepEqual(budgets.map(({ unknown }: { unknown?: object }) => unknown), [
    { kind: "tag:user", id: "anna", nearest: null },
    { kind: "tag:user", id: "ana", nearest: null },
  ]);
});

for (const { name, ignore, create } of dialectKinds()) {
  Deno.test({
    name:
      `${name}: counters of subjects are the ledger's sums, whichever instance adds the budget, and go with the last one`,
    ignore,
    async fn() {
      await using database = await create();
      const [one, two] = [
        await createBooking(await database.open()),
        await createBooking(await database.open()),
      ];
      const book = (ctx: typeof one, callId: string, fields: object = {}) =>
        bookLooseCalls(ctx, [
          modelCall({
            callId,
            at: ctx.clock.now(),
            costNanoUsd: 5n,
            provider: "p",
            tags: { customer: "a" },
            ...fields,
          }),
        ]);
      const spent = async (ctx: typeof one, subjects: object = {}) => {
        const call = { agentId: "agent", sessionId: null, runId: null, budget: null };
        const of = {
          model: "echo",
          provider: "p",
          source: "run" as const,
          tags: { customer: "a" },
          ...subjects,
        };
        const standings = await readStandingsOf(ctx, {
          scopes: { ...call, subjects: of },
          at: ctx.clock.now(),
        });
        return standings.map(({ name, settledNanoUsd }) => [name, settledNanoUsd]);
      };
      await book(one, "before");
      await rollUp(one);
      await book(one, "tail");
      await book(one, "named", { model: "tail_100%", tags: undefined });
      // Patterns match what is in the totals, after them, and priced.
      for (const model of ["p:ec*", "*_100%", "LOCAL:pri*"]) {
        const { budget_id } = await createBudget(two, { name: model, limit_usd: 1, per: "day", model });
        await removeBudget(two, budget_id);
      }
      for (const model of ["p:ac*", "tailX*", "p:*_200%"]) {
        await assert.rejects(createBudget(two, { name: "B", limit_usd: 1, per: "day", model }), /no model/);
      }
      const budget = { name: "A", limit_usd: 1, per: "lifetime", tags: { customer: "a" } } as const;
      const added = await createBudget(two, budget);
      const { budget_id: each } = await createBudget(two, {
        ...budget,
        name: "Each",
        tags: null,
        each: "tag:customer",
      });
      assert.deepEqual(await spent(one), [["A", 10n]]);
      await book(one, "after");
      await book(two, "of another", { tags: { customer: "b" } });
      await book(two, "without", { tags: undefined });
      await rollUp(two);
      await book(two, "later");
      assert.deepEqual([await spent(one), await spent(two)], [[["A", 20n]], [["A", 20n]]]);
      assert.deepEqual(await spent(one, { tags: { customer: "b" } }), [["Each", 5n]]);
      assert.deepEqual(await spent(one, { tags: undefined }), []);

      // A witness gives a call other tags.
      const retag = (callId: string, tags: string) =>
        one.store.write([{
          sql:
            `INSERT INTO call_tags (call_id, tags) VALUES (?, ?) ON CONFLICT (call_id) DO UPDATE SET tags = excluded.tags`,
          args: [callId, tags],
        }]);
      await retag("without", '{"customer":"a"}');
      assert.deepEqual(await spent(one), [["A", 25n]]);
      await retag("without", '{"customer":"b"}');
      assert.deepEqual([await spent(one), await spent(one, { tags: { customer: "b" } })], [[["A", 20n]], [[
        "Each",
        10n,
      ]]]);
      await retag("later", '{"customer":"b"}');
      assert.deepEqual([await spent(two), await spent(two, { tags: { customer: "b" } })], [[["A", 15n]], [[
        "Each",
        15n,
      ]]]);
      await rollUp(one);
      assert.deepEqual([await spent(two), await spent(two, { tags: { customer: "b" } })], [[["A", 15n]], [[
        "Each",
        15n,
      ]]]);

      await updateBudget(two, each, { each: "model" });
      assert.deepEqual(await spent(one, { tags: undefined }), [["Each", 30n]]);
      for (const id of [added.budget_id, each]) await removeBudget(one, id);
      const { rows } = await one.store.read({
        sql:
          "SELECT scope FROM spend_counters WHERE scope LIKE 'by %' UNION ALL SELECT shape FROM spend_shapes",
      });
      assert.deepEqual(rows, []);
    },
  });
}
