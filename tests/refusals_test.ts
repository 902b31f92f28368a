import assert from "node:assert/strict";
import type { BudgetRefusal } from "../src/contract/budgets/budget_refusals.ts";
import { BudgetExceededError } from "../src/kernel/errors.ts";
import { meter } from "../src/runner/mod.ts";
import { answerTo } from "./harness/answers.ts";
import { EVENT } from "./harness/bodies.ts";
import { type FakeProvider, startFakeProvider } from "./harness/fake_provider.ts";
import { makeKey, openHttpClient } from "./harness/http_client.ts";
import { realModel } from "./harness/metered_models.ts";
import { openTestPurser, rejection, type TestOptions, type TestPurser } from "./harness/test_purser.ts";

/** Refused calls: the model without a price and the nearest one with it, and the list of refusals with their facts. */

const UNPRICED =
  "Cannot make the model call: the budget “Day” ($5 per UTC day, all agents) needs a model with a known price, and none is known for MODEL (the nearest with one is NEAREST); set it by purser prices set PROVIDER:MODEL --input … --output …, or set allow_unpriced of the budget";

async function withPurser(
  test: (place: { purser: TestPurser; fake: FakeProvider }) => Promise<void>,
  options: TestOptions = {},
): Promise<void> {
  await using fake = await startFakeProvider((request) => answerTo(request, { text: "Hi" }));
  await using purser = await openTestPurser({ fake, ...options });
  await test({ purser, fake });
}

async function addBudget(purser: TestPurser, more: object = {}): Promise<string> {
  const { status, body } = await purser.api("POST", "/budgets", {
    ...{ name: "Day", limit_usd: 5, per: "day" },
    ...more,
  });
  assert.equal(status, 201, JSON.stringify(body));
  return body.budget_id;
}

const listOf = async (purser: TestPurser, query = ""): Promise<BudgetRefusal[]> =>
  (await purser.api("GET", `/budgets/refusals${query}`)).body;

const MESSAGES = [{ role: "user", content: "Hi" }];
const WIRES: { path: string; body: object; name: string; nearest: string }[] = [
  {
    path: "/v1/chat/completions",
    body: { model: "gpt-5-minni", messages: MESSAGES },
    name: "openai:gpt-5-minni",
    nearest: "openai:gpt-5-mini",
  },
  {
    path: "/v1/responses",
    body: { model: "gpt-5-minni", input: "Hi" },
    name: "openai:gpt-5-minni",
    nearest: "openai:gpt-5-mini",
  },
  {
    path: "/v1/messages",
    body: { model: "claude-sonet-4-5", max_tokens: 9, messages: MESSAGES },
    name: "anthropic:claude-sonet-4-5",
    nearest: "anthropic:claude-sonnet-4-5",
  },
  {
    path: "/v1beta/models/gemini-2.5-falsh:generateContent",
    body: { contents: [{ role: "user", parts: [{ text: "Hi" }] }] },
    name: "google:gemini-2.5-falsh",
    nearest: "google:gemini-2.5-flash",
  },
];

Deno.test("a call through the gateway of a model without a price names it and the nearest one, on every wire", () =>
  withPurser(async ({ purser, fake }) => {
    await addBudget(purser);
    for (const { path, body, name, nearest } of WIRES) {
      const response = await purser.app.request(path, {
        method: "POST",
        headers: { "content-type": "application/json", "x-session-id": "talk" },
        body: JSON.stringify(body),
      });
      assert.equal(response.status, 402, path);
      const text = await response.text();
      const error = JSON.parse(text).error;
      assert.equal(error.message, UNPRICED.replace("MODEL", name).replace("NEAREST", nearest));
      const [provider, model] = name.split(":");
      const details = Array.isArray(error.details) ? error.details[0] : error.details;
      assert.deepEqual([details.provider, details.model, details.nearest_model], [provider, model, nearest]);
      const [refusal] = await listOf(purser, "?limit=1");
      assert.deepEqual(
        [refusal!.provider, refusal!.model, refusal!.nearest_model, refusal!.reason, refusal!.session_id],
        [provider, model, nearest, "unpriced", "talk"],
      );
      assert.equal(refusal!.message, error.message);
      assert.deepEqual([refusal!.cost_usd_so_far, refusal!.budget_usd], [0, 5]);
    }
    assert.equal(fake.calls, 0);
  }));

