import assert from "node:assert/strict";
import type { AlertRule } from "../src/contract/alerts/alert_rules.ts";
import { sendTo } from "./gateway/requests.ts";
import { answerTo } from "./harness/answers.ts";
import { EVENT } from "./harness/bodies.ts";
import { check, WELL } from "./harness/doctor.ts";
import { startFakeProvider } from "./harness/fake_provider.ts";
import { makeKey } from "./harness/http_client.ts";
import { openTestPurser, type TestPurser } from "./harness/test_purser.ts";

/** The doctor's checks of what people name: what does not exist, what shares a name, and models without a price. */

async function add(purser: TestPurser, path: string, body: object): Promise<{ budget_id: string }> {
  const answer = await purser.api("POST", path, body);
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body;
}

const addBudget = (purser: TestPurser, name: string, more: object) =>
  add(purser, "/budgets", { name, limit_usd: 1, per: "day", ...more });

/** Gives a row a scope that the API refuses by now, as earlier versions did not. */
const rescope = (purser: TestPurser, table: string, name: string, scope: string) =>
  purser.core.store.write([{ sql: `UPDATE ${table} SET scope = ? WHERE name = ?`, args: [scope, name] }]);

Deno.test("budgets of earlier versions that name no key, no session or a revoked key are a warning", async () => {
  await using purser = await openTestPurser();
  const { keyId } = await makeKey(purser, ["call"], { name: "bob" });
  await addBudget(purser, "Bob", { key_id: "bob" });
  assert.equal((await check(purser, "budgets")).status, "ok");
  await addBudget(purser, "Old", { agent_id: "someone" });
  await rescope(purser, "budgets", "Old", "key bobb");
  const old = await check(purser, "budgets");
  assert.equal(old.detail, "2 enabled, 0 disabled; Old is for key bobb, which doesn't exist");
  assert.equal(old.advice, "Check the key's name: purser budgets set Old --key NAME");
  await purser.api("DELETE", `/keys/${keyId}`);
  await addBudget(purser, "Talk", { session_id: "nowhere" });
  const { detail, advice } = await check(purser, "budgets");
  assert.match(detail, new RegExp(`; Bob is for key bob \\(${keyId}\\), which was revoked; `));
  assert.match(detail, /; Talk is for session nowhere, of which there is nothing$/);
  assert.equal(advice, "Check the key's name: purser budgets set Bob --key NAME");
});

Deno.test("beside a budget that is reached, the advice has one that counts nothing, too", async () => {
  await using purser = await openTestPurser();
  const { budget_id } = await addBudget(purser, "Day", {});
  await addBudget(purser, "Old", { agent_id: "someone" });
  await rescope(purser, "budgets", "Old", "key bobb");
  const at = new Date(purser.clock.now()).toISOString();
  await add(purser, "/costs/events", [{ ...EVENT, at, cost_usd: 2 }]);
  const { detail, advice } = await check(purser, "budgets");
  assert.match(
    detail,
    /; reached, so that calls are refused: Day; Old is for key bobb, which doesn't exist$/,
  );
  assert.equal(
    advice,
    `See purser budgets list; then purser budgets raise ${budget_id} --usd AMOUNT. ` +
      "Check the key's name: purser budgets set Old --key NAME",
  );
});

