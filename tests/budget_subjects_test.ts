import assert from "node:assert/strict";
import { createBudget, readStandingsOf, removeBudget, updateBudget } from "../src/budgets/mod.ts";
import { bookLooseCalls, rollUp } from "../src/calls/mod.ts";
import { createBooking } from "./harness/booking.ts";
import { add, BUDGETS, read, spend } from "./harness/budget_requests.ts";
import { dialectKinds } from "./harness/databases.ts";
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
  await refuse({ per: "run", ...ACME }, "tags");
  await refuse({ per: "run", model: "claude-*" }, "model");
  await refuse({ key_id: "nobody", ...ACME }, "key_id");
  assert.deepEqual((await purser.api("GET", BUDGETS)).body, []);
});

Deno.test("a tag that nothing has used is accepted, and pointed out with the nearest one that has", async () => {
  await using purser = await openTestPurser();
  await spend(purser, 1, ACME);
  await add(purser, { name: "Acme", ...MONTH, ...ACME });
  const { unknown } = await add(purser, { name: "Typo", ...MONTH, tags: { customer: "amce" } });
  assert.deepEqual(unknown, { kind: "tag:customer", id: "amce", nearest: "acme" });
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