Deno.test("so do a run, a step of one, and a metered model of a program, in their errors, events and the list", () =>
  withPurser(async ({ purser, fake }) => {
    await addBudget(purser);
    await purser.core.prices.ready?.();
    await purser.api("PUT", "/agents/helper", { model: "openai:gpt-5-minni" });
    const run = await purser.api("POST", "/agents/helper/runs", { input: "Hi", session_id: "s" });
    assert.equal(run.status, 402);
    assert.match(
      run.body.detail,
      /none is known for openai:gpt-5-minni \(the nearest with one is openai:gpt-5-mini\)/,
    );
    assert.equal(run.body.details.nearest_model, "openai:gpt-5-mini");
    const { body: events } = await purser.api("GET", "/sessions/s/events");
    const event = events.find(({ type }: { type: string }) => type === "budget.refused");
    assert.deepEqual(
      [event.payload.model, event.payload.nearest_model, event.payload.reason],
      ["gpt-5-minni", "openai:gpt-5-mini", "unpriced"],
    );
    assert.equal((await listOf(purser))[0]!.run_id, run.body.run_id);

    const metered = meter(purser.core, realModel(fake, "openai-chat", "gpt-5-minni"), { agentId: "outside" });
    const error = await rejection(
      metered.doGenerate({ prompt: [{ role: "user", content: [{ type: "text", text: "Hi" }] }] }) as Promise<
        unknown
      >,
    );
    assert.ok(error instanceof BudgetExceededError);
    assert.match(error.message, /gpt-5-minni \(the nearest with one is openai:gpt-5-mini\)/);
    assert.equal(error.details.nearest_model, "openai:gpt-5-mini");
    assert.equal((await listOf(purser))[0]!.model, "gpt-5-minni");
    assert.equal(fake.calls, 0);
  }));

Deno.test("the budget of a run itself names the model, and the nearest one if there is one", () =>
  withPurser(async ({ purser }) => {
    const agent = { model: "openai:gpt-5-minni", cost_budget_usd: 1 };
    await purser.api("PUT", "/agents/helper", agent);
    const run = await purser.api("POST", "/agents/helper/runs", { input: "Hi" });
    assert.equal(run.status, 400);
    assert.match(
      run.body.detail,
      /no price is known for openai:gpt-5-minni \(the nearest with one is openai:gpt-5-mini\)/,
    );
    const response = await purser.app.request("/v1/chat/completions", {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-purser-agent": "helper",
        "x-purser-run": "nightly",
        "x-session-id": "s",
      },
      body: JSON.stringify({ model: "zzzzzzzzzz", messages: MESSAGES }),
    });
    assert.equal(response.status, 402);
    const { message, details } = (await response.json()).error;
    assert.match(message, /needs a model with a known price, and none is known for openai:zzzzzzzzzz$/);
    assert.equal(details.nearest_model, null);
    const [refusal] = await listOf(purser, "?reason=unpriced");
    assert.deepEqual([refusal?.model, refusal?.refused_by, refusal?.run_id], ["zzzzzzzzzz", [], "nightly"]);
  }));

Deno.test("the prices of the config are among the nearest", () =>
  withPurser(async ({ purser }) => {
    await addBudget(purser);
    const body = { model: "house-modle", messages: MESSAGES };
    const response = await purser.app.request("/v1/chat/completions", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    assert.match((await response.json()).error.message, /the nearest with one is openai:house-model\)/);
  }, {
    config: {
      prices: [{
        provider: "openai",
        model: "house-model",
        input_usd_per_million: 1,
        output_usd_per_million: 1,
      }],
    },
  }));