Deno.test("the nearest agent is in the advice, and an agent that is the name of a key is known", async () => {
  await using purser = await openTestPurser();
  await purser.api("PUT", "/agents/researcher", { model: "demo:echo" });
  await makeKey(purser, ["call"], { name: "laptop" });
  await addBudget(purser, "Laptop", { agent_id: "laptop" });
  assert.equal((await check(purser, "budgets")).status, "ok");
  await addBudget(purser, "It's all", { agent_id: "research" });
  const { detail, advice } = await check(purser, "budgets");
  assert.match(detail, /; It's all is for agent research, of which there is nothing$/);
  assert.equal(
    advice,
    "Check the agent's name: purser budgets set 'It'\\''s all' --agent researcher",
  );
});

Deno.test("an enabled alert rule of an agent of which there is nothing is a warning", async () => {
  await using purser = await openTestPurser();
  await purser.api("PUT", "/agents/researcher", { model: "demo:echo" });
  const rule = { threshold_type: "per_day_usd", threshold_usd: 1, severity: "info" };
  await add(purser, "/alerts/rules", { ...rule, name: "Fine", agent_id: "researcher" });
  await add(purser, "/alerts/rules", { ...rule, name: "Off", agent_id: "research", enabled: false });
  assert.doesNotMatch((await check(purser, "alert rules")).detail, /nothing/);
  await add(purser, "/alerts/rules", { ...rule, name: "Lost", agent_id: "research" });
  const { status, detail, advice } = await check(purser, "alert rules");
  assert.equal(status, "warning");
  assert.match(detail, /^2 enabled, 1 disabled; Lost is for agent research, of which there is nothing/);
  assert.equal(advice, "Check the agent's name: purser alerts set Lost --agent researcher");
});

Deno.test("a budget of several subjects without calls, and one of a revoked key besides, are named by the key's name", async () => {
  await using purser = await openTestPurser();
  const { keyId } = await makeKey(purser, ["call"], { name: "laptop" });
  await addBudget(purser, "Opus", { key_id: "laptop", model: "claude-opus-*" });
  const unused = await check(purser, "budgets");
  assert.match(unused.detail, /; Opus is for key laptop, model claude-opus-\*, of which there are no calls$/);
  assert.equal(unused.advice, "Check its names: purser budgets show Opus");
  await purser.api("DELETE", `/keys/${keyId}`);
  const { detail } = await check(purser, "budgets");
  assert.ok(detail.endsWith(`; Opus is for key laptop (${keyId}), which was revoked`), detail);
});

Deno.test("an alert rule of a tag that no call has is a warning, and says so in its list and its page", async () => {
  await using purser = await openTestPurser();
  await purser.api("POST", "/costs/events", [{ ...EVENT, tags: { customer: "acme" } }]);
  const rule = { threshold_type: "per_day_usd", threshold_usd: 1, severity: "info" };
  await add(purser, "/alerts/rules", { ...rule, name: "Fine", tags: { customer: "acme" } });
  await add(purser, "/alerts/rules", { ...rule, name: "Lost", tags: { customer: "amce" } });
  await add(purser, "/alerts/rules", { ...rule, name: "Opus", model: "claude-opus-*" });
  const { status, detail, advice } = await check(purser, "alert rules");
  assert.equal(status, "warning");
  assert.match(
    detail,
    /Lost is for tag:customer amce, of which there is nothing; Opus is for model claude-opus-\*/,
  );
  assert.equal(advice, "Check the tag's name: purser alerts set Lost --tag customer=acme");
  const { body: rules } = await purser.api("GET", "/alerts/rules");
  assert.deepEqual(rules.map(({ unknown }: AlertRule) => unknown), [
    undefined,
    { kind: "tag:customer", id: "amce", nearest: "acme" },
    { kind: "model", id: "claude-opus-*", nearest: null },
  ]);
});

Deno.test("active keys that share a name are a warning with their ids", async () => {
  await using purser = await openTestPurser();
  const ids: string[] = [];
  for (const name of ["bob", "b2", "b3"]) ids.push((await makeKey(purser, ["call"], { name })).keyId);
  await makeKey(purser, ["admin"], { name: "ops" });
  const rename = "UPDATE api_keys SET name = 'bob' WHERE key_id = ?";
  await purser.core.store.write([{ sql: rename, args: [ids[1]!] }]);
  assert.deepEqual(await check(purser, "API keys"), {
    name: "API keys",
    status: "warning",
    detail: `4 active; 2 active keys are named bob: ${ids[0]}, ${ids[1]}`,
    advice:
      `Each key has a counter of its own in budgets for each key: revoke all but one, purser keys remove ${
        ids[0]
      }`,
  });
  await purser.api("DELETE", `/keys/${ids[0]}`);
  assert.deepEqual(await check(purser, "API keys"), { name: "API keys", ...WELL, detail: "3 active" });
});

Deno.test("a model whose calls budgets refuse for want of a price is a warning with the nearest one", async () => {
  await using fake = await startFakeProvider((request) => answerTo(request, { text: "Hi" }));
  await using purser = await openTestPurser({ fake });
  await addBudget(purser, "Day", {});
  const body = { model: "gpt-5-minni", messages: [{ role: "user", content: "Hi" }] };
  assert.equal((await sendTo(purser, { path: "/v1/chat/completions", body })).status, 402);
  const { status, detail, advice } = await check(purser, "prices of models");
  assert.equal(status, "warning");
  assert.match(
    detail,
    /refused, since budgets need a price: openai:gpt-5-minni \(the nearest known is gpt-5-mini\)/,
  );
  assert.match(
    advice!,
    /^See purser prices show openai:gpt-5-minni; update the prices, or set it by purser prices set openai:gpt-5-minni /,
  );
});