Deno.test("the list has the amounts, the session, the key by name and the model of each refusal, and filters by each", () =>
  withPurser(async ({ purser }) => {
    const bob = await makeKey(purser, ["call", "run"], { name: "bob" });
    const ann = await makeKey(purser, ["call", "run"], { name: "ann" });
    const client = openHttpClient(purser);
    const dayId = await addBudget(purser, { name: "Shut", limit_usd: 1, agent_id: "coder" });
    await addBudget(purser, { name: "Bob", limit_usd: 2, key_id: "bob" });
    const at = new Date(purser.clock.now()).toISOString();
    const spent = { ...EVENT, at, agent_id: "coder", cost_usd: 3 };
    assert.equal((await purser.api("POST", "/costs/events", [{ ...spent, call_id: "1" }])).status, 201);
    const chat = async (key: string, model: string, session: string) => {
      const { status } = await client.raw("POST", "/v1/chat/completions", {
        key,
        headers: { "x-purser-agent": "coder", "x-session-id": session },
        body: { model, messages: MESSAGES },
      });
      assert.equal(status, 402);
      purser.clock.advance(60_000);
    };
    await chat(bob.key, "gpt-4o-mini", "s1");
    await chat(ann.key, "gpt-5-mini", "s2");
    await chat(bob.key, "gpt-5-minni", "s2");
    const reservation = { agent_id: "coder", session_id: "s3", estimate_usd: 0.1 };
    const reserved = await client.send("POST", "/budgets/reservations", { key: ann.key, body: reservation });
    assert.equal(reserved.status, 402);

    const all = await listOf(purser);
    assert.deepEqual(
      all.map((
        each,
      ) => [each.key_id, each.key_name, each.session_id, each.provider, each.model, each.reason]),
      [
        [ann.keyId, "ann", "s3", null, null, "spent"],
        [bob.keyId, "bob", "s2", "openai", "gpt-5-minni", "unpriced"],
        [ann.keyId, "ann", "s2", "openai", "gpt-5-mini", "spent"],
        [bob.keyId, "bob", "s1", "openai", "gpt-4o-mini", "spent"],
      ],
    );
    for (const { cost_usd_so_far, budget_usd, refused_by, reason } of all) {
      assert.deepEqual([cost_usd_so_far, budget_usd], reason === "spent" ? [3, 1] : [0, 2]);
      assert.equal(refused_by.find(({ name }) => name === "Shut")!.spent_usd, 3);
    }
    const modelsOf = async (query: string) => (await listOf(purser, query)).map(({ model }) => model);
    for (
      const [query, models] of [
        ["?key_id=bob", ["gpt-5-minni", "gpt-4o-mini"]],
        [`?key_id=${bob.keyId}`, ["gpt-5-minni", "gpt-4o-mini"]],
        ["?session_id=s2", ["gpt-5-minni", "gpt-5-mini"]],
        ["?session_id=s2&key_id=ann", ["gpt-5-mini"]],
        ["?model=gpt-5-mini", ["gpt-5-mini"]],
        ["?model=openai:gpt-5-mini", ["gpt-5-mini"]],
        ["?model=anthropic:gpt-5-mini", []],
        ["?agent_id=other", []],
        ["?budget_id=Shut&limit=2", [null, "gpt-5-minni"]],
        [`?budget_id=${dayId}&reason=spent&limit=1`, [null]],
        ["?reason=unbounded", []],
        ["?reason=unpriced", ["gpt-5-minni"]],
        ["?reason=unpriced&key_id=ann", []],
        [`?from=${all[1]!.at}`, [null, "gpt-5-minni"]],
        [`?to=${all[1]!.at}`, ["gpt-5-mini", "gpt-4o-mini"]],
        [`?from=${all[2]!.at}&to=${all[1]!.at}`, ["gpt-5-mini"]],
      ] as const
    ) assert.deepEqual(await modelsOf(query), models, query);
    // In pages, with a filter.
    const first = await purser.api("GET", "/budgets/refusals?key_id=bob&limit=1");
    const next = /<([^>]*)>/.exec(first.headers.get("link")!)![1]!;
    const second = await purser.api("GET", next);
    assert.deepEqual([first.body[0].model, second.body[0].model], ["gpt-5-minni", "gpt-4o-mini"]);
    assert.equal(second.headers.get("link") === null || second.body.length === 1, true);
  }));

Deno.test("a key of one agent gets its agent's refusals, its own key's name, and null for amounts of others, never 0", () =>
  withPurser(async ({ purser }) => {
    const own = await makeKey(purser, ["read", "call"], { name: "own", agent_id: "mine" });
    const other = await makeKey(purser, ["call"], { name: "other" });
    const client = openHttpClient(purser);
    await addBudget(purser, { name: "All", limit_usd: 0.5 });
    await addBudget(purser, { name: "Own", limit_usd: 0.25, key_id: "own" });
    const at = new Date(purser.clock.now()).toISOString();
    const spent = [
      { ...EVENT, at, call_id: "theirs", agent_id: "theirs", cost_usd: 0.777 },
      { ...EVENT, at, call_id: "mine", agent_id: "mine", cost_usd: 0.333 },
    ];
    assert.equal((await purser.api("POST", "/costs/events", spent)).status, 201);
    for (const { key } of [own, other]) {
      const { status } = await client.raw("POST", "/v1/chat/completions", {
        key,
        headers: { "x-purser-agent": "mine" },
        body: { model: "gpt-4o-mini", messages: MESSAGES },
      });
      assert.equal(status, 402);
    }
    const { body } = await client.send("GET", "/budgets/refusals", { key: own.key });
    const seen = body as BudgetRefusal[];
    assert.deepEqual(seen.map(({ key_id, key_name }) => [key_id, key_name]), [
      [null, null],
      [own.keyId, "own"],
    ]);
    for (const { cost_usd_so_far, budget_usd, refused_by, message } of seen) {
      assert.deepEqual([cost_usd_so_far, budget_usd], [null, 0.5]);
      assert.equal(refused_by[0]!.spent_usd, undefined);
      assert.match(message, /has nothing left/);
    }
    assert.ok(!JSON.stringify(seen).includes("0.777") && !JSON.stringify(seen).includes("1.11"));
    assert.ok(!JSON.stringify(seen).includes("other"));
    // Others see all of it.
    for (const { cost_usd_so_far } of await listOf(purser)) assert.equal(cost_usd_so_far, 1.11);
  }));

Deno.test("refusals of earlier versions are listed with what they had: a hidden amount is unknown, not 0", () =>
  withPurser(async ({ purser }) => {
    const payload = {
      message: "Cannot make the model call: the budget “Day” ($0 per UTC day, all agents) has nothing left",
      cost_usd_so_far: 0,
      budget_usd: 0,
      refused_by: [{
        ...{ budget_id: "bud_1", name: "Day", per: "day", scope: "all", limit_usd: 0 },
        ...{ mode: "stop", reason: "spent", resets_at: null },
      }],
    };
    await purser.core.store.write([{
      sql: "INSERT INTO events (agent_id, type, at, payload) VALUES ('gateway', 'budget.refused', ?, ?)",
      args: [purser.clock.now(), JSON.stringify(payload)],
    }]);
    const [refusal] = await listOf(purser);
    assert.deepEqual(
      [refusal!.cost_usd_so_far, refusal!.budget_usd, refusal!.key_id, refusal!.model, refusal!.reason],
      [null, 0, null, null, "spent"],
    );
    assert.equal((await listOf(purser, "?reason=spent")).length, 1);
    assert.equal((await listOf(purser, "?model=gpt-4o-mini")).length, 0);
  }));

Deno.test("the cost of a run whose calls have no price is unknown to a reader who may not see the budget's, not 0", () =>
  withPurser(async ({ purser }) => {
    const own = await makeKey(purser, ["read", "call"], { name: "own", agent_id: "mine" });
    const client = openHttpClient(purser);
    const call = (model: string, run: string) =>
      client.raw("POST", "/v1/chat/completions", {
        key: own.key,
        headers: { "x-purser-run": run },
        body: { model, messages: MESSAGES },
      });
    assert.equal((await call("zzzzzzzzzz", "r1")).status, 200);
    await addBudget(purser, { name: "All", limit_usd: 0.5 });
    const at = new Date(purser.clock.now()).toISOString();
    const spent = { ...EVENT, at, agent_id: "theirs", cost_usd: 0.777 };
    assert.equal((await purser.api("POST", "/costs/events", [spent])).status, 201);
    for (const [run, cost] of [["r1", null], ["r2", 0]] as const) {
      const refused = await call("gpt-4o-mini", run);
      assert.equal(refused.status, 402);
      assert.equal((await refused.json()).error.details.cost_usd_so_far, cost, run);
    }
  }));
